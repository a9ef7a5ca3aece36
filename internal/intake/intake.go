// Package intake turns a spreadsheet into a batch that can be submitted. It keeps uploads, records
// the rows, looks up and compares the companies, quotes the orders and requests the approval.
// Commands, the page and schedules share it. Each of them has its own output and questions, and
// submits the batch itself.
package intake

import (
	"context"
	"errors"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/retry"
)

// importPoll is how often Record checks whether another process has recorded the spreadsheet.
const importPoll = 200 * time.Millisecond

// Recording has the options of Record.
type Recording struct {
	// By is the person or process that asks.
	By string
	// Counted receives the number of recorded rows. May be nil.
	Counted func(rows int)
	// Waiting is called once if another process records the same spreadsheet. May be nil.
	Waiting func(err error)
	// Patience is how long to wait for that process. Zero is no limit.
	Patience time.Duration
}

// Recorded is a spreadsheet in the ledger.
type Recorded struct {
	// Batch is the ID of the batch.
	Batch string
	// Created reports whether this call created the batch.
	Created bool
	// Waited reports whether another process was recording the spreadsheet. That process may be
	// quoting it now.
	Waited bool
}

// Record records the rows of a spreadsheet as a batch. No row is sent before the batch is
// submitted. Record returns ledger.ErrImporting if another process does not finish in time.
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

// Quoting has the dependencies and options of a quote.
type Quoting struct {
	Ledger *ledger.Ledger
	Prices pricing.Source

	// Records reads the users and companies of the filing service. Nil disables the comparison.
	Records lookup.Records
	// Throttle may be nil.
	Throttle *lookup.Throttle
	// Concurrency is the number of parallel look-ups.
	Concurrency int
	// Accept reports whether a person accepts the names that the filing service has.
	Accept bool
	// Secret reports whether the signing secret of a webhook is set. Events are expected then.
	Secret bool

	// LookedUp receives the number of rows that are looked up. May be nil.
	LookedUp func(done, total int)
	// Waiting is called if the filing service asks to wait before more is looked up. May be nil.
	Waiting func(until time.Time)
	// Patience is Comparison.Patience.
	Patience time.Duration
	// Priced is called before the rows are priced. May be nil.
	Priced func()
}

// Quote is the cost of a batch with the results of its review and the warnings to show before its
// approval.
type Quote struct {
	pricing.BatchQuote
	Review lookup.Review
	// Endpoint is the result of EndpointWarning.
	Endpoint string
}

// Quote looks up the companies of a batch, holds back the rows whose company differs from its
// record at the filing service, and quotes the other rows. It waits while the filing service asks
// to wait. A row that cannot be looked up now is compared before it is sent. A refused key is
// noticed before the first look-up.
func (o *Quoting) Quote(ctx context.Context, batch string) (q Quote, err error) {
	f, err := o.Ledger.Figures(ctx, batch)
	if err != nil {
		return q, err
	}
	if f.Counts[filing.Ready]+f.HeldBack > 0 {
		err := o.quoteRows(ctx, batch, &q)
		return q, err
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
		q.Review, err = lookup.Compare(ctx, batch, lookup.Comparison{
			Config: lookup.Config{
				Ledger:      o.Ledger,
				Concurrency: o.Concurrency,
				Throttle:    o.Throttle,
			},
			Records:  o.Records,
			Accept:   o.Accept,
			Progress: o.LookedUp,
			Waiting:  o.Waiting,
			Patience: o.Patience,
		})
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

// RequestApproval makes a batch wait for approval before it is opened, if the firm's policy
// requires a second person or always is set. plan identifies the orders to approve. It is empty if
// no approval is needed.
func RequestApproval(ctx context.Context, l *ledger.Ledger, batch string, always bool) (plan string, err error) {
	approvals := approval.New(l)
	second, err := approvals.NeedsSecond(ctx, batch)
	if err != nil || !second && !always {
		return "", err
	}
	if plan, _, err = pricing.ApprovalHash(ctx, l, batch); err != nil {
		return "", err
	}
	return plan, approvals.Request(ctx, batch, plan)
}
