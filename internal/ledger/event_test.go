package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/store"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

// tell is a status event as the receiver hands it over.
func (s *suite) tell(l *ledger.Ledger, id, order, orderType, status string, at time.Time, more ...string) {
	s.Helper()
	data := map[string]any{"orderId": order, "orderType": orderType, "filingStatus": status}
	for i := 0; i+1 < len(more); i += 2 {
		data[more[i]] = more[i+1]
	}
	s.event(l, id, filing.StatusChanged, at, data)
}

func (s *suite) event(l *ledger.Ledger, id, kind string, at time.Time, data map[string]any) {
	s.Helper()
	body, err := json.Marshal(map[string]any{
		"id": id, "type": kind, "createdAt": at.Format("2006-01-02T15:04:05.000Z07:00"), "data": data,
	})
	s.must(err)
	e, err := filing.ParseEvent(body)
	s.must(err)
	_, err = l.Events().Keep(s.Context(), e, body)
	s.must(err)
}

// apply applies everything there is.
func (s *suite) apply(l *ledger.Ledger) {
	s.Helper()
	for {
		done, err := l.Events().Apply(s.Context())
		if s.must(err); done == 0 {
			return
		}
	}
}

// states lists what became of all events, in order of arrival.
func (s *suite) states(l *ledger.Ledger) map[string]ledger.EventState {
	s.Helper()
	all, err := l.Events().List(s.Context(), "", 10_000)
	s.must(err)
	states := make(map[string]ledger.EventState)
	for _, e := range all {
		states[e.ID] = e.State
	}
	return states
}

func orderOf(r ledger.Row) string { return r.Items[0].OrderID }

func TestAnEventIsKeptOnce(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		e := filing.Event{ID: "evt_1", Type: "something.else", OrderID: "order_1"}
		var fresh int
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				is, err := l.Events().Keep(ctx, e, []byte("{\"a\":\x001}"))
				if err != nil {
					s.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if is {
					fresh++
				}
			})
		}
		all.Wait()
		other := s.open()
		if is, err := other.Events().Keep(ctx, e, nil); is || err != nil {
			s.Error(is, err)
		}
		if is, err := other.Events().KeepUnreadable(ctx, []byte("\xff\x00"), "no JSON"); !is || err != nil {
			s.Error(is, err)
		}
		if is, err := other.Events().KeepUnreadable(ctx, []byte("\xff\x00"), "no JSON"); is || err != nil {
			s.Error(is, err)
		}
		s.apply(l)
		events, err := l.Events().List(ctx, "", 10)
		s.must(err)
		if fresh != 1 || len(events) != 2 || string(events[1].Body) != "{\"a\":\x001}" ||
			events[1].State != ledger.EventIgnored || string(events[0].Body) != "\xff\x00" ||
			events[0].State != ledger.EventUnreadable {
			s.Errorf("%d fresh; %+v", fresh, events)
		}
	})
}

// What looks like a Social Security number is not kept, wherever it stands.
func TestAnEventIsKeptWithoutNumbers(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		r := s.place(l, s.add(l, "a", reports("a", 1)...)[0])
		s.event(l, "evt_1", filing.StatusChanged, s.clock(),
			map[string]any{"orderId": orderOf(r), "filingStatus": "exception", "exceptionCode": 484,
				"message": "078-05-1120 is not Ana's", "number": 78051120, "other": 123456789})
		_, err := l.Events().KeepUnreadable(ctx, []byte("signed, 078051120"), "078-05-1120 is no event")
		s.must(err)
		s.apply(l)
		events, err := l.Events().List(ctx, "", 10)
		s.must(err)
		for _, e := range append(events, ledger.Event{Note: s.row(l, r.ID).Items[0].ExceptionNote}) {
			if text := string(e.Body) + e.Note + e.ExceptionNote; strings.Contains(text, "05-1120") ||
				strings.Contains(text, "078051120") || strings.Contains(text, "123456789") ||
				!strings.Contains(text, "1120") {
				s.Errorf("%s", text)
			}
		}
		if fresh, err := l.Events().KeepUnreadable(ctx, []byte("signed, 078051120"), ""); fresh || err != nil {
			s.Errorf("it is not known again: %v, %v", fresh, err)
		}
	})
}

// An event that says it was made next year does not outrank what comes after it;
// a clock that is a little ahead is believed.
func TestAnEventOutOfTheFuture(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 2)...)
		far, near := orderOf(s.place(l, rows[0])), orderOf(s.place(l, rows[1]))
		s.tell(l, "evt_far", far, "annual_report", "pending", s.clock().AddDate(1, 0, 0))
		s.tell(l, "evt_ahead", near, "annual_report", "accepted", s.clock().Add(20*time.Second))
		s.pass(5 * time.Second)
		s.tell(l, "evt_then", far, "annual_report", "accepted", s.clock())
		s.tell(l, "evt_behind", near, "annual_report", "under_review", s.clock())
		s.apply(l)
		if got := s.states(l); got["evt_then"] != ledger.EventApplied || got["evt_behind"] != ledger.EventStale {
			s.Errorf("%v", got)
		}
		if r := s.row(l, rows[0].ID); r.Items[0].FilingStatus != "accepted" {
			s.Errorf("%+v", r.Items)
		}
		if r := s.row(l, rows[1].ID); r.Items[0].FilingStatus != "accepted" {
			s.Errorf("%+v", r.Items)
		}
	})
}

// Nor is a document listed under a day that has not come.
func TestADocumentOutOfTheFuture(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 1)...)
		order := orderOf(s.place(l, rows[0]))
		for id, at := range map[string]time.Time{"doc_far": s.clock().AddDate(73, 0, 0),
			"doc_old": s.clock().AddDate(0, -1, 0), "doc_none": {}} {
			_, err := l.Events().Keep(s.Context(), filing.Event{
				ID:         "evt_" + id,
				Type:       filing.DocumentUploaded,
				OrderID:    order,
				DocumentID: id,
				CreatedAt:  at,
			}, []byte("{}"))
			s.must(err)
		}
		s.apply(l)
		n := 0
		for d, err := range l.Documents().OfBatch(s.Context(), "a") {
			s.must(err)
			n++
			if d.At.After(s.clock()) || d.ID == "doc_old" && !d.At.Before(s.clock()) ||
				d.ID == "doc_none" && !d.At.IsZero() {
				s.Errorf("%s is of %s", d.ID, d.At)
			}
		}
		if n != 3 {
			s.Errorf("%d documents", n)
		}
	})
}

// Every order in which the events of a filing can arrive, each twice, ends in
// the same place: filed, once, with its date.
func TestEventsInAnyOrder(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 6)...)
		at := s.clock()
		for i, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			r := s.place(l, rows[i])
			for range 2 {
				for _, k := range order {
					status := []string{"submitted", "pending", "filed"}[k]
					more := []string{}
					if status == "filed" {
						more = []string{"filingDate", "2026-02-11T08:00:00.000Z"}
					}
					s.tell(l, fmt.Sprintf("evt_%d_%d", i, k), orderOf(r), "annual_report", status,
						at.Add(time.Duration(k)*time.Hour), more...)
					s.apply(l)
				}
			}
			got := s.row(l, r.ID)
			if item := got.Items[0]; item.FilingStatus != "filed" || item.FilingDate != "2026-02-11T08:00:00.000Z" ||
				got.Result != filing.Placed || len(got.Items) != 1 {
				s.Errorf("%v: %+v", order, got)
			}
		}
		events, err := l.Events().ListOf(s.Context(), rows[0].ID)
		if s.must(err); len(events) != 3 {
			s.Errorf("%+v", events)
		}
	})
}

// What may move a filing, and what may not.
func TestEventsMove(t *testing.T) {
	type news struct {
		minutes      int
		status, date string
		code         string
	}
	for _, c := range []struct {
		name   string
		told   []news
		status string
		date   string
		code   int
		last   ledger.EventState
	}{
		{"forward", []news{{1, "pending", "", ""}}, "pending", "", 0, ledger.EventApplied},
		{"never backwards by time", []news{{2, "pending", "", ""}, {1, "submitted", "", ""}}, "pending", "", 0,
			ledger.EventStale},
		{"at the same moment the one further on", []news{{1, "pending", "", ""}, {1, "submitted", "", ""}}, "pending",
			"", 0, ledger.EventStale},
		{"a status nobody has heard of", []news{{1, "pending", "", ""}, {2, "under_review", "", ""}}, "under_review",
			"", 0, ledger.EventApplied},
		{"never backwards from filed", []news{{1, "filed", "2026-02-01", ""}, {9, "pending", "", ""}}, "filed",
			"2026-02-01", 0, ledger.EventStale},
		{"filed wins even when it is older", []news{{5, "pending", "", ""}, {1, "filed", "2026-02-01", ""}}, "filed",
			"2026-02-01", 0, ledger.EventApplied},
		{"a date that comes later", []news{{1, "filed", "", ""}, {2, "filed", "2026-02-01", ""}}, "filed",
			"2026-02-01", 0, ledger.EventApplied},
		{"a date stays", []news{{1, "filed", "2026-02-01", ""}, {2, "filed", "2026-02-02", ""}}, "filed", "2026-02-01",
			0, ledger.EventStale},
		{"an exception", []news{{1, "pending", "", ""}, {2, "exception", "", "482"}}, "exception", "", 482,
			ledger.EventApplied},
		{"an exception without a status", []news{{1, "pending", "", ""}, {2, "", "", "482"}}, "pending", "", 482,
			ledger.EventApplied},
		{"an exception without a code", []news{{1, "pending", "", ""}, {2, "Exception", "", ""}}, "Exception", "",
			filing.UnnamedException, ledger.EventApplied},
		{"an exception that was cured", []news{{1, "pending", "", "482"}, {2, "pending", "", ""}}, "pending", "", 0,
			ledger.EventApplied},
		{"an old exception after the cure", []news{{2, "pending", "", ""}, {1, "exception", "", "482"}}, "pending", "",
			0, ledger.EventStale},
		{"filed ends an exception", []news{{2, "exception", "", "482"}, {1, "filed", "2026-02-01", ""}}, "filed",
			"2026-02-01", 0, ledger.EventApplied},
	} {
		t.Run(c.name, func(t *testing.T) {
			onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
				r := s.place(l, s.add(l, "a", reports("a", 1)...)[0])
				placed := s.clock()
				s.pass(10 * time.Minute)
				for i, n := range c.told {
					more := []string{}
					if n.date != "" {
						more = append(more, "filingDate", n.date)
					}
					if n.code != "" {
						more = append(more, "exceptionCode", n.code)
					}
					s.tell(l, fmt.Sprint("evt_", i), orderOf(r), "annualReport", n.status,
						placed.Add(time.Duration(n.minutes)*time.Minute), more...)
					s.apply(l)
				}
				item := s.row(l, r.ID).Items[0]
				if item.FilingStatus != c.status || item.FilingDate != c.date || item.Exception != c.code {
					s.Errorf("%+v", item)
				}
				if state := s.states(l)[fmt.Sprint("evt_", len(c.told)-1)]; state != c.last {
					s.Errorf("the last event is %s", state)
				}
			})
		})
	}
}

// An event may be there before the answer to the order itself.
func TestEventBeforeTheAnswer(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		rows := s.add(l, "a", reports("a", 2)...)
		// Another row in doubt, of the same product: the event must not be
		// taken for its own.
		s.send(l, rows[1])
		s.answer(l, rows[1], filing.NoAnswer)
		s.pass(time.Second)
		attempt := s.send(l, rows[0])
		order := fmt.Sprintf("order_%d_%d_annual-report", rows[0].ID, attempt)
		s.tell(l, "evt_1", order, "annual_report", "pending", s.clock())
		s.event(l, "evt_2", filing.DocumentUploaded, s.clock(),
			map[string]any{"orderId": order, "documentType": "annual_report", "documentId": "doc_1"})
		s.apply(l)
		if state := s.states(l)["evt_1"]; state != ledger.EventUnknown {
			s.Errorf("%s", state)
		}
		told, err := l.Events().ListUnknown(s.Context(), []string{"order_of_nobody", order})
		if s.must(err); len(told) != 2 || told[0].ID != "evt_2" || told[1].ID != "evt_1" || len(told[0].Body) > 0 {
			s.Errorf("%+v", told)
		}
		s.answer(l, rows[0], filing.Accepted)
		s.apply(l)
		if told, err := l.Events().ListUnknown(s.Context(), []string{order}); err != nil || len(told) > 0 {
			s.Errorf("known now: %+v, %v", told, err)
		}
		if item := s.row(l, rows[0].ID).Items[0]; item.FilingStatus != "pending" {
			s.Errorf("%+v", item)
		}
		s.want(l, rows[1], filing.Uncertain, cost)
		var documents []ledger.Document
		for d, err := range l.Documents().OfBatch(s.Context(), "a") {
			s.must(err)
			documents = append(documents, d)
		}
		if len(documents) != 1 || documents[0].ID != "doc_1" || documents[0].Number != rows[0].Number ||
			documents[0].Product != filing.AnnualReport {
			s.Errorf("%+v", documents)
		}
	})
}

// An event of an unknown order resolves no row. It is offered to a person for the
// uncertain rows that it may be of.
func TestEvidence(t *testing.T) {
	at := func(after time.Duration, orderType, status string, more ...string) func(*suite, *ledger.Ledger) {
		return func(s *suite, l *ledger.Ledger) {
			s.tell(l, "evt_1", "order_x", orderType, status, s.clock().Add(after), more...)
		}
	}
	for name, c := range map[string]struct {
		tell    func(*suite, *ledger.Ledger)
		offered int // orders for the first of two uncertain rows, of comp_a0 and comp_a1
	}{
		"fits both": {at(0, "annual_report", "pending"), 1},
		"two orders": {func(s *suite, l *ledger.Ledger) {
			for _, order := range []string{"order_x", "order_x", "order_y"} {
				s.tell(l, "evt_"+order, order, "annual_report", "pending", s.clock())
			}
		}, 2},
		"of another product":      {at(0, "ein", "pending"), 0},
		"from before the attempt": {at(-time.Hour, "annual_report", "pending"), 0},
		"long after the attempt":  {at(40*time.Hour, "annual_report", "pending"), 1},
		"names the company":       {at(0, "annual_report", "pending", "companyId", "comp_a0"), 1},
		"canceled":                {at(0, "annual_report", "canceled"), 1},
		"of another state":        {at(0, "annual_report", "pending", "filingState", "Alaska"), 0},
		"of another year":         {at(0, "annual_report", "pending", "filingYear", "2025"), 0},
		"names the other company": {at(0, "annual_report", "pending", "companyId", "comp_a1"), 0},
		"names all that was ordered": {at(0, "annual_report", "pending", "companyId", "comp_a0", "filingState", "DE",
			"filingYear", "2026"), 1},
		"a document names no product": {func(s *suite, l *ledger.Ledger) {
			s.event(l, "evt_1", filing.DocumentUploaded, s.clock(), map[string]any{"orderId": "order_x"})
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
				rows := s.add(l, "a", reports("a", 2)...)
				for _, r := range rows {
					s.send(l, r)
					s.answer(l, r, filing.NoAnswer)
				}
				c.tell(s, l)
				s.pass(10 * time.Second)
				s.apply(l)
				offered, _, err := l.Resolutions().Evidence(s.Context(), []int64{rows[0].ID})
				if s.must(err); len(offered[rows[0].ID]) != c.offered {
					s.Errorf("offered %d", len(offered[rows[0].ID]))
				}
				for _, r := range rows {
					s.want(l, r, filing.Uncertain, cost)
				}
			})
		})
	}
}

// A placed row without an order id gets it from an event that names what was bought,
// and then the events of that order that came before.
func TestAnEventNamesAnOrder(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		var rows []ledger.Row
		for _, company := range []string{"comp_a", "comp_b"} {
			r := report(company, "2026")
			r.Request.Product = filing.EIN
			r.Request.Order.AnnualReport, r.Request.Order.EIN = nil, &filing.EINItem{}
			rows = append(rows, r)
		}
		rows = s.add(l, "a", rows...)
		for i, r := range rows {
			s.send(l, r)
			s.answer(l, r, filing.NoAnswer)
			s.tell(l, fmt.Sprint("evt_early_", i), fmt.Sprint("order_", i), "ein", "pending", s.clock())
			s.apply(l)
			s.pass(time.Hour)
			s.send(l, r)
			out := outcome(s.row(l, r.ID), 2, filing.HasItem)
			out.Items = []ledger.Item{{Product: filing.EIN}}
			s.must(l.RecordOutcome(s.Context(), out))
			s.want(l, r, filing.Placed, 0)
		}
		s.tell(l, "evt_a", "order_0", "ein", "filed", s.clock(), "companyId", "comp_a")
		s.tell(l, "evt_other", "order_other", "annual_report", "filed", s.clock(), "companyId", "comp_b",
			"filingState", "DE", "filingYear", "2026")
		s.apply(l)
		s.tell(l, "evt_second", "order_second", "ein", "pending", s.clock(), "companyId", "comp_a")
		s.apply(l)
		if got := s.row(l, rows[0].ID); len(got.Items) != 1 || got.Items[0].OrderID != "order_0" ||
			got.Items[0].FilingStatus != "filed" {
			s.Errorf("%+v", got)
		}
		if got := s.row(l, rows[1].ID); len(got.Items) != 1 || got.Items[0].OrderID != "" {
			s.Errorf("%+v", got)
		}
		if got := s.states(l); got["evt_early_0"] == ledger.EventUnknown || got["evt_early_1"] != ledger.EventUnknown {
			s.Errorf("%v", got)
		}
	})
}

// A row whose filing another row has bought takes over the time of the filing's status. An
// earlier event that arrives late sets neither of them back.
func TestALateEventOfAFilingOfTwoRows(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		l, ctx, began := s.open(), s.Context(), s.clock()
		rows := s.add(l, "a", reports("a", 2)...)
		s.place(l, rows[0])
		order := orderOf(s.row(l, rows[0].ID))
		s.tell(l, "evt_2", order, "annual_report", "pending", began.Add(-time.Minute))
		s.apply(l)
		s.must(l.Defer(ctx, ledger.Deferral{
			Row:     rows[1].ID,
			Next:    filing.Exists,
			Message: "bought before",
			Items:   s.row(l, rows[0].ID).Items,
		}))
		s.tell(l, "evt_1", order, "annual_report", "submitted", began.Add(-2*time.Minute))
		s.apply(l)
		for _, r := range rows {
			if i := s.row(l, r.ID).Items[0]; i.OrderID != order || i.FilingStatus != "pending" {
				s.Errorf("row %d: %+v", r.Number, i)
			}
		}
		s.tell(l, "evt_3", order, "annual_report", "filed", began)
		s.apply(l)
		for _, r := range rows {
			if i := s.row(l, r.ID).Items[0]; i.FilingStatus != filing.FiledStatus {
				s.Errorf("row %d: %+v", r.Number, i)
			}
		}
	})
}

// An event that cannot be applied is put aside with the reason, and holds no
// other up.
func TestAPoisonousEvent(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		r := s.place(l, s.add(l, "a", reports("a", 1)...)[0])
		s.event(l, "evt_1", filing.DocumentUploaded, s.clock(),
			map[string]any{"orderId": orderOf(r), "documentId": strings.Repeat("x", 20_000)})
		s.tell(l, "evt_2", orderOf(r), "annual_report", "pending", s.clock())
		// What no reading foresees: the documents cannot be written.
		s.exec(`ALTER TABLE documents RENAME TO elsewhere`)
		s.apply(l)
		s.exec(`ALTER TABLE elsewhere RENAME TO documents`)
		if states := s.states(l); states["evt_1"] != ledger.EventIgnored || states["evt_2"] != ledger.EventApplied {
			s.Errorf("%v", states)
		}
		s.event(l, "evt_3", filing.DocumentUploaded, s.clock(),
			map[string]any{"orderId": orderOf(r), "documentId": strings.Repeat("x", 20_000)})
		s.apply(l)
		if state := s.states(l)["evt_3"]; state != ledger.EventApplied {
			s.Errorf("%s", state)
		}
	})
}

func TestEndpoints(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(
			webhook.NewEndpoints(l.DB).Set(ctx, webhook.Endpoint{ID: "we_1", URL: "https://a.example/x"}, "whsec_old"))
		s.pass(time.Hour)
		s.must(
			webhook.NewEndpoints(l.DB).Set(ctx, webhook.Endpoint{ID: "we_2", URL: "https://a.example/x"}, "whsec_new"))
		secrets, err := webhook.NewEndpoints(l.DB).Secrets(ctx)
		if s.must(err); !slices.Equal(secrets, []string{"whsec_new", "whsec_old"}) {
			s.Error(secrets)
		}
		var sealed string
		s.must(s.sql().QueryRowContext(ctx, `SELECT sealed FROM endpoints WHERE id = 'we_1'`).Scan(&sealed))
		if strings.Contains(sealed, "whsec") {
			s.Error("the secret is there to read")
		}
		// A sealed secret cannot be moved to another endpoint.
		s.exec(`UPDATE endpoints SET sealed = (SELECT sealed FROM endpoints e WHERE e.id = 'we_1') WHERE id = 'we_2'`)
		s.wantErr(second(webhook.NewEndpoints(l.DB).Secrets(ctx)), store.ErrSealed)
		s.must(webhook.NewEndpoints(l.DB).Delete(ctx, "we_2"))
		s.wantErr(webhook.NewEndpoints(l.DB).Delete(ctx, "we_2"), ledger.ErrNotFound)
		all, err := webhook.NewEndpoints(l.DB).List(ctx)
		if s.must(err); len(all) != 1 || all[0].ID != "we_1" || all[0].URL != "https://a.example/x" {
			s.Errorf("%+v", all)
		}
	})
}
