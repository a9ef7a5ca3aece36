package importer

import (
	"context"
	"fmt"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// Tally counts rows by result. Its JSON is the last line of check --json.
type Tally struct {
	Rows    int `json:"rows"`
	Ready   int `json:"ready"`
	Invalid int `json:"invalid"`
	Skipped int `json:"skipped"`
}

func (t *Tally) add(r filing.Result) {
	t.Rows++
	switch r {
	case filing.Ready:
		t.Ready++
	case filing.Invalid:
		t.Invalid++
	case filing.Skipped:
		t.Skipped++
	}
}

// Check reads all rows and calls fn with every problem.
func (im *Import) Check(ctx context.Context, fn func(Problem) error) (Tally, error) {
	var t Tally
	err := im.Each(ctx, func(r *Row) error {
		t.add(r.Result)
		for i := range r.Problems {
			if err := fn(r.Problems[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return t, err
}

// Each calls fn with every row below the header that is not blank, in the order of the sheet. A row
// and its pointers are valid until fn returns. Only strings may be kept.
//
// Each returns a *sheet.FormatError if the sheet cannot be read to its end. The rows before the
// error are not reliable either.
func (im *Import) Each(ctx context.Context, fn func(*Row) error) error {
	return hideInError(im.each(ctx, false, fn))
}

// each is Each, except that fn may keep the rows if keep is set.
func (im *Import) each(ctx context.Context, keep bool, fn func(*Row) error) error {
	if im.repeats == nil {
		repeats, err := im.findRepeats(func(do func(*Row) error) error { return im.readRows(ctx, false, do) })
		if err != nil {
			return err
		}
		im.repeats = repeats
	}
	final := im.newFinalPass(im.repeats)
	defer final.note()
	return im.readRows(ctx, keep, func(r *Row) error {
		final.addRow(r)
		return fn(r)
	})
}

// readRows calls fn with the checked rows. The rows are not compared with each other. fn may keep
// them if keep is set.
func (im *Import) readRows(ctx context.Context, keep bool, fn func(*Row) error) error {
	checker := im.newChecker()
	row, request := new(Row), new(draft)
	return im.file.eachRow(im.sheet, func(in *sheet.Row) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if in.Number <= im.layout.row {
			return nil
		}
		if keep {
			row, request = new(Row), new(draft)
		}
		if checker.check(in, row, request); row.notInRun {
			return nil
		}
		return fn(row)
	})
}

// finalPass compares each row with the others and collects the notes on the whole file.
type finalPass struct {
	im           *Import
	repeats      *repeats
	rows         int
	hidden       int
	noAgent      int
	newCompanies int
	// notFilings are row numbers. The first few include their text.
	notFilings []string
}

func (im *Import) newFinalPass(r *repeats) *finalPass { return &finalPass{im: im, repeats: r} }

// addRow adds the next row of the sheet.
func (l *finalPass) addRow(r *Row) {
	l.repeats.assignCompany(r)
	l.repeats.judge(r)
	l.rows++
	switch {
	case r.Result == filing.Ready:
		l.noAgent += oneIf(r.noAgent)
		l.newCompanies += oneIf(r.createsCompany)
	case r.notAFiling && len(l.notFilings) < quotedRows:
		l.notFilings = append(l.notFilings, fmt.Sprintf("%d (%s)", r.Number, l.quote(r)))
	case r.notAFiling:
		l.notFilings = append(l.notFilings, strconv.Itoa(r.Number))
	}
	if r.hidden && !r.notAFiling {
		l.hidden++
	}
}

// quotedRows is how many rows that are not filings are quoted.
const quotedRows = 5

// quote returns the first text of a row, quoted.
func (l *finalPass) quote(r *Row) string {
	for _, cell := range l.im.mapping.masked(r.Cells) {
		if cell.Text != "" {
			return strconv.Quote(text.Shorten(filing.HideSSNs(cell.Text), 61))
		}
	}
	return ""
}

// note sets the notes on the rows.
func (l *finalPass) note() {
	var notes []string
	if short := l.im.shortYear; short != "" {
		notes = append(notes, "Two-digit years in dates are read as 1930 to 2029, as in Excel: "+short+".")
	}
	switch {
	case l.hidden > 0 && l.im.options.VisibleOnly:
		notes = append(notes, text.CountOf(l.hidden, "row is", "rows are")+
			" hidden (manually or by a filter) and left out.")
	case l.hidden > 0:
		notes = append(
			notes, fmt.Sprintf(
				"ATTENTION: %d of %d rows are hidden (manually or by a filter) and will be filed too: %s to leave "+
					"them out.", l.hidden, l.rows-len(l.notFilings), l.im.options.remedyText(visibleOnly)))
	}
	if l.noAgent > 0 {
		notes = append(notes, text.CountOf(l.noAgent,
			"row does not name a registered agent. It goes", "rows do not name a registered agent. They go")+
			" through only if the filing service already has one on file.")
	}
	if l.newCompanies > 0 {
		notes = append(notes, text.CountOf(l.newCompanies, "row has no Company ID. Its company is",
			"rows have no Company ID. Their companies are")+" created from the spreadsheet.")
	}
	if n := len(l.notFilings); n > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s.",
			text.CountOf(n, "row is not a filing and was skipped", "rows are not filings and were skipped"),
			text.FirstOf(l.notFilings, maxListed)))
	}
	l.im.found = notes
}

// maxListed is how many row numbers or names a note lists.
const maxListed = 20

// oneIf returns 1 if is is true and 0 otherwise.
func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}
