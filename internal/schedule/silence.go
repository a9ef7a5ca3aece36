package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

const (
	// An order is silent if its last news is older than silentTimes the median of the firm's filings
	// of its product and state, and older than minSilence.
	silentTimes = 3
	minSilence  = 7 * 24 * time.Hour
	// usualTime is the median if there are fewer than minFilings filings.
	usualTime  = 7 * 24 * time.Hour
	minFilings = 3

	namedSilent = 10
)

// Silence is what the filing service has not reported although it is time.
type Silence struct {
	// Groups are the silent orders by state and product.
	Groups []SilentOrders
	// Webhook is the sentence that events do not arrive. Empty if they do.
	Webhook string
	// lastEvent is the arrival of the newest event.
	lastEvent time.Time
}

// SilentOrders are the silent orders of a product and a state, the oldest first.
type SilentOrders struct {
	Product filing.Product
	State   filing.State
	Orders  []SilentOrder
	Text    string
}

// Until returns the last news of the newest order, in milliseconds since 1970.
func (s SilentOrders) Until() int64 { return s.Orders[len(s.Orders)-1].NewsAt.UnixMilli() }

// SilentOrder is an order without news.
type SilentOrder struct {
	ledger.OpenOrder
	// Due is the due date of the filing. Zero if unknown.
	Due season.Date
}

// FindSilence finds the orders of a batch that were placed and not heard of for too long. An empty
// batch means all. It finds nothing if no webhook endpoint was ever used, because then the filing
// service reports nothing.
func FindSilence(ctx context.Context, l *ledger.Ledger, batch string) (Silence, error) {
	a, now := l.Attention(), l.Now()
	events, err := a.FindEventFacts(ctx)
	if err != nil || !events.Endpoint && events.Last.IsZero() {
		return Silence{}, err
	}
	open, err := a.ListOpenOrders(ctx, batch, now.Add(-minSilence))
	if err != nil || len(open) == 0 {
		return Silence{}, err
	}
	times, err1 := a.ListFilingTimes(ctx)
	checked, err2 := l.Notifications().ListReported(ctx, outbox.KindSilentChecked)
	zone, err3 := FirmZone(ctx, l)
	if err := errors.Join(err1, err2, err3); err != nil {
		return Silence{}, err
	}
	most := ""
	if len(open) == ledger.MaxOpenOrders {
		most = "at least "
	}
	open = slices.DeleteFunc(open, func(o ledger.OpenOrder) bool {
		return checked[markOf(outbox.KindSilentChecked, o)]
	})
	s := findSilent(open, times, events.Last, now.In(zone))
	for i := range s.Groups {
		if err := s.Groups[i].addDueDates(ctx, l); err != nil {
			return s, err
		}
		s.Groups[i].Text = most + s.Groups[i].Text + s.Groups[i].dueText(season.DateOf(now.In(zone)))
	}
	return s, nil
}

// markOf identifies an order at its last news.
func markOf(kind outbox.Kind, o ledger.OpenOrder) outbox.Pending {
	return outbox.Pending{Kind: kind, Ref: o.Item, Mark: o.NewsAt.UnixMilli()}
}

// findSilent selects the silent ones of the open orders, and tells whether no event came since an
// order that waits for longer than usual.
func findSilent(open []ledger.OpenOrder, times []ledger.FilingTime, lastEvent, now time.Time) Silence {
	s := Silence{lastEvent: lastEvent}
	took := make(map[string][]int64)
	group := func(o ledger.Ordered) string { return string(o.State()) + "|" + string(o.Product) }
	for _, t := range times {
		took[group(t.Ordered)] = append(took[group(t.Ordered)], t.Millis)
	}
	silent := make(map[string]*SilentOrders)
	for _, o := range open {
		known, usual := took[group(o.Ordered)], usualTime
		if len(known) >= minFilings {
			slices.Sort(known)
			usual = time.Duration(known[(len(known)-1)/2]) * time.Millisecond
		}
		age := now.Sub(o.NewsAt)
		if o.NewsAt.After(lastEvent) && age > max(usual, minSilence) {
			s.Webhook = webhookText(lastEvent.In(now.Location()))
		}
		if age <= max(silentTimes*usual, minSilence) {
			continue
		}
		g := silent[group(o.Ordered)]
		if g == nil {
			g = &SilentOrders{Product: o.Product, State: o.State()}
			g.Text = "; " + cmp.Or(g.State.Name(), "this product") + " has no usual time yet"
			if len(known) >= minFilings {
				g.Text = fmt.Sprintf("; %s usually takes %s", cmp.Or(g.State.Name(), "this product"),
					text.Count(max(int(usual.Hours()/24+0.5), 1), "day"))
			}
			silent[group(o.Ordered)] = g
		}
		g.Orders = append(g.Orders, SilentOrder{OpenOrder: o})
	}
	for _, key := range slices.Sorted(maps.Keys(silent)) {
		g := silent[key]
		slices.SortStableFunc(g.Orders, func(a, b SilentOrder) int { return a.NewsAt.Compare(b.NewsAt) })
		g.Text = g.ageText(now) + g.Text
		s.Groups = append(s.Groups, *g)
	}
	return s
}

func webhookText(lastEvent time.Time) string {
	if lastEvent.IsZero() {
		return "No event was ever received: check the webhook"
	}
	return "No event since " + lastEvent.Format("Monday, January 2") + ": check the webhook"
}

// ageText counts the orders, and tells how old their last news is.
func (s SilentOrders) ageText(now time.Time) string {
	days := func(o SilentOrder) int { return int(now.Sub(o.NewsAt).Hours() / 24) }
	oldest, newest := days(s.Orders[0]), days(s.Orders[len(s.Orders)-1])
	age := text.Count(oldest, "day")
	if newest != oldest {
		age = fmt.Sprintf("%d to %s", newest, age)
	}
	orders := text.Count(len(s.Orders), strings.TrimSpace(s.Product.Title()+" order"))
	return orders + " placed and not heard of for " + age
}

// addDueDates adds the due dates of orders.
func (s SilentOrders) addDueDates(ctx context.Context, l *ledger.Ledger) error {
	var ids []int64
	for _, o := range s.Orders {
		ids = append(ids, o.Row)
	}
	rows, err := l.RowsByID(ctx, ids)
	if err != nil {
		return err
	}
	var refs []string
	for _, row := range rows {
		refs = append(refs, row.CompanyRef())
	}
	known, err := l.Companies().Find(ctx, refs)
	for i, o := range s.Orders {
		s.Orders[i].Due = balance.DueDate(o.Priority)
		row := rows[o.Row]
		if s.Product == filing.AnnualReport && row.Request != nil {
			facts := season.FactsOf(s.State, known[row.CompanyRef()], row.Request.Company.Sheet)
			if due := season.Builtin().DueOf(facts, o.Year()); due.Verdict == season.Dated {
				s.Orders[i].Due = due.Date
			}
		}
	}
	return err
}

// dueText tells the earliest due date, or returns "" if it is unknown. It leaves out the orders that
// were late when they were placed.
func (s SilentOrders) dueText(today season.Date) string {
	var first season.Date
	for _, o := range s.Orders {
		inTime := !o.Due.Before(season.DateOf(o.PlacedAt))
		if inTime && (first.IsZero() || o.Due.Before(first)) {
			first = o.Due
		}
	}
	switch days := first.DaysSince(today); {
	case first.IsZero():
		return ""
	case days == 0:
		return "; due today"
	case days < 0:
		return "; due " + text.Count(-days, "day") + " ago"
	default:
		return "; due in " + text.Count(days, "day")
	}
}

// Lines returns the sentences.
func (s Silence) Lines() (all []string) {
	for _, g := range s.Groups {
		all = append(all, text.Capital(g.Text))
	}
	if s.Webhook != "" {
		all = append(all, s.Webhook)
	}
	return all
}

// MarkChecked records that a person has checked the silent orders of a product and a state whose last
// news came until a time. They are silent again only if an event arrives and nothing follows. It
// returns their number.
func MarkChecked(ctx context.Context, l *ledger.Ledger, product filing.Product, state filing.State,
	until time.Time) (int, error) {
	s, err := FindSilence(ctx, l, "")
	n := outbox.Notification{Kind: outbox.KindSilentChecked}
	for _, g := range s.Groups {
		for _, o := range g.Orders {
			if g.Product == product && g.State == state && !o.NewsAt.After(until) {
				n.Pending = append(n.Pending, markOf(n.Kind, o.OpenOrder))
			}
		}
	}
	if err != nil || len(n.Pending) == 0 {
		return 0, err
	}
	_, err = l.Notifications().Add(ctx, n)
	return len(n.Pending), err
}

// remindOfSilence reports once each order that became silent, and that events do not arrive, at most
// once a day.
func (s *Scheduler) remindOfSilence(ctx context.Context, zone *time.Location) error {
	box := s.c.Ledger.Notifications()
	last, err := box.FindLast(ctx, outbox.KindSilent, "")
	if err != nil || season.DateOf(last.In(zone)) == season.DateOf(s.c.Ledger.Now().In(zone)) {
		return err
	}
	silence, err1 := FindSilence(ctx, s.c.Ledger, "")
	reported, err2 := box.ListReported(ctx, outbox.KindSilent)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	n := outbox.Notification{Kind: outbox.KindSilent, Path: "/silent"}
	subject, lines := silence.Webhook, append(silence.Lines(), "")
	if mark := (outbox.Pending{Kind: n.Kind, Mark: silence.lastEvent.UnixMilli()}); subject != "" && !reported[mark] {
		n.Pending = append(n.Pending, mark)
		lines = append(lines, "See that the filing service reaches the endpoint: importer webhooks list")
	}
	var named []string
	for _, g := range silence.Groups {
		for _, o := range g.Orders {
			if mark := markOf(n.Kind, o.OpenOrder); !reported[mark] {
				n.Pending = append(n.Pending, mark)
				named = append(named, fmt.Sprintf("  %s, %s, order %s, placed %s",
					text.Shorten(cmp.Or(o.Company, "company not known"), 80),
					strings.TrimSpace(string(g.State)+" "+g.Product.Title()), cmp.Or(o.OrderID, "without an ID"),
					season.DateOf(o.PlacedAt.In(zone)).American()))
			}
		}
	}
	if len(n.Pending) == 0 {
		return nil
	}
	if len(named) > 0 {
		subject = text.Count(len(named), "order") + " placed and not heard of"
		lines = append(lines, "These orders are charged, and may not be filed. Look them up at the filing service, "+
			"and do not order them again before:")
		lines = append(lines, named[:min(len(named), namedSilent)]...)
		if more := len(named) - namedSilent; more > 0 {
			lines = append(lines, fmt.Sprintf("  and %s more", text.Number(more)))
		}
	}
	return s.addReminder(ctx, n, subject, lines)
}
