package importer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// RowAt is a row of one sheet of a file, or one remark on the row.
type RowAt struct {
	// Sheet is empty in a CSV.
	Sheet string
	// Row is the number that a spreadsheet program shows.
	Row int
	// Remark has the form of Problem.Remark. It is empty if the RowAt is the row itself.
	Remark string
}

// MarshalText writes the row as Sheet!5, or as 5 without a sheet. A remark follows on a second
// line.
func (r RowAt) MarshalText() ([]byte, error) {
	text := strconv.Itoa(r.Row)
	if r.Sheet != "" {
		text = r.Sheet + "!" + text
	}
	if r.Remark != "" {
		text += "\n" + r.Remark
	}
	return []byte(text), nil
}

// UnmarshalText reads the output of MarshalText.
func (r *RowAt) UnmarshalText(text []byte) (err error) {
	whole, remark, _ := strings.Cut(string(text), "\n")
	cut := strings.LastIndexByte(whole, '!')
	*r = RowAt{Sheet: whole[:max(cut, 0)], Remark: remark}
	if r.Row, err = strconv.Atoi(whole[cut+1:]); err != nil {
		return fmt.Errorf("read the row %q: %w", whole, err)
	}
	return nil
}

// Exclusions are the rows that people excluded, and the remarks in spite of which people file a
// row. The values are the names of the people.
type Exclusions map[RowAt]string

// By returns the name of the person who excluded a row of a sheet. It is empty if the row is not excluded.
func (e Exclusions) By(sheet string, row int) string { return e[RowAt{Sheet: sheet, Row: row}] }

// checkFilters returns an error for a filter of a column that is sent or that the sheet does not
// have.
func (im *Import) checkFilters() error {
	for _, filter := range slices.Concat(im.options.Exclude, im.options.Include) {
		column, _, ok := strings.Cut(filter, "=")
		folded := foldHeader(column)
		if !ok || folded != foldHeader(commentColumn) && folded != foldHeader(headingColumn) &&
			!slices.ContainsFunc(im.mapping.remarkColumns,
				func(c remarkColumn) bool { return foldHeader(c.binding.mapName) == folded }) {
			return refused(`%q must be a column that is not sent and a text of it, such as "Status=Void"`, filter)
		}
	}
	return nil
}

// selects returns the filter that selects a text of a column, or an empty text. It ignores case,
// spaces and punctuation. A filter that ends with * selects the texts that begin with it.
func (im *Import) selects(filters []string, column, text string) string {
	for _, filter := range filters {
		of, wanted, _ := strings.Cut(filter, "=")
		if foldHeader(of) != foldHeader(column) {
			continue
		}
		begin, isBegin := strings.CutSuffix(wanted, "*")
		if folded := filing.FoldName(text); folded == filing.FoldName(wanted) ||
			isBegin && strings.HasPrefix(folded, filing.FoldName(begin)) {
			im.selected[filter] = true
			return filter
		}
	}
	return ""
}

// unselected returns notes on the filters that select no row. All rows must have been read.
func (im *Import) unselected() (notes []string) {
	for _, filter := range slices.Concat(im.options.Exclude, im.options.Include) {
		if im.selected != nil && !im.selected[filter] {
			notes = append(notes, fmt.Sprintf("ATTENTION: no row has %q.", filter))
		}
	}
	return notes
}
