package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// An annual report establishes a subscription of its company and state, under which the service
// makes the reports of later years. A row for such a year is not ordered while the subscription is
// known to be sound. Source: spec section 4, rule 9, and section 2, subscriptionStatus.

// subscriptionTrust is how long a subscription counts as active after the last report about it. A
// subscription that renews every year is reported every year. Assumption: the spec does not show
// how renewals are reported.
const subscriptionTrust = 400 * 24 * time.Hour

// trustedSince returns the earliest time of a report that still counts. It is constant for a day,
// which keeps the text of the statements constant.
func trustedSince(now int64) int64 {
	const day = int64(24 * time.Hour / time.Millisecond)
	return (now - subscriptionTrust.Milliseconds()) / day * day
}

// coversNow returns the condition that a purchase p of the row o has a subscription that covers
// later years.
func coversNow(now int64) string {
	since := trustedSince(now)
	return fmt.Sprintf(`NOT EXISTS (SELECT 1 FROM items i WHERE i.row = p.row AND i.product IN (p.product, '')
			AND (lower(i.filing_status) IN ('canceled', 'cancelled')
			OR lower(i.subscription_status) NOT IN ('', 'active')))
		AND (p.at >= %d
			OR EXISTS (SELECT 1 FROM items i WHERE i.row = p.row AND i.product = p.product
			AND i.subscription_at >= %d))`, since, since)
}

// Subscription is a known subscription to annual reports.
type Subscription struct {
	CompanyID string
	State     filing.State
	// Year is the year of the report that opened the subscription.
	Year int
	// Order is the report's order ID. Empty if the filing service never named it.
	Order string
	// Status is the service's term for the status. Empty if unknown.
	Status string
	// HeardAt is when the service last reported the subscription.
	HeardAt time.Time
	// Row is the row that opened the subscription.
	Row   int64
	Batch string
	// Root is the root of the batch. See Batch.Root.
	Root   string
	Number int
	// Lapsed is the reason that the subscription does not cover later years. Empty while it does.
	Lapsed string
}

// lapsed returns the reason that a subscription does not cover later years, or an empty string if
// it does.
func lapsed(status, filingStatus string, heard, now int64) string {
	switch word := strings.ToLower(status); {
	case filing.IsCanceled(filingStatus):
		return "its first report was canceled"
	case filing.IsCanceled(word):
		return "it is canceled"
	case word == "past_due":
		return "it is past due"
	case word != "" && word != "active":
		return fmt.Sprintf("its status is %q", status)
	case heard < trustedSince(now):
		return "nothing was heard of it since " + store.FromMillis(heard).UTC().Format(time.DateOnly)
	}
	return ""
}

const selectSubscription = `SELECT p.cover, p.year, p.row, p.at AS bought_at, o.batch, b.root, o.number,
		COALESCE(i.order_id, '') AS "order", COALESCE(i.subscription_status, '') AS status,
		COALESCE(i.filing_status, '') AS filing_status, COALESCE(i.subscription_at, 0) AS heard_at
	FROM purchases p JOIN rows o ON o.id = p.row JOIN batches b ON b.id = o.batch
	LEFT JOIN items i ON i.row = p.row AND i.product IN (p.product, '')
	WHERE p.bought = 1 AND p.cover <> '' AND `

// subscriptions reads the subscriptions that match a condition, by cover, the newest year first.
func (db *database) subscriptions(ctx context.Context, where string, args ...any) (map[string][]Subscription, error) {
	all := make(map[string][]Subscription)
	now := store.ToMillis(db.Now())
	found, err := store.List[struct {
		Subscription
		Cover, FilingStatus string
		BoughtAt            int64
	}](ctx, db.Read, "find subscriptions", selectSubscription+where, args...)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		s, cover := f.Subscription, f.Cover
		heard := max(store.ToMillis(s.HeardAt), f.BoughtAt)
		s.HeardAt, s.Lapsed = store.FromMillis(heard), lapsed(s.Status, f.FilingStatus, heard, now)
		s.CompanyID, s.State = splitCover(cover)
		// A purchase with several items is read once for each of them.
		at := slices.IndexFunc(all[cover],
			func(other Subscription) bool { return other.Row == s.Row && other.Year == s.Year })
		if at < 0 {
			all[cover] = append(all[cover], s)
			continue
		}
		seen := &all[cover][at]
		seen.Lapsed, seen.Status, seen.Order = cmp.Or(seen.Lapsed, s.Lapsed), cmp.Or(seen.Status,
			s.Status), cmp.Or(seen.Order, s.Order)
	}
	for _, of := range all {
		slices.SortStableFunc(of, func(a, b Subscription) int {
			return cmp.Or(b.Year-a.Year, cmp.Compare(b.Row, a.Row))
		})
	}
	return all, nil
}

// coverOf returns the key of the subscription of a company and a state.
func coverOf(company string, state filing.State) string {
	return "annual-report|" + company + "|" + string(state)
}

func splitCover(cover string) (company string, state filing.State) {
	parts := strings.Split(cover, "|")
	if len(parts) != 3 {
		return "", ""
	}
	return parts[1], filing.State(parts[2])
}

// subscriptionsOf reads the subscriptions that may cover the claims.
func (db *database) subscriptionsOf(ctx context.Context, claims []Claim) (map[string][]Subscription, error) {
	var covers []string
	for _, c := range claims {
		if c.Cover != "" {
			covers = append(covers, c.Cover)
		}
	}
	if len(covers) == 0 {
		return nil, nil
	}
	in, args := store.Among(db.Dialect, covers)
	return db.subscriptions(ctx, `p.cover `+in, args...)
}

// Lapsed finds the lapsed subscription that would cover a claim if it were sound. It leaves out
// claims that a sound subscription covers. The claims must not be ones that another purchase keeps
// from being ordered.
func (l Subscriptions) Lapsed(ctx context.Context, claims []Claim) (map[filing.Key]Subscription, error) {
	all, err := l.subscriptionsOf(ctx, claims)
	if err != nil {
		return nil, err
	}
	found := make(map[filing.Key]Subscription)
	for _, c := range claims {
		earlier := slices.DeleteFunc(slices.Clone(all[c.Cover]), func(s Subscription) bool { return s.Year >= c.Year })
		if len(earlier) > 0 && !slices.ContainsFunc(earlier, func(s Subscription) bool { return s.Lapsed == "" }) {
			found[c.Key] = earlier[0]
		}
	}
	return found, nil
}

// Coverage is a row that orders nothing because a subscription covers it.
type Coverage struct {
	Batch  string
	Number int
	Cover  string
	// Year is the year of the row's report.
	Year int
	// Opened is the row that opened the subscription.
	Opened int64
}

// RecordCoverage records the subscriptions that cover rows which are about to be skipped. It is
// called before they are skipped. The record of a row that is not skipped in the end is ignored.
func (l Subscriptions) RecordCoverage(ctx context.Context, rows ...Coverage) error {
	if len(rows) == 0 {
		return nil
	}
	now := store.ToMillis(l.Now())
	records := make([]store.Record, len(rows))
	for i, c := range rows {
		records[i] = store.Record{
			store.Text("batch", c.Batch),
			store.Number("number", c.Number),
			store.Text("cover", c.Cover),
			store.Number("year", c.Year),
			store.Number("opened", c.Opened),
			store.Number("at", now),
		}
	}
	err := l.change(audit.Without(ctx), func(tx *Tx) error {
		return l.ExecRecords(
			ctx, tx.Tx, `INSERT INTO coverage (batch, number, cover, year, opened, at)
				SELECT v.batch, v.number, v.cover, v.year, v.opened, v.at {{v}}
				WHERE TRUE ON CONFLICT (batch, number) DO UPDATE SET cover = excluded.cover, year = excluded.year,
					opened = excluded.opened, at = excluded.at`,
			records)
	})
	return store.Wrap(fmt.Sprintf("record what covers %d rows", len(rows)), err)
}

// Covered is a row that a subscription covers, with the present state of the subscription.
type Covered struct {
	Row       int64
	Batch     string
	Number    int
	Year      int
	CompanyID string
	State     filing.State
	// By is the deciding subscription if there are several.
	By Subscription
}

const selectCovered = `SELECT r.id AS "row", c.batch, c.number, c.cover, c.year
	FROM coverage c JOIN rows r ON r.batch = c.batch AND r.number = c.number
	WHERE r.result IN ('skipped', 'placed')
	AND NOT EXISTS (SELECT 1 FROM items i WHERE i.row = r.id AND i.product = 'annual-report')
	AND NOT EXISTS (SELECT 1 FROM purchases p WHERE p.cover = c.cover AND p.year = c.year AND p.bought = 1)`

// Covered lists the rows that wait for a renewal. Their report was not ordered because a
// subscription covers it, no renewal for their year was seen, and the report was not ordered
// otherwise. An empty company means all companies.
func (l Subscriptions) Covered(ctx context.Context, company string) ([]Covered, error) {
	begins := ""
	if company != "" {
		begins = coverOf(company, "")
	}
	return l.listCovered(ctx, ` AND SUBSTR(c.cover, 1, LENGTH(CAST($1 AS TEXT))) = $1
		ORDER BY c.year, c.batch, c.number`, begins)
}

func (db *database) listCovered(ctx context.Context, where string, args ...any) ([]Covered, error) {
	var all []Covered
	var covers []string
	found, err := store.List[struct {
		Covered
		Cover string
	}](ctx, db.Read, "list the rows that subscriptions cover", selectCovered+where, args...)
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		c.CompanyID, c.State = splitCover(c.Cover)
		all, covers = append(all, c.Covered), append(covers, c.Cover)
	}
	subscribed := make(map[string][]Subscription)
	for some := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(covers))), pageSize) {
		in, args := store.Among(db.Dialect, some)
		more, err := db.subscriptions(ctx, `p.cover `+in, args...)
		if err != nil {
			return nil, err
		}
		for cover, of := range more {
			subscribed[cover] = of
		}
	}
	for i, cover := range covers {
		all[i].By = decidingSubscription(subscribed[cover], all[i].Year)
	}
	return all, nil
}

// decidingSubscription returns the subscription that decides about a year. It prefers one that
// covers the year, then the newest.
func decidingSubscription(of []Subscription, year int) Subscription {
	var best Subscription
	for _, s := range of {
		if s.Year < year && (best.Row == 0 || best.Lapsed != "" && s.Lapsed == "") {
			best = s
		}
	}
	return best
}

// addCoverage adds the subscriptions that cover their reports to the rows of a page.
func (db *database) addCoverage(ctx context.Context, page []Row) error {
	var ids []int64
	for _, r := range page {
		if (r.Result == filing.Skipped || r.Result == filing.Placed) && r.Request != nil &&
			r.Request.Order.AnnualReport != nil {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	in, args := store.Among(db.Dialect, ids)
	covered, err := db.listCovered(ctx, ` AND r.id `+in, args...)
	if err != nil {
		return err
	}
	by := make(map[int64]*Subscription, len(covered))
	for i := range covered {
		by[covered[i].Row] = &covered[i].By
	}
	for i := range page {
		page[i].CoveredBy = by[page[i].ID]
	}
	return nil
}

// ErrNoSubscription is returned for an order that opened no subscription here.
var ErrNoSubscription = errors.New("no annual report of this ledger has this order id")

// SetStatus records the status of the subscription that an order opened, as a person found it.
// status is the service's term for it.
func (l Subscriptions) SetStatus(ctx context.Context, order, status string) error {
	return l.change(ctx, func(tx *Tx) error {
		if err := store.RequireChange(ErrNoSubscription)(tx.ExecContext(ctx,
			`UPDATE items
				SET subscription_status = $2, subscription_at = $3
				WHERE order_id = $1 AND order_id <> '' AND product = 'annual-report'`,
			order, status, store.ToMillis(l.Now()))); err != nil {
			return fmt.Errorf("record the status of the subscription of %s: %w", order, err)
		}
		_, err := tx.ExecContext(
			ctx, `UPDATE rows
				SET updated_at = $2
				WHERE result <> 'placing' AND id IN (SELECT row FROM items WHERE order_id = $1)`, order,
			store.ToMillis(l.Now()))
		return err
	})
}

// Renewed is a covered row and the order of its renewal.
type Renewed struct {
	Order string
	Covered
}

// matchRenewals finds the reports without an order of ours that can only be renewals of covered
// rows. They name the company, the state and the year. If the year is missing, all waiting rows of
// that company and state must be for the same year. It skips a company with an order whose outcome
// is unknown, because the report may belong to that order.
func (db *database) matchRenewals(ctx context.Context, now int64) ([]Renewed, error) {
	waiting, err := Subscriptions{db}.Covered(ctx, "")
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	events, err := db.listOrphanEvents(ctx, now-subscriptionTrust.Milliseconds(), now)
	if err != nil {
		return nil, err
	}
	var found []Renewed
	taken := make(map[int64]bool)
	for _, s := range orphanEvents(events) {
		if s.product != filing.AnnualReport || s.company == "" || s.state == "" {
			continue
		}
		var fit []Covered
		for _, c := range waiting {
			if c.CompanyID == s.company && c.State == s.state && !taken[c.Row] &&
				(s.year == "" || s.year == fmt.Sprint(c.Year)) {
				fit = append(fit, c)
			}
		}
		if len(fit) == 0 || s.year == "" &&
			slices.ContainsFunc(fit, func(c Covered) bool { return c.Year != fit[0].Year }) {
			continue
		}
		var doubtful bool
		err := db.Read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM purchases WHERE cover = $1 AND bought = 0)`,
			coverOf(s.company, s.state)).Scan(&doubtful)
		if err != nil {
			return nil, fmt.Errorf("find uncertain orders: %w", err)
		}
		if !doubtful {
			taken[fit[0].Row] = true
			found = append(found, Renewed{s.order, fit[0]})
		}
	}
	return found, nil
}

// RenewalDay counts the active subscriptions whose newest order was placed on a day.
type RenewalDay struct {
	// Product is AnnualReport or RegisteredAgent.
	Product filing.Product
	// Day is the number of days since 1970.
	Day           int64
	Subscriptions int
	// Cost is what the newest orders with a cost were charged.
	Cost      money.Cents
	Certainty money.Certainty
}

// ListRenewalDays counts the active subscriptions by the day of their newest order in a zone. A
// company has one subscription for a product and a state, however many of its years were ordered.
func (l Subscriptions) ListRenewalDays(ctx context.Context, zone *time.Location) ([]RenewalDay, error) {
	now := l.Now()
	_, offset := now.In(zone).Zone()
	// The condition is that of coversNow, for one item of each purchase.
	return store.List[RenewalDay](ctx, l.Read, "count the subscriptions by day",
		`SELECT q.product, (q.at + $1) / 86400000 AS day, COUNT(*) AS subscriptions,
			CAST(SUM(q.cost) AS BIGINT) AS cost,
				MAX(q.certainty) AS certainty
			FROM (SELECT o.product, o.cost, o.certainty, MAX(o.at) OVER (PARTITION BY o.subject) AS at,
					ROW_NUMBER() OVER (PARTITION BY o.subject
						ORDER BY CASE WHEN o.cost > 0 THEN 0 ELSE 1 END, o.at DESC, o.id DESC) AS place
				FROM (SELECT CASE p.product WHEN 'agent-change' THEN 'registered-agent' ELSE p.product END AS product,
						CASE WHEN p.cover <> '' THEN p.cover ELSE p.key END AS subject, p.at, i.cost, i.certainty, i.id
					FROM purchases p JOIN items i ON i.row = p.row AND i.product = p.product
					WHERE p.bought = 1 AND p.product IN ('annual-report', 'registered-agent', 'agent-change')
					AND lower(i.filing_status) NOT IN ('canceled', 'cancelled')
					AND lower(i.subscription_status) IN ('', 'active')
					AND (p.at >= $2 OR i.subscription_at >= $2)) AS o) AS q
			WHERE q.place = 1
			GROUP BY 1, 2
			ORDER BY day, q.product`, int64(offset)*1000, trustedSince(store.ToMillis(now)))
}

// ErrNotCovered is returned for a renewal of a row that no subscription covers.
var ErrNotCovered = errors.New("the row does not wait for a renewal")

// Renew records the order of a renewal for the row that its subscription covers. The report exists
// and is not bought again, regardless of the later state of the subscription.
func (l Subscriptions) Renew(ctx context.Context, row int64, order string) error {
	return l.change(ctx, func(tx *Tx) error {
		c, err := store.Find[Coverage](ctx, tx, ErrNotCovered, fmt.Sprintf("read what covers row %d", row),
			`SELECT c.cover, c.year, c.opened
				FROM coverage c JOIN rows r ON r.batch = c.batch AND r.number = c.number
				WHERE r.id = $1 AND r.result IN ('skipped', 'placed')
				AND NOT EXISTS (SELECT 1 FROM items i WHERE i.row = r.id AND i.product = 'annual-report')`, row)
		if err != nil {
			return err
		}
		var known bool
		if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM items WHERE order_id = $1)`,
			order).Scan(&known); err != nil {
			return fmt.Errorf("find the order %s: %w", order, err)
		}
		if known {
			return ErrOrderTaken
		}
		now := store.ToMillis(l.Now())
		company, state := splitCover(c.Cover)
		o := filing.Order{
			CompanyID:    company,
			FilingState:  state,
			AnnualReport: &filing.AnnualReportItem{FilingYear: fmt.Sprint(c.Year)},
		}
		for _, s := range []struct {
			query string
			args  []any
		}{
			{`INSERT INTO items (row, product, order_type, order_id, subscription_status, certainty, created_at,
					subscription_at)
				VALUES ($1, 'annual-report', 'annual_report', $2, 'active', 0, $3, $3)`,
				[]any{row, order, now}},
			{`INSERT INTO purchases (key, row, product, cover, year, why, at, bought, twin, beside)
				SELECT $1, $2, 'annual-report', $3, $4, '', $5, 1,
					COALESCE((SELECT MIN(p.row) FROM purchases p WHERE p.key = $1 AND p.bought = 1 AND p.twin = 0), 0),
					CASE WHEN EXISTS (SELECT 1 FROM purchases p WHERE p.key = $1) THEN 1 ELSE 0 END`,
				[]any{string(o.Keys()[filing.AnnualReport]), row, c.Cover, c.Year, now}},
			{`UPDATE rows
				SET message = CASE WHEN result = 'skipped' THEN $2 ELSE message || '. ' || $2 END,
					result = CASE WHEN result = 'skipped' THEN 'exists' ELSE result END, updated_at = $3
				WHERE id = $1`,
				[]any{
					row, "renewed under its annual subscription as " + order +
						"; nothing was ordered. The filing service charges renewals automatically: enter the " +
						"charge with importer deposit --adjust", now,
				}},
			{`UPDATE items
				SET subscription_at = $2
				WHERE row = $1 AND product = 'annual-report' AND lower(subscription_status) IN ('', 'active')`, []any{
				c.Opened, now,
			}},
			{`UPDATE events SET state = 'new' WHERE state = 'unknown' AND order_id = $1`, []any{order}},
		} {
			if _, err := tx.ExecContext(ctx, s.query, s.args...); err != nil {
				return fmt.Errorf("give the renewal %s to row %d: %w", order, row, err)
			}
		}
		return nil
	})
}

// takeRenewals records the renewals that matchRenewals finds.
func (db *database) takeRenewals(ctx context.Context) (int, error) {
	found, err := db.matchRenewals(ctx, store.ToMillis(db.Now()))
	if err != nil {
		return 0, err
	}
	done := 0
	for _, r := range found {
		err := Subscriptions{db}.Renew(ctx, r.Row, r.Order)
		switch {
		case err == nil:
			done++
		// Otherwise another process was faster.
		case !errors.Is(err, ErrNotCovered) && !errors.Is(err, ErrOrderTaken):
			return done, err
		}
	}
	return done, nil
}
