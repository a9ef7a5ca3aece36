package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// candidate is a sheet with its header.
type candidate struct {
	sheet.Info
	layout *layout
	head   []sheet.Row
}

// ErrNoRowsNeedAttention is returned for a results workbook without rows that need attention.
var ErrNoRowsNeedAttention = errors.New("no rows need attention")

// sheetFinder finds the sheet with the filings and its header.
type sheetFinder struct {
	file    *editedFile
	options *Options
	matcher *matcher
	// attention and results are the sheets of a results workbook. They are empty for other files.
	attention, results string
	// headCells is the number of cells in the first rows of all sheets. It is counted only if there
	// are many sheets.
	headCells int
	notes     []string
}

func (f *sheetFinder) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

// find chooses the sheet to read. It returns an error if several sheets have filings, because one
// of them would be left out unnoticed.
func (f *sheetFinder) find() (candidate, error) {
	switch {
	case f.options.Sheet != "":
		return f.findNamed()
	case f.results != "":
		return f.findAttention()
	}
	var all, visible, hidden []candidate
	for _, info := range f.file.Sheets() {
		c, err := f.readCandidate(info)
		if err != nil {
			return candidate{}, err
		}
		all = append(all, c)
		switch {
		case c.layout == nil:
		case !info.Visible:
			hidden = append(hidden, c)
		default:
			visible = append(visible, c)
		}
	}
	if withRows := slices.DeleteFunc(slices.Clone(visible),
		func(c candidate) bool { return c.layout.rows == 0 }); len(withRows) > 0 {
		visible = withRows
	}
	visible = f.dropProse(visible)
	if len(visible) > 1 {
		visible = slices.DeleteFunc(visible, func(c candidate) bool { return isOfficersSheet(c.Name) })
	}
	for _, c := range hidden {
		f.note("The hidden sheet %q also contains filings and was not read: %s to read it.", c.Name,
			f.options.remedyText(chooseSheet, c.Name))
	}
	switch len(visible) {
	case 1:
		return f.choose(visible[0])
	case 0:
		return candidate{}, f.noHeader(all, hidden)
	}
	var names []string
	for _, c := range visible {
		names = append(names, c.Name)
	}
	return candidate{}, &sheet.FormatError{
		Reason: "several sheets contain filings: " + text.FirstQuoted(names, maxListed),
		Remedy: f.options.remedyText(eitherSheet, text.FirstQuoted(names, maxListed), strconv.Quote(names[0])),
	}
}

// findAttention chooses the sheet of a results workbook with the rows that need attention.
func (f *sheetFinder) findAttention() (candidate, error) {
	c, err := f.readCandidate(sheet.Info{Name: f.attention, Visible: true})
	if err != nil {
		return candidate{}, err
	}
	if c.layout == nil || c.layout.rows == 0 {
		return candidate{}, &sheet.FormatError{
			File: f.file.Name(), Sheet: f.attention,
			Reason: "this is a results workbook in which no rows need attention",
			Remedy: "To process all of its rows again, " + f.options.remedyText(chooseSheet, f.results) +
				"; rows marked as placed are not sent again",
			Cause: ErrNoRowsNeedAttention,
		}
	}
	if c, err = f.choose(c); err == nil {
		f.note("This is a results workbook: its sheet %q was read.", f.attention)
	}
	return c, err
}

// dropProse removes notes and legends if another sheet clearly has filings. A note or legend is a
// sheet with one or two of our words, or with only a mapped one.
func (f *sheetFinder) dropProse(visible []candidate) []candidate {
	// Both limits are numbers of columns.
	const clearly, hardly = 5, 2
	has := func(is func(*layout) bool) bool {
		return slices.ContainsFunc(visible, func(c candidate) bool { return is(c.layout) })
	}
	isClear := has(func(l *layout) bool { return l.known >= clearly })
	isHeader := has(func(l *layout) bool { return !l.onlyMapped })
	return slices.DeleteFunc(visible, func(c candidate) bool {
		if (!isClear || c.layout.known > hardly) && (!isHeader || !c.layout.onlyMapped) {
			return false
		}
		f.note("The sheet %q looks like notes and was not read: %s if it contains filings.", c.Name,
			f.options.remedyText(chooseSheet, c.Name))
		return true
	})
}

// choose returns a sheet as it is read, with the columns that edits add.
func (f *sheetFinder) choose(c candidate) (_ candidate, err error) {
	if c.layout == nil {
		return candidate{}, f.noHeader([]candidate{c}, nil)
	}
	f.file.chosen = f.file.overlay(c.Name)
	if len(f.file.chosen.edits) == 0 {
		return c, nil
	}
	if err := f.file.addColumns(f.file.chosen, c.layout); err != nil {
		return c, err
	}
	if c.head, err = f.file.head(c.Name); err != nil {
		return c, err
	}
	c.layout.rows = 0
	for i := range c.head {
		c.layout.rows += oneIf(c.head[i].Number > c.layout.row)
	}
	return c, nil
}

// findNamed chooses the sheet that the options name.
func (f *sheetFinder) findNamed() (candidate, error) {
	sheets := f.file.Sheets()
	i := sheetNamed(sheets, f.options.Sheet)
	if i < 0 {
		e := &sheet.FormatError{
			Reason: fmt.Sprintf("there is no sheet %q", f.options.Sheet),
			Remedy: f.options.remedyText(noSheet),
		}
		if f.file.Format() == sheet.XLSX {
			var names []string
			for _, s := range sheets {
				names = append(names, s.Name)
			}
			e.Remedy = "It has " + text.FirstQuoted(names, maxListed)
		}
		return candidate{}, e
	}
	c, err := f.readCandidate(sheets[i])
	if err != nil {
		return candidate{}, err
	}
	return f.choose(c)
}

// readCandidate reads the first rows of a sheet and looks for the header in them.
func (f *sheetFinder) readCandidate(info sheet.Info) (candidate, error) {
	c := candidate{Info: info}
	if f.headCells > maxHeadCells {
		return c, &sheet.FormatError{
			Reason: "the file is too large: its many sheets begin with too many cells",
			Remedy: "Save the sheet that holds filings as a workbook of its own",
		}
	}
	var err error
	if c.head, err = f.file.head(info.Name); err != nil {
		return c, err
	}
	if len(f.file.Sheets()) > manySheets {
		c.head = compact(c.head)
		for i := range c.head {
			f.headCells += len(c.head[i].Cells)
		}
	}
	c.layout = f.matcher.layoutOf(c.head)
	return c, nil
}

// The limits of the rows in memory. If a workbook has many sheets, only the possible header rows of
// each and a few rows below them are kept.
const (
	manySheets = 20
	// maxHeadCells is a limit for all sheets of the workbook.
	maxHeadCells = 1 << 19
)

// compact copies the first rows of a head, so that the memory of the whole block can be freed.
func compact(head []sheet.Row) []sheet.Row {
	head = slices.Clone(head[:min(len(head), 2*headRows)])
	for i := range head {
		head[i].Cells = slices.Clone(head[i].Cells)
		for c := range head[i].Cells {
			head[i].Cells[c].Text = strings.Clone(head[i].Cells[c].Text)
		}
	}
	return head
}

// noHeader returns the error for a file without a recognized header. It lists the rows that were
// found.
func (f *sheetFinder) noHeader(all, hidden []candidate) error {
	var found []string
	for _, c := range all {
		if !c.Visible && len(all) > 1 {
			continue
		}
		content := "no rows"
		if widest := widestRow(c.head); widest != nil {
			var cells []string
			for _, cell := range widest.Cells {
				if cell.Text != "" {
					cells = append(cells, strconv.Quote(shorten(filing.HideSSNs(cell.Text))))
				}
			}
			content = fmt.Sprintf("row %d with %s", widest.Number, text.FirstOf(cells, 8))
		}
		if c.Name != "" {
			content += fmt.Sprintf(" in sheet %q", c.Name)
		}
		if found = append(found, content); len(found) == 5 {
			break
		}
	}
	e := &sheet.FormatError{
		Reason: fmt.Sprintf(
			"none of the first %d rows is a header row with columns such as Company ID, Filing State and Filing "+
				"Year; found %s", headRows, strings.Join(found, "; ")),
		Remedy: f.options.remedyText(nameColumns),
	}
	switch {
	case f.options.HeaderRow > 0:
		e.Reason = fmt.Sprintf("row %d has no recognized headers; found %s", f.options.HeaderRow,
			strings.Join(found, "; "))
	case f.options.HeaderRow == NoHeader:
		e.Reason = "there are no headers, so the columns are unknown; found " + strings.Join(found, "; ")
		e.Remedy = f.options.remedyText(nameAddresses)
	case slices.ContainsFunc(slices.Collect(maps.Keys(f.options.Map)), isAddress):
		e.Remedy = f.options.remedyText(chooseHeaderRow)
	}
	if len(hidden) > 0 {
		e.Remedy = fmt.Sprintf("The hidden sheet %q contains filings: %s to read it", hidden[0].Name,
			f.options.remedyText(chooseSheet, hidden[0].Name))
	}
	return e
}

// widestRow returns the row that is most likely the header of a sheet without a recognized header.
// By default it is the first row with the most cells.
func widestRow(rows []sheet.Row) *sheet.Row {
	if at, ok := likelyHeader(rows); ok {
		return &rows[at]
	}
	var best *sheet.Row
	most := 0
	for i := range rows[:min(len(rows), headRows)] {
		filled := 0
		for _, c := range rows[i].Cells {
			filled += oneIf(c.Text != "")
		}
		if filled > most {
			best, most = &rows[i], filled
		}
	}
	return best
}

// shorten cuts the text of a cell for a message.
func shorten(s string) string { return text.Shorten(s, 31) }

// survey describes all sheets and reads their first rows.
func (f *sheetFinder) survey() (sheets []SheetSurvey, all []candidate) {
	if f.headCells > maxHeadCells {
		// find has returned the reason.
		return nil, nil
	}
	f.headCells = 0
	for _, info := range f.file.Sheets() {
		// find has returned the error, or a worse one.
		c, _ := f.readCandidate(info)
		sheets = append(sheets, SheetSurvey{Name: info.Name, Visible: info.Visible, Filings: c.layout != nil})
		all = append(all, c)
	}
	return sheets, all
}

// guess chooses the likeliest sheet of filings and the likeliest header row. The layout is nil if
// all rows are blank.
func (f *sheetFinder) guess(all []candidate) (best candidate) {
	rank := func(c *candidate) int {
		switch {
		case len(c.head) == 0:
			return 0
		case c.Name != "" && strings.EqualFold(c.Name, f.options.Sheet):
			return 4
		case c.layout != nil && c.Visible:
			return 3
		case c.Visible:
			return 2
		}
		return 1
	}
	for i := range all {
		if rank(&all[i]) > rank(&best) {
			best = all[i]
		}
	}
	if best.layout != nil || len(best.head) == 0 {
		return best
	}
	m := f.matcher
	at, ok := likelyHeader(best.head)
	if m.headerRow > 0 {
		at = slices.IndexFunc(best.head, func(r sheet.Row) bool { return r.Number == int(m.headerRow) })
		ok = at >= 0
	}
	if !ok || m.headerRow == NoHeader {
		best.layout = m.layoutWithoutHeader(best.head)
		return best
	}
	best.layout = m.read(best.head[at].Cells, nil)
	m.applyMap(best.layout, best.head)
	best.layout.row, best.layout.rows = best.head[at].Number, len(best.head)-at-1
	return best
}
