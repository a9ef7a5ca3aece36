package importer

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// Survey describes how a file is understood from its first rows. A person checks it and corrects it
// with Options.Map, Options.Sheet and Options.Product.
type Survey struct {
	// File is the name of the file without folders.
	File   string
	Sheets []SheetSurvey
	// Sheet is the sheet that is read, or the likeliest one. It is empty for a CSV.
	Sheet string
	// HeaderRow is the number of the header row, or of the likeliest one. It is 0 if no row can be
	// the header.
	HeaderRow int
	// Head are the rows that may be the header, without blank rows.
	Head []HeadRow
	// Columns has no blank columns.
	Columns []ColumnSurvey
	// Rows is the number of rows below the header that are not blank. It is -1 if there are more
	// than 2,000.
	Rows int
	// Product is empty if it was neither given nor detected.
	Product filing.Product
	// Notes are notes on the file, see [Import.Notes].
	Notes []string
	// Err is the error that Open would return, as far as the first rows show. It is usually a
	// *sheet.FormatError.
	Err error
}

// HeadRow is one of the first rows of a sheet, which may be its header.
type HeadRow struct {
	Number int
	// Texts are the first cells that are not blank. They are shortened, and Social Security numbers
	// are hidden.
	Texts []string
}

// SheetSurvey is a sheet of the file. A CSV has one sheet without a name.
type SheetSurvey struct {
	Name    string
	Visible bool
	// Filings reports whether the sheet has the header of a sheet of filings.
	Filings bool
}

// ColumnSurvey is a column and its meaning.
type ColumnSurvey struct {
	// Index counts from 0.
	Index int
	// Letter is the column's letter, such as "C".
	Letter string
	// Header is the header in the sheet, which may be empty.
	Header string
	// Map is the name of the column in Options.Map.
	Map string
	// Column is the column of ours as which it is read. Empty if it is not used.
	Column string
	// Certain reports whether the header is ours, or the filing service's field. ByContent reports
	// whether the column was recognized by the form of its values.
	Certain, ByContent bool
	// Note is the reason why it is not used, or the condition of its use. It is a clause without a
	// full stop.
	Note string
	// Suggest is the column of ours that it may be.
	Suggest string
	// Samples are up to three values. They are shortened, and Social Security numbers are hidden.
	Samples []string
	// Secret reports whether the column holds Social Security numbers.
	Secret bool
}

// SurveyReader reads the first rows of a file and describes how they are understood. It succeeds
// even if Open would fail because no header or product is recognized or several sheets have
// filings. It returns an error for invalid options and for content that is not a spreadsheet.
func SurveyReader(name string, r io.ReaderAt, size int64, o Options) (*Survey, error) {
	f, err := sheet.OpenReader(name, r, size, sheet.Limits{})
	if err != nil {
		return nil, hideInError(err)
	}
	im, err := o.begin(f)
	if err != nil {
		return nil, hideInError(err)
	}
	s := &Survey{File: im.file.Name(), Rows: -1, Err: hideInError(im.recognize())}
	var all []candidate
	s.Sheets, all = im.finder.survey()
	if im.layout == nil {
		c := im.finder.guess(all)
		if im.sheet, im.layout, im.head = c.Name, c.layout, c.head; im.layout == nil {
			s.Notes = im.Notes()
			return s, nil
		}
	}
	if im.product == "" {
		// s.Err has the reason, or a worse one.
		_ = im.findProduct()
	}
	if im.mapping == nil && im.product != "" {
		im.mapping, _, _ = bind(im.layout, im.product, &im.options)
	}
	s.Sheet, s.HeaderRow, s.Product = im.sheet, im.layout.row, im.product
	s.Rows = im.countRows()
	s.Head = headRowsOf(im.head)
	s.Columns = im.newSurveyor().columns()
	s.Notes = im.Notes()
	return s, nil
}

// headRowsOf returns the rows that may be the header.
func headRowsOf(head []sheet.Row) (all []HeadRow) {
	// most is the maximal number of cells.
	const most = 8
	for i := range head[:min(len(head), headRows)] {
		row := HeadRow{Number: head[i].Number}
		for _, c := range head[i].Cells {
			if c.Kind != sheet.Blank && len(row.Texts) < most {
				row.Texts = append(row.Texts, shorten(filing.HideSSNs(c.Text)))
			}
		}
		if row.Number <= headRows && row.Texts != nil {
			all = append(all, row)
		}
	}
	return all
}

// countRows counts the rows below the header, up to a limit.
func (im *Import) countRows() (n int) {
	const most = 2000
	o := im.file.overlay(im.sheet)
	err := im.file.EachRow(im.sheet, func(row *sheet.Row) error {
		if n += oneIf(o.apply(row) && row.Number > im.layout.row); n > most {
			return sheet.ErrSkipRest
		}
		return nil
	})
	if err != nil || n > most {
		return -1
	}
	return n
}

// likelyHeader finds the likeliest header row if no cell of the header is known. It is the first
// row that has nearly as many words as any row and differs from the rows below it.
func likelyHeader(rows []sheet.Row) (at int, ok bool) {
	words := make([]int, min(len(rows), headRows))
	most := 0
	for i := range words {
		words[i] = countWords(rows[i].Cells, rows[i+1:min(len(rows), i+1+headRows)])
		most = max(most, words[i])
	}
	for i, n := range words {
		if n > 0 && n*3 >= most*2 {
			return i, true
		}
	}
	return 0, false
}

// countWords counts the cells of a row that may be headers. It returns 0 if the row is unlikely to
// be a header. Such a row has an address, an ID, or values that are repeated below.
func countWords(cells []sheet.Cell, below []sheet.Row) (words int) {
	filled, again := 0, 0
	for i, c := range cells {
		if c.Kind == sheet.Blank {
			continue
		}
		filled++
		if filing.IsEmail(c.Text) || filing.IsCompanyID(c.Text) || filing.IsUserID(c.Text) {
			return 0
		}
		words += oneIf(isWord(c))
		again += oneIf(slices.ContainsFunc(below, func(r sheet.Row) bool {
			return i < len(r.Cells) && r.Cells[i].Kind != sheet.Blank && strings.EqualFold(r.Cells[i].Text, c.Text)
		}))
	}
	if words*2 < filled || again*4 > filled {
		return 0
	}
	return words
}

// isWord reports whether a cell may be a header.
func isWord(c sheet.Cell) bool {
	if c.Kind != sheet.Text {
		return false
	}
	letters, digits := 0, 0
	for _, r := range c.Text {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsDigit(r):
			digits++
		}
	}
	return letters > digits
}

// surveyor describes the columns of a sheet.
type surveyor struct {
	layout *layout
	head   []sheet.Row
	// product is empty and mapping is nil if they are not known.
	product  filing.Product
	mapping  *mapping
	resolved []heading
	claims   map[columnID][]heading
	// hasSecrets reports whether the sheet has Social Security numbers.
	hasSecrets bool
}

func (im *Import) newSurveyor() *surveyor {
	s := &surveyor{layout: im.layout, head: im.head, product: im.product, mapping: im.mapping}
	s.resolved, s.claims = im.layout.claims()
	s.hasSecrets = slices.ContainsFunc(s.resolved, func(h heading) bool { return h.isSecret() })
	return s
}

// columns describes the meaning of each column.
func (s *surveyor) columns() (all []ColumnSurvey) {
	width := len(s.resolved)
	for i := range s.head {
		if s.head[i].Number > s.layout.row {
			width = max(width, len(s.head[i].Cells))
		}
	}
	for i := range width {
		h := heading{index: i, wording: wording{none, unknown}}
		if i < len(s.resolved) {
			h = s.resolved[i]
		}
		c := ColumnSurvey{
			Index:  i,
			Letter: sheet.ColumnName(i),
			Header: h.text,
			Map:    s.layout.mapName(&h),
			Secret: h.isSecret(),

			Certain:   h.strength == exact,
			ByContent: h.byContent,
		}
		if s.layout.row == 0 {
			c.Header = ""
		}
		c.Samples = s.samples(&h)
		if c.Header == "" && c.Samples == nil {
			continue
		}
		if h.column == none {
			s.describeUnused(&c, &h)
			s.suggestByValues(&c, &h)
		} else {
			s.describeUsed(&c, &h)
		}
		all = append(all, c)
	}
	return all
}

// tellingValues are columns that are recognizable by their values. Some of them also need a word in
// the header.
var tellingValues = []struct {
	column columnID
	is     func(string) bool
	// words are beginnings of words of the header. Nil if any header is possible.
	words []string
}{
	{companyID, filing.IsCompanyID, nil},
	{userID, filing.IsUserID, nil},
	{userEmail, filing.IsEmail, nil},
	{entityType, func(s string) bool { _, ok := filing.ParseEntityType(s); return ok }, nil},
	{filingState, func(s string) bool { _, ok := filing.ParseState(s); return ok }, nil},
	{filingYear, func(s string) bool { return len(s) == 4 && isDigits(s) && strings.HasPrefix(s, "20") }, nil},
	{legalName, endsAsCompany, nil},
	{formationDate, isDate, []string{"inc", "form", "organi", "regist", "establ", "found"}},
}

// isDate reports whether a text is a date in one of the forms that are read.
func isDate(s string) bool {
	day, ok := dayIn(s, dateForms...)
	_, first := dayFirst(s)
	_, short := shortYear(s)
	return ok && day.Year() >= 1000 || first || short
}

// suggestByValues suggests a column of ours if all values of an unused column fit it and no other
// column is read as it. The values count more than a header that is only close to the header of
// another column.
func (s *surveyor) suggestByValues(c *ColumnSurvey, h *heading) {
	if h.strength == mapped || c.Secret || resultColumns[h.folded] {
		return
	}
	words := headerWords(h.text)
	for _, t := range tellingValues {
		begins := func(begin string) bool {
			return slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, begin) })
		}
		if s.claims[t.column] == nil && (t.words == nil || slices.ContainsFunc(t.words, begins)) &&
			s.layout.all(t.is, h.index, s.head) {
			c.Suggest = columns[t.column].header
			if h.strength == weak {
				c.Note = "not known"
			}
			return
		}
	}
}

// isSecret reports whether a column holds Social Security numbers.
func (h *heading) isSecret() bool {
	return h.column != none && columns[h.column].kind == ssnKind || filing.IsSSNHeader(h.text)
}

// describeUnused sets the reason why a column is not used.
func (s *surveyor) describeUnused(c *ColumnSurvey, h *heading) {
	switch near, ok := s.layout.suggest(h, s.head); {
	case h.strength == mapped:
		c.Note = "left out by hand"
	case h.outside:
		c.Note = "it is beside the table"
	case c.Header == "":
		c.Note = "it has no header"
	case h.strength == weak:
		c.Note = "another column is a closer match"
	case s.layout.isJurisdiction(h, s.head) && (s.mapping == nil || s.mapping.binding(filingState) == nil):
		c.Note = "the state of each filing, or that in which the company was formed"
		c.Suggest = columns[filingState].header
	case resultColumns[h.folded]:
		c.Note = "a result column, which is filled in again"
	case ok:
		c.Note, c.Suggest = "not known", columns[near].header
	default:
		c.Note = "not known"
	}
}

// describeUsed sets the meaning of a known column, or the reason why it is not used.
func (s *surveyor) describeUsed(c *ColumnSurvey, h *heading) {
	column := &columns[h.column]
	winner, rivals := strongest(s.claims[h.column])
	used := s.product == "" || column.has(s.product)
	if s.mapping != nil {
		used = s.mapping.binding(h.column) != nil
	}
	c.Column = column.header
	switch {
	case !used:
		c.Column, c.Note = "", fmt.Sprintf("%s is not used for %s", column.header, article(s.product))
	case winner.index != h.index && h.strength < winner.strength:
		c.Column, c.Note = "", fmt.Sprintf("%s is a closer match for %s", winner.name(s.layout.row),
			column.header)
	case len(rivals) > 0 && (s.mapping == nil || s.mapping.binding(h.column).index != h.index):
		other := winner
		if winner.index == h.index {
			other = rivals[0]
		}
		c.Column, c.Note = "", fmt.Sprintf("%s also matches %s", other.name(s.layout.row), column.header)
	case s.mapping != nil && s.product != filing.Formation &&
		(column.part == ofCompany && s.mapping.partOf(column) == ofCompany || column.part == ofOfficers) &&
		s.mapping.binding(companyID) != nil:
		c.Note = "used only for rows without a Company ID, whose companies are created"
	}
}

// samples returns some values of a column.
func (s *surveyor) samples(h *heading) (all []string) {
	const most = 3
	for text := range s.layout.values(h.index, s.head) {
		// The cell is a formula without a result.
		if text == "" {
			continue
		}
		if shown := s.sample(h, text); !slices.Contains(all, shown) {
			all = append(all, shown)
		}
		if len(all) == most {
			break
		}
	}
	return all
}

// sample returns a value in a form that may be shown. Nine digits may be a Social Security number
// if the column is unknown or the sheet has Social Security numbers.
func (s *surveyor) sample(h *heading, text string) string {
	if stray := h.column != none && s.hasSecrets && len(text) == 9 && isDigits(text) &&
		columns[h.column].kind != zipKind && columns[h.column].kind != companyKind; stray || h.isSecret() {
		return filing.MaskSSN(text)
	}
	return shorten(h.hiding()(text))
}

// ColumnNames lists the columns that a product uses. For an empty product it lists all columns.
func ColumnNames(p filing.Product) (all []string) {
	for i := range columns {
		if c := &columns[i]; p == "" || c.has(p) {
			all = append(all, c.header)
		}
	}
	return all
}
