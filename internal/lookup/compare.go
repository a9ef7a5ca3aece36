package lookup

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/retry"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// HeldBack is a row that is not sent because of its company's record.
type HeldBack struct {
	Row int
	// Column is the column of the sheet, from 0. It is -1 if the sheet lacks the column.
	Column     int
	Difference filing.Difference
}

// Review is the result of comparing the rows of a batch.
type Review struct {
	HeldBack []HeldBack
	// Accepted is the number of rows whose name was accepted as the filing service has it.
	Accepted int
	// Released is the number of rows that an earlier comparison held back and that are ready now.
	Released int
	// NotCompared is the number of rows whose company could not be looked up. These rows are compared
	// before they are sent.
	NotCompared int
}

// Note returns a sentence for the approver about the rows that were not compared. It is empty if all
// were.
func (r Review) Note() string {
	if r.NotCompared == 0 {
		return ""
	}
	return "The companies of " + text.Count(r.NotCompared, "row") +
		" could not be looked up. Each is compared before its order is sent."
}

// Comparison configures Compare.
type Comparison struct {
	Config
	Records Records
	// Accept reports whether a person accepts the names that the filing service has.
	Accept bool
	// Progress receives the number of rows that are looked up. It may be nil.
	Progress func(done, total int)
	// Waiting is called if the filing service asks to wait before more is looked up. It may be nil.
	Waiting func(until time.Time)
	// Patience is the longest time without an answer for which Compare waits if the filing service asks
	// to wait. It is a minute if it is zero.
	Patience time.Duration
}

// Compare looks up the companies and users of the rows of a batch that may still be sent. It
// compares the rows with the records of their companies, and with the names that were bought or
// looked up here. It only reads from the filing service, because the batch is not approved yet.
// A Resolver creates missing users and completes companies later. A row that names another
// company than its Company ID is held back, unless a person accepts the names of the filing
// service. A row whose company does not exist gets a warning. Rows that an earlier comparison held
// back are compared again. If the filing service asks to wait, Compare waits. A row whose company
// cannot be looked up keeps the result of the earlier comparison.
func Compare(ctx context.Context, batch string, o Comparison) (Review, error) {
	b, err := o.Ledger.Batch(ctx, batch)
	if err != nil {
		return Review{}, err
	}
	figures, err := o.Ledger.Figures(ctx, batch)
	if err != nil {
		return Review{}, err
	}
	c := &comparison{
		Comparison: o,
		batch:      b,
		lookup:     New(o.Records, o.Config),
		total:      figures.Counts[filing.Ready],
		asked:      make(map[string]bool),
		refused:    make(map[string]filing.Difference),
		nearNames:  nearNames{ledger: o.Ledger, batch: b.ID},
	}
	halted, err := o.Ledger.Fleet().Halt(ctx)
	if err != nil {
		return Review{}, err
	}
	if halted.Reason == filing.HaltRate {
		c.lookup.waitUntil(halted.Until)
	}
	// A new company is compared with the companies of all rows.
	for _, step := range []func(context.Context, []ledger.Row) error{c.lookUpPage, c.comparePage} {
		for page, err := range ledger.Pages(o.Ledger.Rows(ctx, batch), mayBeCompared) {
			if err == nil {
				err = step(ctx, page)
			}
			if err != nil {
				return c.review, err
			}
		}
	}
	return c.review, nil
}

// mayBeCompared reports whether a row may still be sent and was not sent before.
func mayBeCompared(r *ledger.Row) bool {
	return (r.Result == filing.Ready && !r.Uncertain) || r.HeldBack()
}

type comparison struct {
	Comparison
	batch  ledger.Batch
	lookup *Lookup
	// done and total are the numbers of rows that are looked up and to look up.
	done, total int
	// asked has the references that were looked up, so that a failed look-up is not repeated.
	asked     map[string]bool
	nearNames nearNames
	review    Review

	mu sync.Mutex
	// refused has the reasons why there is no record, by the references of companies.
	refused map[string]filing.Difference
	// silentSince is when the filing service asked to wait for the first time since its last answer.
	// It is zero after an answer.
	silentSince time.Time
	// reportedUntil is the end of the last wait that was reported.
	reportedUntil time.Time
}

// lookUpPage looks up the users and companies of a page of rows that were not looked up for the
// batch yet.
func (c *comparison) lookUpPage(ctx context.Context, page []ledger.Row) error {
	l := c.lookup
	if err := l.Load(ctx, page); err != nil {
		return err
	}
	requests, _, err := l.Identify(ctx, page)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(l.Concurrency)
	for _, r := range requests {
		if c.Progress != nil {
			c.Progress(c.done, c.total)
		}
		c.done++
		user, company := r.User.Ref(), r.Company.Ref
		if _, known := l.knownUser(user); !known && r.User.ID == "" && c.askOnce("user "+user) {
			g.Go(func() error {
				return c.repeatWhileBusy(ctx, func() error {
					u, err := l.askForUser(ctx, r.User.Email)
					if err == nil {
						err = l.keepUser(ctx, user, u)
					}
					return err
				})
			})
		}
		known, found := l.cached(companyKey{c.batch.ID, company})
		if r.Order.Formation == nil && company != "" && (!found || !isUsable(r, known.Company)) &&
			c.askOnce("company "+company) {
			g.Go(func() error {
				return c.repeatWhileBusy(ctx, func() error {
					_, err := l.Company(ctx, c.batch.ID, r)
					c.noteRefused(company, err)
					return err
				})
			})
		}
	}
	return g.Wait()
}

// repeatWhileBusy looks up a record. It repeats the look-up while the filing service asks to wait. It
// ignores errors that only concern the row.
func (c *comparison) repeatWhileBusy(ctx context.Context, lookUp func() error) error {
	for {
		err := lookUp()
		asked := errors.Is(err, filingapi.ErrBusy)
		if !asked && !errors.Is(err, errBusy) {
			c.answered()
			return ignoreRowError(err)
		}
		wait := c.lookup.busyFor()
		if asked {
			if err := c.recordBusy(ctx, wait); err != nil {
				return err
			}
		}
		if c.isTooLong(wait) {
			return nil
		}
		if err := retry.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// answered notes that the filing service answers again.
func (c *comparison) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silentSince = time.Time{}
}

// recordBusy halts the fleet, to which the request to wait applies too, and reports the wait. It does
// either once for the look-ups that are in flight together.
func (c *comparison) recordBusy(ctx context.Context, wait time.Duration) error {
	until := time.Now().Add(wait)
	c.mu.Lock()
	known := !until.After(c.reportedUntil.Add(pauseFor))
	if !known {
		c.reportedUntil = until
	}
	c.mu.Unlock()
	if known {
		return nil
	}
	if c.Waiting != nil {
		c.Waiting(until)
	}
	return c.Ledger.Fleet().RecordBusy(ctx, wait)
}

// isTooLong reports whether the filing service would not have answered for longer than Patience after
// another wait.
func (c *comparison) isTooLong(wait time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.silentSince.IsZero() {
		c.silentSince = now
	}
	return now.Add(wait).Sub(c.silentSince) > cmp.Or(c.Patience, time.Minute)
}

// noteRefused notes that the filing service gives no record of a company.
func (c *comparison) noteRefused(ref string, err error) {
	e := (*Error)(nil)
	if !errors.As(err, &e) || e.Next != filing.Rejected {
		return
	}
	d := filing.Difference{
		Rule:    filing.RefusedRecordRule,
		Column:  filing.CompanyIDColumn,
		Message: e.Message,
		Warning: true,
	}
	if errors.Is(err, filingapi.ErrNotFound) {
		d.Rule = filing.NoRecordRule
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[ref] = d
}

func (c *comparison) askOnce(what string) bool {
	first := !c.asked[what]
	c.asked[what] = true
	return first
}

// comparePage compares a page of rows and records the changes.
func (c *comparison) comparePage(ctx context.Context, page []ledger.Row) error {
	requests, _, err := c.lookup.Identify(ctx, page)
	if err != nil {
		return err
	}
	names := make(map[filing.Key]filing.Company)
	var changed []ledger.Reviewed
	for i := range page {
		row, r := &page[i], requests[i]
		known, found := c.lookup.cached(companyKey{c.batch.ID, r.Company.Ref})
		record := known.Company
		collectNames(names, r, record)
		differences := r.Differences(record)
		switch d, refused := c.refused[r.Company.Ref]; {
		case refused:
			differences = append(differences, d)
		case !found && r.Company.Ref != "" && r.Order.Formation == nil:
			c.review.NotCompared++
			c.nearNames.add(row)
			continue
		}
		var accepted *filing.Request
		if c.Accept && slices.ContainsFunc(differences,
			func(d filing.Difference) bool { return d.Column == filing.ConfirmedNameColumn }) {
			request, named := *row.Request, *r
			request.Company.Confirmed, named.Company.Confirmed = record.LegalName, record.LegalName
			differences, accepted = named.Differences(record), &request
			c.review.Accepted++
		}
		if r.Order.Formation != nil || r.CreatesCompany() {
			near, err := c.nearNames.differences(ctx, row)
			if err != nil {
				return err
			}
			differences = append(differences, near...)
		}
		c.nearNames.add(row)
		m := Mismatch{Differences: differences}
		reviewed := m.Review(c.batch, row)
		reviewed.Request = accepted
		if d := m.blocking(); d != nil {
			c.review.HeldBack = append(c.review.HeldBack,
				HeldBack{row.Number, slices.Index(c.batch.Fields, d.Column.Field), *d})
		} else if row.Result == filing.Invalid {
			c.review.Released++
		}
		if len(differences) > 0 || slices.ContainsFunc(row.Faults, isRecordFault) || row.Result != reviewed.Result {
			changed = append(changed, reviewed)
		}
	}
	if err := c.Ledger.Companies().RememberNames(ctx, names); err != nil {
		return err
	}
	return c.Ledger.RecordReview(ctx, c.batch.ID, changed)
}

// collectNames collects the names by which rows without a Company ID refer to a company: its legal
// name, and the name of a row if a person confirmed it.
func collectNames(names map[filing.Key]filing.Company, r *filing.Request, record filing.Company) {
	if record.ID == "" || record.LegalName == "" || record.FormationState == "" {
		return
	}
	key := func(name string) filing.Key {
		return filing.NewCompany{LegalName: name, FormationState: record.FormationState}.Key()
	}
	names[key(record.LegalName)] = record
	confirmed := slices.ContainsFunc(r.Differences(record),
		func(d filing.Difference) bool { return d.Rule == filing.ConfirmedNameRule })
	if _, taken := names[key(r.LegalName())]; confirmed && !taken {
		names[key(r.LegalName())] = record
	}
}

// Mismatch is the error of a row that names another company than its Company ID.
type Mismatch struct {
	// Record is the company with the Company ID.
	Record      filing.Company
	Differences []filing.Difference
}

func (m *Mismatch) Error() string { return m.blocking().Message }

// blocking returns the first difference because of which the row is not sent. It is nil if all
// are warnings.
func (m *Mismatch) blocking() *filing.Difference {
	at := slices.IndexFunc(m.Differences, func(d filing.Difference) bool { return !d.Warning })
	if at < 0 {
		return nil
	}
	return &m.Differences[at]
}

// CheckRecord compares a row with the record of its company. It returns a *Mismatch if they are
// different companies.
func CheckRecord(r *filing.Request, record filing.Company) error {
	m := &Mismatch{record, r.Differences(record)}
	if m.blocking() == nil {
		return nil
	}
	return m
}

// Review returns the row with its differences as faults, in place of those of an earlier review.
// The row is Invalid if one of them blocks it.
func (m *Mismatch) Review(b ledger.Batch, row *ledger.Row) ledger.Reviewed {
	reviewed := ledger.Reviewed{
		Row:    row.ID,
		Result: filing.Ready,
		Faults: slices.DeleteFunc(slices.Clone(row.Faults), isRecordFault),
	}
	for _, d := range m.Differences {
		fault := ledger.Fault{
			Column:  slices.Index(b.Fields, d.Column.Field),
			Rule:    d.Rule,
			Message: d.Message,
			Warning: d.Warning,
		}
		if fault.Column < 0 {
			fault.Header = d.Column.Header
		}
		reviewed.Faults = append(reviewed.Faults, fault)
	}
	if d := m.blocking(); d != nil {
		reviewed.Result, reviewed.Message = filing.Invalid, d.Message
	}
	return reviewed
}

func isRecordFault(f ledger.Fault) bool { return strings.HasPrefix(f.Rule, filing.RecordRule) }
