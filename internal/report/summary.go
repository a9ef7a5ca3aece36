package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Ledger is what the report reads.
type Ledger interface {
	Batch(ctx context.Context, id string) (ledger.Batch, error)
	// Results yields the batch's rows in input order; an error ends the sequence.
	Results(ctx context.Context, batch string) iter.Seq2[ledger.Row, error]
	Officers(ctx context.Context, batch string) ([]ledger.Officer, error)
	Balance(ctx context.Context) (ledger.Balance, error)
}

// Summary is a batch in figures.
type Summary struct {
	Batch    string
	Rows     int
	Counts   ledger.Counts
	Spent    money.Cost // by placed rows
	Reserved money.Cost // by uncertain rows, and by those under way
	Needed   money.Cost // by ready rows, as far as is known

	// What became of the orders since, in the service's words. An appointment of
	// an agent is no filing and is not among them.
	Filings    map[string]int
	Exceptions int // rows with a filing that stands still
	Uncovered  int // rows whose report a subscription covered that is not sound any more

	Output string // the file written; empty where none was
}

// Summarize reads the figures of a batch without writing anything.
func Summarize(ctx context.Context, l Ledger, batchID string) (Summary, error) {
	s := newSummary(batchID)
	for row, err := range l.Results(ctx, batchID) {
		if err != nil {
			return Summary{}, fmt.Errorf("summarize batch %s: %w", batchID, err)
		}
		if err := s.add(&row); err != nil {
			return Summary{}, fmt.Errorf("summarize batch %s: %w", batchID, err)
		}
	}
	return s, nil
}

// NotReported is the status of a filing that the filing service has not reported.
const NotReported = "not reported yet"

// FilingStatuses lists the statuses that occur, those on the way first and
// filed last.
func (s Summary) FilingStatuses() []string {
	known := []string{NotReported, "submitted", "pending"}
	rank := func(status string) int {
		if status == filing.FiledStatus {
			return len(known) + 1
		}
		if at := slices.Index(known, status); at >= 0 {
			return at
		}
		return len(known)
	}
	statuses := slices.Sorted(maps.Keys(s.Filings))
	slices.SortStableFunc(statuses, func(a, b string) int { return rank(a) - rank(b) })
	return statuses
}

func newSummary(batchID string) Summary {
	return Summary{Batch: batchID, Counts: ledger.Counts{}, Filings: map[string]int{}}
}

func (s *Summary) add(row *ledger.Row) error {
	s.Rows++
	s.Counts[row.Result]++
	if hasException(row) {
		s.Exceptions++
	}
	if uncovered(row) {
		s.Uncovered++
	}
	if row.Result == filing.Placed {
		for _, item := range row.Items {
			if item.Product != filing.RegisteredAgent {
				s.Filings[cmp.Or(item.FilingStatus, NotReported)]++
			}
		}
	}
	var purse *money.Cost
	switch row.Result {
	case filing.Placed:
		purse = &s.Spent
	case filing.Uncertain, filing.Placing:
		purse = &s.Reserved
	case filing.Ready:
		purse = &s.Needed
	default:
		return nil
	}
	sum, err := purse.Plus(row.Cost)
	if err != nil {
		return fmt.Errorf("add the cost of row %d: %w", row.Number, err)
	}
	*purse = sum
	return nil
}

// Ready counts the rows that are still to be answered. A row that another
// process is placing at this moment is one of them: until its answer is
// recorded, the same command continues with it.
func (s Summary) Ready() int { return s.Counts[filing.Ready] + s.Counts[filing.Placing] }

// MarshalJSON writes the last line of run, submit and status --json: every key
// always, in this order. Rows under way count as ready; spent is plain dollars.
func (s Summary) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Batch     string      `json:"batch"`
		Rows      int         `json:"rows"`
		Placed    int         `json:"placed"`
		Exists    int         `json:"exists"`
		Invalid   int         `json:"invalid"`
		Rejected  int         `json:"rejected"`
		Uncertain int         `json:"uncertain"`
		Ready     int         `json:"ready"`
		Skipped   int         `json:"skipped"`
		Canceled  int         `json:"canceled"`
		Spent     money.Cents `json:"spent"`
		Output    string      `json:"output"`
	}{
		s.Batch, s.Rows, s.Counts[filing.Placed], s.Counts[filing.Exists], s.Counts[filing.Invalid],
		s.Counts[filing.Rejected], s.Counts[filing.Uncertain], s.Ready(), s.Counts[filing.Skipped],
		s.Counts[filing.Canceled], s.Spent.Amount, s.Output,
	})
}

// exitCodes is what a command that has done its work ends with: the first line
// that has a row decides.
var exitCodes = []struct {
	code int
	of   []filing.Result
}{
	{4, []filing.Result{filing.Uncertain}},
	{3, []filing.Result{filing.Ready, filing.Placing}},
	{2, []filing.Result{filing.Invalid, filing.Rejected, filing.Canceled}},
}

// ExitCode is the exit status that the batch's rows call for: 4 where some are
// uncertain, else 3 where some are still ready, else 2 where some need
// correction or are not covered any more, else 0.
func (s Summary) ExitCode() int {
	for _, e := range exitCodes {
		if slices.ContainsFunc(e.of, func(r filing.Result) bool { return s.Counts[r] > 0 }) {
			return e.code
		}
	}
	if s.Uncovered > 0 {
		return 2
	}
	return 0
}
