package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// headRows is how many rows of a sheet are searched for its header.
const headRows = 30

// HeaderRow is the number of the header row. Zero means the row that looks like a header.
type HeaderRow int

// NoHeader means that the sheet has no header. Options.Map then names its columns.
const NoHeader HeaderRow = -1

// Set parses the result of String: a number, "none" for NoHeader, or "".
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

// Type returns the name of the value in a command's help.
func (HeaderRow) Type() string { return "row" }

// heading is a cell of the header row and its meaning.
type heading struct {
	// text is the text of the cell with Social Security numbers hidden. It includes the group if
	// the meaning depends on it.
	text   string
	folded string
	index  int
	// followsAddress reports whether the meaning follows from the address before it.
	followsAddress bool
	// noAddress reports whether the text is a bare word that occurs more than once and follows no
	// address.
	noAddress bool
	// byContent reports whether the meaning follows from the values.
	byContent bool
	// outside reports whether the cell is beside the table.
	outside bool
	// ours reports whether one of our workbooks added the column.
	ours bool
	wording
}

// layout is the header row of a sheet and the meaning of its cells.
type layout struct {
	// row is the number of the header row.
	row int
	// rows is the number of rows after the header in the head of the sheet.
	rows     int
	headings []heading
	// known is the number of columns with a meaning in the table of columns.
	known int
	score int
	// onlyMapped reports whether the row is a header only because the options map its cells.
	onlyMapped bool
}

// headers returns the texts of the header row, one for each column up to the last.
func (l *layout) headers() []string {
	all := make([]string, len(l.headings))
	for i, h := range l.headings {
		all[i] = h.text
	}
	return all
}

// cell returns the address of a header. Without a header row it returns the address of the column.
func (l *layout) cell(index int) string {
	if l.row == 0 {
		return columnName(index)
	}
	return sheet.CellName(index, l.row)
}

// mapName returns the name of a column in Options.Map. It is the header, or the letters of the
// column if the header is blank, not unique or secret.
func (l *layout) mapName(h *heading) string {
	if l.row == 0 || h.folded == "" || h.folded != foldHeader(h.text) && strings.Contains(h.text, "***") ||
		slices.ContainsFunc(l.headings, func(o heading) bool { return o.index != h.index && o.folded == h.folded }) {
		return columnName(h.index)
	}
	return h.text
}

// matcher finds the meaning of headers. The mapping of the options takes precedence.
type matcher struct {
	// byHeader maps folded headers to columns. The value none means that the column is ignored.
	byHeader map[string]columnID
	// byColumn maps the indexes of columns in the same way.
	byColumn  map[int]columnID
	headerRow HeaderRow
}

// newMatcher parses the pairs of --map, each with their header or column and our header. Our header
// may be empty or "-" to ignore the column.
func newMatcher(o *Options) (*matcher, error) {
	m := &matcher{byHeader: make(map[string]columnID, len(o.Map)), byColumn: make(map[int]columnID),
		headerRow: o.HeaderRow}
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

// columnAddress parses a column in the form of spreadsheet programs, "F:F". It is used for a column
// with a blank header or a header that is not unique.
func columnAddress(s string) (index int, ok bool) {
	from, to, _ := strings.Cut(s, ":")
	index, ok = sheet.ColumnIndex(from)
	return index, ok && strings.EqualFold(from, to)
}

func isAddress(s string) bool {
	_, ok := columnAddress(s)
	return ok
}

// columnName returns a column in the form that columnAddress parses.
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

// layoutOf finds the header among the first rows of a sheet. It is the first row with the most
// known columns. Titles above the header have no known columns. A row of groups above the header
// ("Agent" above "Street", "City") adds its words if they make a header known.
//
// A header row that the options give needs only one known column. The same is true if the options
// state that the sheet has no header.
func (m *matcher) layoutOf(rows []sheet.Row) (best *layout) {
	if m.headerRow != 0 && len(rows) > 0 && isResultsHeader(m.read(rows[0].Cells, nil).headers()) {
		free := *m
		// The header row was given for the file that these results belong to.
		free.headerRow = 0
		return free.layoutOf(rows)
	}
	if m.headerRow == NoHeader {
		best = m.layoutWithoutHeader(rows)
	} else if best = m.headerOf(rows); best != nil {
		best.leaveOutOthers(rows)
		m.applyMap(best, rows)
		best.dropOtherType(rows)
		best.readEmails(rows)
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

// applyMap applies the options for columns that are given by their letters, including columns after
// the last header.
func (m *matcher) applyMap(l *layout, rows []sheet.Row) {
	width := widthOf(rows)
	for _, i := range slices.Sorted(maps.Keys(m.byColumn)) {
		id := m.byColumn[i]
		for len(l.headings) <= i && i < width {
			l.headings = append(l.headings, heading{index: len(l.headings), wording: wording{none, unknown}})
		}
		if i >= len(l.headings) {
			// checkMap reports it.
			return
		}
		h := &l.headings[i]
		if known := func(o heading) bool { return o.column == id }; id != none &&
			!slices.ContainsFunc(l.headings, known) {
			l.known++
		}
		h.wording, h.outside = wording{id, mapped}, false
	}
}

// dropOtherType keeps "Type" as the entity type only if its values are entity types. In other
// sheets the column has another kind of type.
func (l *layout) dropOtherType(rows []sheet.Row) {
	for i := range l.headings {
		if h := &l.headings[i]; h.column == entityType && h.strength == weak && !l.fits(entityType, h.index, rows) {
			h.wording = wording{none, unknown}
			l.known--
		}
	}
}

// readEmails reads a column of names as a column of email addresses if all of its values are email
// addresses. A header such as "Contact" may stand above either. The meaning of our own headers does
// not change.
func (l *layout) readEmails(rows []sheet.Row) {
	claimed := slices.ContainsFunc(l.headings, func(h heading) bool { return h.column == userEmail })
	for i := range l.headings {
		h := &l.headings[i]
		if h.column != userName || h.strength >= exact || !l.all(filing.IsEmail, h.index, rows) {
			continue
		}
		if claimed {
			h.wording = wording{none, unknown}
			l.known--
			continue
		}
		h.column, h.byContent, claimed = userEmail, true, true
	}
}

// isResultsHeader reports whether headers are the header of a results sheet.
func isResultsHeader(headers []string) bool {
	for _, name := range []string{"result", "message", "orderids"} {
		if !slices.ContainsFunc(headers, func(h string) bool { return filing.FoldName(h) == name }) {
			return false
		}
	}
	return true
}

// layoutWithoutHeader returns the layout of a sheet without a header. The options name its columns.
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

// groupsAbove returns the row directly above row i if it may be a row of groups.
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
	// The row is a title.
	if filled < 2 {
		return nil
	}
	return rows[i-1].Cells
}

// maxHeadings is how many columns can have a meaning. The table has a few hundred. The limit bounds
// the work, because each of the first rows of every sheet is tried as the header.
const maxHeadings = 2000

// read returns the layout of a sheet whose header is this row. groups is the row of groups above
// it, or nil.
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
			// The header is merged with the row above.
			cell = groups[i]
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

// match finds the meaning of a header cell, alone or with the words of its group.
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

// anchors are columns of which every sheet of filings has at least one.
var anchors = []columnID{companyID, legalName, userID, userEmail, filingState, filingYear, orderAgent, changeOfAgent,
	formationState, entityType}

// isHeader reports whether the row is a header. Other rows may contain one of its words by chance.
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
		// A bare list of companies is enough, because the options give the rest.
		return filled == 1 && company
	}
	return anchored && l.known >= 2 && l.known*4 >= filled
}

// isMapped reports whether the row has all headers that the options map. It is then the header,
// however few columns are used. Columns that are mapped by their letters are the same in every row
// and do not count.
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

// name returns a header with its cell, such as "Zip" (F3).
func (h *heading) name(row int) string {
	if row == 0 {
		return "column " + sheet.ColumnName(h.index)
	}
	return fmt.Sprintf("%q (%s)", h.text, sheet.CellName(h.index, row))
}

// resolve decides the meaning of bare words. "State" beside "Street" and "City" is part of the
// address. "State" alone is the filing state.
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

// claims returns the headings with their meanings, and the headings that claim each column.
func (l *layout) claims() (resolved []heading, claims map[columnID][]heading) {
	resolved, claims = l.resolve(), make(map[columnID][]heading)
	for _, h := range resolved {
		if h.column != none {
			claims[h.column] = append(claims[h.column], h)
		}
	}
	return resolved, claims
}

// assignAddresses assigns bare words to the address before them if they occur more than once or if
// another header already claims their column. An example is "City" after "Address" and again after
// "Mailing Address". Unknown columns such as "County" may be in between.
func assignAddresses(all []heading) {
	times := map[columnID]int{}
	// taken are the columns that a header claims without an address before it.
	taken := map[columnID]bool{}
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
				// A second header of the same place is a rival.
				h.column, h.strength, h.followsAddress = id, alias, true
			}
		}
	}
}

// strongest returns the heading that claims its column most exactly, and the other headings that
// are as exact.
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

// tooManyOfficers finds an officer's header with a number above the limit of a row.
func (l *layout) tooManyOfficers() (heading, bool) {
	for _, h := range l.headings {
		var n int
		if _, err := fmt.Sscanf(h.folded, "officer%d", &n); err == nil && h.column == none && n > maxOfficers {
			return h, true
		}
	}
	return heading{}, false
}
