package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/sheet"
)

// headRows is how far down a sheet its header is looked for.
const headRows = 30

// HeaderRow is the number of the row that holds the headers. The zero value is
// the row that looks like it.
type HeaderRow int

// NoHeader is said of a sheet that begins with its first company: its columns are
// named in Options.Map.
const NoHeader HeaderRow = -1

// Set reads what String writes: a number, "none" for NoHeader, or nothing.
func (h *HeaderRow) Set(s string) error {
	n, err := strconv.Atoi(s)
	switch {
	case s == "":
		*h = 0
	case strings.EqualFold(s, "none"):
		*h = NoHeader
	case err != nil || n < 1 || n > headRows:
		return fmt.Errorf("the header row must be a number from 1 to %d, or none", headRows)
	default:
		*h = HeaderRow(n)
	}
	return nil
}

func (h HeaderRow) String() string {
	switch h {
	case 0:
		return ""
	case NoHeader:
		return "none"
	}
	return strconv.Itoa(int(h))
}

// Type is what a command's help calls the value.
func (HeaderRow) Type() string { return "row" }

// heading is one cell of the header row and what it means.
type heading struct {
	text           string // as it was given, Social Security numbers hidden; with the group above it where that was needed
	folded         string
	index          int
	followsAddress bool // told by the address it stands behind
	noAddress      bool // a bare word of several, behind no address
	wording
}

// layout is where the header of a sheet stands and what its cells mean.
type layout struct {
	row        int // its row number
	rows       int // how many rows there are in the head of the sheet after it
	headings   []heading
	known      int // how many columns of the table it has
	score      int
	onlyMapped bool // it is one only because a person said what its cells mean
}

// headers are the texts of the header row, one for each column up to the last.
func (l *layout) headers() []string {
	all := make([]string, len(l.headings))
	for i, h := range l.headings {
		all[i] = h.text
	}
	return all
}

// cell is the address of a header; that of its column where there is none.
func (l *layout) cell(index int) string {
	if l.row == 0 {
		return columnName(index)
	}
	return sheet.CellName(index, l.row)
}

// mapName is what Options.Map calls a column: its header, unless that is blank,
// another's too, or not to be kept.
func (l *layout) mapName(h *heading) string {
	if l.row == 0 || h.folded == "" || h.folded != foldHeader(h.text) && strings.Contains(h.text, "***") ||
		slices.ContainsFunc(l.headings, func(o heading) bool { return o.index != h.index && o.folded == h.folded }) {
		return columnName(h.index)
	}
	return h.text
}

// matcher says what headers mean, after what the user said they mean.
type matcher struct {
	byHeader  map[string]columnID // by folded header; none where the column is to be ignored
	byColumn  map[int]columnID    // the same by column
	headerRow HeaderRow
}

// newMatcher takes the pairs of --map, their header or column to ours. Ours may
// be empty or "-": the column is ignored.
func newMatcher(o *Options) (*matcher, error) {
	m := &matcher{byHeader: make(map[string]columnID, len(o.Map)), byColumn: make(map[int]columnID), headerRow: o.HeaderRow}
	for theirs, ours := range o.Map {
		id := none
		if ours = strings.TrimSpace(ours); ours != "" && ours != "-" {
			w, ok := wordings[filing.FoldName(ours)]
			if !ok || w.strength < exact {
				return nil, fmt.Errorf("--map %q: there is no column %q%s", theirs+"="+ours, ours, didYouMean(ours))
			}
			id = w.column
		}
		if i, ok := columnAddress(theirs); ok {
			m.byColumn[i] = id
		} else {
			m.byHeader[foldHeader(theirs)] = id
		}
	}
	return m, nil
}

// columnAddress reads a column as a spreadsheet program writes it, "F:F": for one
// whose header is blank, or another's too.
func columnAddress(s string) (index int, ok bool) {
	from, to, _ := strings.Cut(s, ":")
	index, ok = sheet.ColumnIndex(from)
	return index, ok && strings.EqualFold(from, to)
}

func isAddress(s string) bool {
	_, ok := columnAddress(s)
	return ok
}

// columnName is a column as columnAddress reads it.
func columnName(index int) string { return sheet.ColumnName(index) + ":" + sheet.ColumnName(index) }

func (m *matcher) means(text string) wording {
	folded := foldHeader(text)
	if id, ok := m.byHeader[folded]; ok {
		return wording{id, mapped}
	}
	if w, ok := wordingOf(text); ok {
		return w
	}
	return wording{none, unknown}
}

// layoutOf finds the header among the first rows of a sheet: the row with the
// most columns that are known, the first of several. Titles above it hold
// none; a row of groups over it ("Agent", below it "Street", "City") lends its
// words where they make a header known.
//
// Where a person said which row it is, or that there is none, it is that one if
// anything in it is known.
func (m *matcher) layoutOf(rows []sheet.Row) (best *layout) {
	if m.headerRow != 0 && len(rows) > 0 && isResultsHeader(rows[0].Cells) {
		free := *m
		free.headerRow = 0 // it was said of the file that these results answer
		return free.layoutOf(rows)
	}
	if m.headerRow == NoHeader {
		best = m.layoutWithoutHeader(rows)
	} else if best = m.headerOf(rows); best != nil {
		m.applyMap(best, rows)
		best.dropOtherType(rows)
	}
	if best == nil || best.known == 0 {
		return nil
	}
	return best
}

func (m *matcher) headerOf(rows []sheet.Row) (best *layout) {
	for i := range rows {
		if i == headRows {
			break
		}
		if m.headerRow > 0 && rows[i].Number != int(m.headerRow) {
			continue
		}
		for _, groups := range [][]sheet.Cell{nil, groupsAbove(rows, i)} {
			l := m.read(rows[i].Cells, groups)
			l.onlyMapped = !l.isHeader()
			if l.onlyMapped && !m.isMapped(l) && m.headerRow == 0 {
				continue
			}
			if best == nil || l.score > best.score {
				l.row, l.rows = rows[i].Number, len(rows)-i-1
				best = l
			}
		}
	}
	return best
}

// settle brings in what was said of columns, whatever their headers: also of those
// behind the last header in which the rows have something.
func (m *matcher) applyMap(l *layout, rows []sheet.Row) {
	width := widthOf(rows)
	for _, i := range slices.Sorted(maps.Keys(m.byColumn)) {
		id := m.byColumn[i]
		for len(l.headings) <= i && i < width {
			l.headings = append(l.headings, heading{index: len(l.headings), wording: wording{none, unknown}})
		}
		if i >= len(l.headings) {
			return // checkMap says so
		}
		h := &l.headings[i]
		if known := func(o heading) bool { return o.column == id }; id != none &&
			!slices.ContainsFunc(l.headings, known) {
			l.known++
		}
		h.wording = wording{id, mapped}
	}
}

// settleType takes "Type" for the type of the entity only where its values are
// such types: in other sheets it is the type of something else.
func (l *layout) dropOtherType(rows []sheet.Row) {
	for i := range l.headings {
		if h := &l.headings[i]; h.column == entityType && h.strength == weak && !l.fits(entityType, h.index, rows) {
			h.wording = wording{none, unknown}
			l.known--
		}
	}
}

// isAnswered recognises the header of results of ours.
func isResultsHeader(cells []sheet.Cell) bool {
	for _, name := range []string{"result", "message", "orderids"} {
		if !slices.ContainsFunc(cells, func(c sheet.Cell) bool { return filing.FoldName(c.Text) == name }) {
			return false
		}
	}
	return true
}

// headless is the layout of a sheet without a header. Its columns are called what
// they were said to be.
func (m *matcher) layoutWithoutHeader(rows []sheet.Row) *layout {
	l := m.read(make([]sheet.Cell, widthOf(rows)), nil)
	m.applyMap(l, rows)
	l.onlyMapped, l.rows = true, len(rows)
	for i := range l.headings {
		h := &l.headings[i]
		if h.text = "Column " + sheet.ColumnName(i); h.column != none {
			h.text = columns[h.column].header
		}
	}
	return l
}

func widthOf(rows []sheet.Row) (width int) {
	for i := range rows {
		width = max(width, len(rows[i].Cells))
	}
	return width
}

// groupsAbove is the row directly above row i, where it can be one of groups.
func groupsAbove(rows []sheet.Row, i int) []sheet.Cell {
	if i == 0 || rows[i-1].Number != rows[i].Number-1 {
		return nil
	}
	filled := 0
	for _, c := range rows[i-1].Cells {
		if c.Kind != sheet.Blank {
			filled++
		}
	}
	if filled < 2 { // a title
		return nil
	}
	return rows[i-1].Cells
}

// maxHeadings is how many columns may mean something: there are a few hundred
// of ours, and each row among the first of every sheet is tried as the header.
const maxHeadings = 2000

// read returns the layout of a row of cells as the header, below a row of groups
// or nil.
func (m *matcher) read(cells, groups []sheet.Cell) *layout {
	if len(groups) > len(cells) {
		cells = append(slices.Clone(cells), make([]sheet.Cell, len(groups)-len(cells))...)
	}
	l := &layout{headings: make([]heading, len(cells))}
	group := ""
	seen := map[columnID]bool{}
	for i, cell := range cells {
		if i < len(groups) && groups[i].Text != "" {
			group = groups[i].Text
		}
		if cell.Kind == sheet.Blank && i < len(groups) {
			cell = groups[i] // a header that is merged with the row above
		}
		h := &l.headings[i]
		*h = heading{text: filing.HideSSNs(cell.Text), index: i, wording: wording{none, unknown}}
		if i >= maxHeadings {
			continue
		}
		m.match(h, cell, group)
		if h.column != none && !seen[h.column] {
			seen[h.column] = true
			l.known++
			l.score += 2 + oneIf(h.strength >= exact)
		}
	}
	return l
}

// match finds the column that a cell of the header means, alone or with the
// words of the group above it.
func (m *matcher) match(h *heading, cell sheet.Cell, group string) {
	h.folded = foldHeader(cell.Text)
	if id, ok := m.byHeader[h.folded]; ok && cell.Kind != sheet.Blank {
		h.wording = wording{id, mapped}
		return
	}
	if cell.Kind != sheet.Text {
		return
	}
	h.wording = m.means(cell.Text)
	if group == "" || h.strength >= exact {
		return
	}
	if w := m.means(group + " " + cell.Text); w.strength > weak {
		h.wording, h.text = w, filing.HideSSNs(group+" "+cell.Text)
	}
}

// anchors are the columns of which a sheet of filings has at least one.
var anchors = []columnID{companyID, legalName, userID, userEmail, filingState, filingYear, orderAgent, changeOfAgent,
	formationState, entityType}

// isHeader tells a header from a row that happens to hold one of its words.
func (l *layout) isHeader() bool {
	anchored, filled, company := false, 0, false
	for _, h := range l.headings {
		if h.text != "" {
			filled++
		}
		anchored = anchored || slices.Contains(anchors, h.column)
		company = company || h.column == companyID
	}
	if l.known == 1 {
		// A bare list of companies, the rest being said on the command line.
		return filled == 1 && company
	}
	return anchored && l.known >= 2 && l.known*4 >= filled
}

// isSaid reports whether a person said of this row's cells what they mean: then
// it is the header, however few of them are of use. What was said of columns is
// true of every row, and makes none of them the header.
func (m *matcher) isMapped(l *layout) bool {
	used := false
	for folded, id := range m.byHeader {
		used = used || id != none
		if !slices.ContainsFunc(l.headings, func(h heading) bool { return h.folded == folded }) {
			return false
		}
	}
	return used
}

// name is a header with its cell: "Zip" (F3).
func (h *heading) name(row int) string {
	if row == 0 {
		return "column " + sheet.ColumnName(h.index)
	}
	return fmt.Sprintf("%q (%s)", h.text, sheet.CellName(h.index, row))
}

// resolve settles what bare words mean: "State" beside "Street" and "City" is a
// part of the address, "State" alone is the filing state.
func (l *layout) resolve() []heading {
	all := slices.Clone(l.headings)
	claimed := map[columnID]bool{}
	bareAddress, named := false, false
	assignAddresses(all)
	for _, h := range all {
		_, ofAddress := addressPartOf[h.column]
		bareAddress = bareAddress || h.strength == weak && ofAddress && h.folded != "state"
		named = named || h.column == legalName
		if h.strength > weak {
			claimed[h.column] = true
		}
	}
	for i := range all {
		h := &all[i]
		if h.strength != weak {
			continue
		}
		if h.folded == "state" {
			h.column = filingState
			if bareAddress && !h.noAddress || claimed[filingState] {
				h.column = principalState
			}
		}
		if claimed[h.column] || h.column == entityType && !named {
			h.column = none
		}
	}
	return all
}

// settleAddresses settles bare words that come more than once, such as "City"
// behind "Address" and again behind "Mailing Address", or that are said of
// another address already: each belongs to the address it stands behind.
// Columns that are not known, such as "County", may stand between.
func assignAddresses(all []heading) {
	times := map[columnID]int{}
	taken := map[columnID]bool{} // by a header that says so itself
	for _, h := range all {
		times[h.column] += oneIf(h.strength == weak)
		taken[h.column] = taken[h.column] || h.strength > weak
	}
	within := -1
	for i := range all {
		h := &all[i]
		part, ok := addressPartOf[h.column]
		switch {
		case h.column == none:
			continue
		case !ok:
			within = -1
			continue
		case h.strength > weak || within < 0 && part.index == 0:
			within = part.address
		}
		if h.strength != weak || times[h.column] == 1 && !taken[h.column] {
			continue
		}
		if h.noAddress = within < 0; !h.noAddress {
			if id := addresses[within][part.index]; id != none && !taken[id] {
				h.column, h.strength, h.followsAddress = id, alias, true // a second one there is its rival
			}
		}
	}
}

// strongest finds the heading that says its column the most exactly, and those
// that say it as exactly.
func strongest(claimed []heading) (winner heading, rivals []heading) {
	for _, h := range claimed {
		switch {
		case h.strength > winner.strength:
			winner, rivals = h, nil
		case h.strength == winner.strength:
			rivals = append(rivals, h)
		}
	}
	return winner, rivals
}

// tooManyOfficers finds a header of an officer beyond those that a row can name.
func (l *layout) tooManyOfficers() (heading, bool) {
	for _, h := range l.headings {
		if rest, found := strings.CutPrefix(h.folded, "officer"); found && h.column == none {
			digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
			if n, err := strconv.Atoi(digits); err == nil && n > maxOfficers {
				return h, true
			}
		}
	}
	return heading{}, false
}
