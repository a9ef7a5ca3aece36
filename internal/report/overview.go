package report

import (
	"cmp"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// overview is the content of Summary, before its cells are written.
type overview struct {
	batch   ledger.Batch
	summary Summary
	book    ledger.Balance
	// rehearsal reports whether the results are those of a rehearsal.
	rehearsal bool
}

// fact is a line of the head, with a name and a value.
type fact struct{ name, value string }

func (o *overview) facts() []fact {
	facts := []fact{{"File", o.batch.File}}
	if o.batch.Sheet != "" {
		facts = append(facts, fact{"Sheet", o.batch.Sheet})
	}
	facts = append(facts, fact{"Product", productTitle(o.batch.Product)})
	facts = append(facts, fact{"Batch", o.batch.ID}, fact{"State", o.state()})
	read := text.UTC(o.batch.CreatedAt)
	if o.batch.CreatedBy != "" {
		read += " by " + o.batch.CreatedBy
	}
	facts = append(facts, fact{"Read", read})
	if at := o.summary.Changed; !at.IsZero() {
		facts = append(facts, fact{"Last change", text.UTC(at)})
	}
	return facts
}

// state describes the batch as a whole.
func (o *overview) state() string {
	switch {
	case o.batch.Canceled:
		return "canceled"
	case o.batch.Paused:
		return "paused"
	case !o.batch.Open:
		return "still being read: rows are missing in this file"
	case o.summary.Left() > 0:
		return "not finished"
	}
	return "finished"
}

// sum is a line of the section Money.
type sum struct {
	name   string
	figure sheet.OutCell
	note   string
}

func (o *overview) sums() []sum {
	s := o.summary
	sums := []sum{
		{"Spent", amount(s.Spent), "all that was charged, also for rows that are uncertain"},
		{"Reserved", amount(s.Reserved),
			"for " + text.Count(s.Counts[filing.Uncertain]+s.Counts[filing.Placing], "row") +
				" uncertain or being sent; may have been spent"},
		{"Still needed", amount(s.Needed), "for " + text.Count(s.Counts[filing.Ready], "ready row")},
	}
	if !o.book.HasDeposit {
		return append(sums, sum{"Funds available", sheet.Str("unknown").WithStyle(sheet.StyleGrey),
			"no deposit is recorded"})
	}
	available := o.book.Available()
	funds := sheet.Money(int64(available))
	switch {
	case o.book.Unsure():
		funds.Format = `"at most $"#,##0.00;"at most -$"#,##0.00`
	case o.book.Certainty == money.Estimated:
		funds.Format = `"about $"#,##0.00;"about -$"#,##0.00`
	}
	sums = append(sums, sum{"Funds available", funds,
		"of the whole account, over all batches: recorded deposits less everything spent and reserved"})
	if short := s.Needed.Amount - available; s.Needed.Amount > 0 && short > 0 {
		cost := money.Cost{Amount: short, Certainty: max(s.Needed.Certainty, o.book.Certainty)}
		sums = append(sums, sum{"To deposit", amount(cost), "before all ready rows can be placed"})
	}
	return sums
}

// steps lists the remaining steps, the most urgent first.
func (o *overview) steps() []string {
	s := o.summary
	if o.rehearsal {
		return []string{"Correct the spreadsheet if rows need it, then run or upload the spreadsheet itself."}
	}
	var steps []string
	if n := s.Counts[filing.Uncertain]; n > 0 {
		steps = append(
			steps, fmt.Sprintf("Resolve %s, on the page under Uncertain. Do not order them again by other means. "+
				"They are amber on Results.", text.Count(n, "uncertain row")))
	}
	if n := s.Counts[filing.Invalid] + s.Counts[filing.Rejected]; n > 0 {
		steps = append(
			steps, fmt.Sprintf(
				"Correct %s on Needs Attention, save, and run this workbook; placed rows are not sent twice.",
				text.Count(n, "row")))
	}
	if s.Filings.Exceptions > 0 {
		steps = append(
			steps, fmt.Sprintf(
				"Check %s with a filing exception on Needs Attention, which says what is wrong and what to enter in "+
					"the company's dashboard. They are bought; do not order them again.",
				text.Count(s.Filings.Exceptions, "row")))
	}
	if n := s.Left(); n > 0 && !o.batch.Canceled {
		verb := "run or upload the same file again"
		if o.batch.Paused {
			verb = "resume the batch"
		}
		steps = append(steps, fmt.Sprintf("Continue with %s: %s.", text.Count(n, "waiting row"), verb))
	}
	if len(steps) == 0 {
		steps = append(steps, "Nothing. Every row has a result.")
	}
	return steps
}

func productTitle(p filing.Product) string { return text.Capital(cmp.Or(p.Title(), string(p))) }

const overviewSheet = "Summary"

// write writes the sheet: the head, the rows by result, the money, and the remaining steps, in the
// columns name, figure, a gap, and note.
func (o *overview) write(book *sheet.Workbook, name string) error {
	w, err := book.Sheet(name, sheet.SheetOptions{
		Widths: []float64{18, 20, 2, 78, 3}, TabColor: "2E9E5B", NoGrid: true, Active: o.rehearsal,
	})
	if err != nil {
		return err
	}
	title := cmp.Or(productTitle(o.batch.Product), "Filings") + ": results"
	if o.rehearsal {
		title = "REHEARSAL. Nothing was filed or charged. The orders are those of a sandbox."
	}
	lines := [][]sheet.OutCell{
		{sheet.Str(title).WithStyle(sheet.StyleTitle)},
		{},
	}
	for _, f := range o.facts() {
		lines = append(lines, []sheet.OutCell{sheet.Str(f.name).WithStyle(sheet.StyleGrey), sheet.Str(f.value)})
	}
	lines = append(lines, nil, heading("Result", "Rows", "What it means"))
	for _, r := range filing.Results {
		n := o.summary.Counts[r]
		line := []sheet.OutCell{sheet.Str(string(r)).WithStyle(styles[r]), sheet.Int(int64(n)), {},
			sheet.Str(verdicts[r].meaning)}
		if n == 0 {
			for i := range line {
				line[i].Style = sheet.StyleGrey
			}
		}
		lines = append(lines, line)
	}
	lines = append(lines,
		[]sheet.OutCell{
			sheet.Str("total").WithStyle(sheet.StyleBold),
			sheet.Int(int64(o.summary.Counts.Total())).WithStyle(sheet.StyleBold),
		},
		nil)
	if statuses := FilingStatuses(o.summary.Filings); len(statuses) > 0 {
		lines = append(lines, heading("Filing status", "Filings", "What it means"))
		for _, status := range statuses {
			lines = append(lines, []sheet.OutCell{sheet.Str(status.Word), sheet.Int(int64(status.Rows)), {},
				sheet.Str(statusMeanings[status.Word])})
		}
		lines = append(lines, nil)
	}
	lines = append(lines, heading("Money", "Amount", "What it means"))
	for _, s := range o.sums() {
		lines = append(lines, []sheet.OutCell{sheet.Str(s.name), s.figure, {}, sheet.Str(s.note)})
	}
	lines = append(lines, nil, heading("What to do next", "", ""))
	for _, step := range o.steps() {
		lines = append(lines, []sheet.OutCell{sheet.Str(step)})
	}
	for _, line := range lines {
		if err := w.Row(line...); err != nil {
			return err
		}
	}
	return nil
}

// statusMeanings explain the known statuses. The service may add others.
// Source: spec section 3.
var statusMeanings = map[string]string{
	NotReported:        "Placed; the filing service has not reported a status yet",
	"submitted":        "Accepted by the filing service, not yet sent to the state",
	"pending":          "With the state",
	filing.FiledStatus: "Accepted by the state; the date is beside each row",
}

// heading returns the band above a block, with the headers of the name, figure and note columns.
func heading(name, figure, note string) []sheet.OutCell {
	band := []sheet.OutCell{sheet.Str(name), sheet.Str(figure), {}, sheet.Str(note)}
	for i := range band {
		band[i].Style = sheet.StyleHeader
	}
	band[1].Style = sheet.StyleHeaderRight
	return band
}
