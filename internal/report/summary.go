package report

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Ledger is the part of the ledger that the report reads.
type Ledger interface {
	Batch(ctx context.Context, id string) (ledger.Batch, error)
	// Results yields the batch's rows in input order. An error ends the sequence.
	Results(ctx context.Context, batch string) iter.Seq2[ledger.Row, error]
	ResultFigures(ctx context.Context, batch string) (ledger.Figures, error)
	Filings(ctx context.Context, batch string) (ledger.Filings, error)
	Balance(ctx context.Context) (ledger.Balance, error)
}

// Summary is a batch in figures.
type Summary struct {
	Batch string
	ledger.Figures
	Filings ledger.Filings
	// Output is the path of the written file. Empty if no file was written.
	Output string
}

// Summarize reads the figures of a batch without writing a file.
func Summarize(ctx context.Context, l Ledger, batchID string) (s Summary, err error) {
	s.Batch = batchID
	if s.Figures, err = l.ResultFigures(ctx, batchID); err == nil {
		s.Filings, err = l.Filings(ctx, batchID)
	}
	return s, err
}

// NotReported is the status of a filing that the filing service has not reported.
const NotReported = "not reported yet"

// FilingStatus counts the filings of one status.
type FilingStatus struct {
	Word string
	Rows int
}

// FilingStatuses lists the statuses that occur. Those in progress come first, and filed comes last.
func FilingStatuses(f ledger.Filings) (all []FilingStatus) {
	known := []string{"", "submitted", "pending"}
	rank := func(status string) int {
		if status == filing.FiledStatus {
			return len(known) + 1
		}
		if at := slices.Index(known, status); at >= 0 {
			return at
		}
		return len(known)
	}
	words := slices.Sorted(maps.Keys(f.Statuses))
	slices.SortStableFunc(words, func(a, b string) int { return rank(a) - rank(b) })
	for _, word := range words {
		all = append(all, FilingStatus{cmp.Or(word, NotReported), f.Statuses[word]})
	}
	return all
}

// MarshalJSON encodes the last line of run, submit and status --json. It always has every key, in
// this order. Rows that another process is placing count as ready, because the same command
// continues with them until their answer is recorded. Spent is plain dollars.
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
		s.Batch, s.Counts.Total(), s.Counts[filing.Placed], s.Counts[filing.Exists], s.Counts[filing.Invalid],
		s.Counts[filing.Rejected], s.Counts[filing.Uncertain], s.Left(), s.Counts[filing.Skipped],
		s.Counts[filing.Canceled], s.Spent.Amount, s.Output,
	})
}

// exitCodes are the exit statuses of a command that has finished its work. The first line with a
// row decides.
var exitCodes = []struct {
	code int
	of   []filing.Result
}{
	{4, []filing.Result{filing.Uncertain}},
	{3, []filing.Result{filing.Ready, filing.Placing}},
	{2, []filing.Result{filing.Invalid, filing.Rejected, filing.Canceled}},
}

// ExitCode returns the exit status for the batch's rows: 4 if some are uncertain, else 3 if some
// are still ready, else 2 if some need correction or are no longer covered, else 0.
func (s Summary) ExitCode() int {
	for _, e := range exitCodes {
		if slices.ContainsFunc(e.of, func(r filing.Result) bool { return s.Counts[r] > 0 }) {
			return e.code
		}
	}
	if s.Filings.Uncovered > 0 {
		return 2
	}
	return 0
}
