// Package intake is the one way from a spreadsheet to a submitted batch: its rows are recorded,
// its companies are looked up and compared, its orders are quoted, and it is submitted. Commands,
// the page and schedules share it. What a person is shown and asked on the way is theirs.
package intake

import (
	"context"
	"errors"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/retry"
)

// importPoll is how often Record checks whether another process has recorded the spreadsheet.
const importPoll = 200 * time.Millisecond

// Recording says how a spreadsheet is recorded.
type Recording struct {
	By       string          // the person or process that asks
	Counted  func(rows int)  // is told how many rows are recorded; may be nil
	Waiting  func(err error) // is told once that another process records the same; may be nil
	Patience time.Duration   // how long to wait for that process; 0 for as long as it takes
}

// Recorded is a spreadsheet that is in the ledger.
type Recorded struct {
	Batch   string // its ID
	Created bool   // by this call
	Waited  bool   // another process was recording it, and may be at its quote
}

// Record records the rows of a spreadsheet as a batch. Nothing of it is sent before it is
// submitted. It returns ledger.ErrImporting if another process does not finish in time.
func Record(ctx context.Context, l *ledger.Ledger, im *importer.Import, o Recording) (r Recorded, err error) {
	began := time.Now()
	err = retry.Do(ctx, retry.Backoff{First: importPoll, Max: importPoll}, func() (final bool, err error) {
		r.Batch, r.Created, err = im.Record(ctx, &counter{Ledger: l, counted: o.Counted}, o.By)
		if !errors.Is(err, ledger.ErrImporting) || o.Patience > 0 && time.Since(began) >= o.Patience {
			return true, err
		}
		if !r.Waited && o.Waiting != nil {
			o.Waiting(err)
		}
		r.Waited = true
		return false, err
	})
	return r, err
}

// counter counts the rows that are recorded.
type counter struct {
	*ledger.Ledger
	counted func(rows int)
	rows    int
}

func (c *counter) AddRows(ctx context.Context, batch string, rows []ledger.Row) error {
	err := c.Ledger.AddRows(ctx, batch, rows)
	if c.rows += len(rows); c.counted != nil {
		c.counted(c.rows)
	}
	return err
}

// Quoting is how a batch is quoted.
type Quoting struct {
	Ledger *ledger.Ledger
	Prices pricing.Source

	Records     jobs.Records  // what the filing service has of companies and users; nil to compare none
	Throttle    jobs.Throttle // nil for none
	Concurrency int           // look-ups at once
	Accept      bool          // a person accepts the names that the filing service has
	Secret      bool          // a webhook's signing secret is set: its events are expected

	LookedUp func(done, total int) // is told how many rows are looked up; may be nil
	Priced   func()                // is called before the rows are priced; may be nil
}

// Quote is what a batch will cost, and what to know before it is approved.
type Quote struct {
	pricing.BatchQuote
	Review   jobs.Review
	Plan     string // names these orders at this cost: see pricing.ApprovalHash
	Endpoint string // the warning that no event will come; empty if one may
}

// Quote looks up the companies of a batch, holds back the rows whose company differs from the
// record that the filing service has of it, and quotes the others. Rows that cannot be looked up
// now are compared before they are sent. A refused key is found before the first look-up.
func (o *Quoting) Quote(ctx context.Context, batch string) (q Quote, err error) {
	f, err := o.Ledger.Figures(ctx, batch)
	if err != nil {
		return q, err
	}
	if f.Counts[filing.Ready]+f.HeldBack > 0 {
		if err := o.quoteRows(ctx, batch, &q); err != nil {
			return q, err
		}
	}
	q.Plan, _, err = pricing.ApprovalHash(ctx, o.Ledger, batch)
	return q, err
}

func (o *Quoting) quoteRows(ctx context.Context, batch string, q *Quote) error {
	quoter, err := o.Prices(ctx)
	if err != nil {
		return err
	}
	if o.Records != nil {
		q.Review, err = jobs.Compare(ctx, o.Records, o.Ledger, o.Throttle, o.Concurrency, batch, o.Accept, o.LookedUp)
		if err != nil {
			return err
		}
	}
	if o.Priced != nil {
		o.Priced()
	}
	if q.BatchQuote, err = pricing.QuoteBatch(ctx, o.Ledger, quoter, batch); err != nil {
		return err
	}
	q.Endpoint, err = EndpointWarning(ctx, o.Ledger, o.Secret)
	return err
}

// RequestApproval has a batch that is about to be opened wait for approval if the policy of the
// firm asks for a second person, or in any case with always. plan names what is to be approved;
// it is empty if nothing is.
func RequestApproval(ctx context.Context, l *ledger.Ledger, batch string, always bool) (plan string, err error) {
	second, err := l.Approvals().NeedsSecond(ctx, batch)
	if err != nil || !second && !always {
		return "", err
	}
	if plan, _, err = pricing.ApprovalHash(ctx, l, batch); err != nil {
		return "", err
	}
	return plan, l.Approvals().Request(ctx, batch, plan)
}
