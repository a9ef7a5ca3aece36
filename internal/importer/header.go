package importer

import (
	"fmt"
	"maps"
	"slices"
	"sort"
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
		return fmt.Errorf("the row of headers is neither a number up to %d nor none", headRows)
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
	text    string // as it was given, Social Security numbers hidden; with the group above it where that was needed
	folded  string
	index   int
	behind  bool // told by the address it stands behind
	outside bool // a bare word of several, behind no address
	wording
}

// layout is where the header of a sheet stands and what its cells mean.
type layout struct {
	row      int // its row number
	rows     int // how many rows there are in the head of the sheet after it
	headings []heading
	known    int // how many columns of the table it has
	score    int
	said     bool // it is one only because a person said what its cells mean
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
	said map[string]columnID // by folded header; none where the column is to be ignored
	at   map[int]columnID    // the same by column
	row  HeaderRow
}

// newMatcher takes the pairs of --map, their header or column to ours. Ours may
// be empty or "-": the column is ignored.
func newMatcher(o *Options) (*matcher, error) {
	m := &matcher{said: make(map[string]columnID, len(o.Map)), at: make(map[int]columnID), row: o.HeaderRow}
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
			m.at[i] = id
		} else {
			m.said[foldHeader(theirs)] = id
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
	if id, ok := m.said[folded]; ok {
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
	if m.row != 0 && len(rows) > 0 && isAnswered(rows[0].Cells) {
		free := *m
		free.row = 0 // it was said of the file that these results answer
		return free.layoutOf(rows)
	}
	if m.row == NoHeader {
		best = m.headless(rows)
	} else if best = m.headerOf(rows); best != nil {
		m.settle(best, rows)
		best.settleType(rows)
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
		if m.row > 0 && rows[i].Number != int(m.row) {
			continue
		}
		for _, groups := range [][]sheet.Cell{nil, groupsAbove(rows, i)} {
			l := m.read(rows[i].Cells, groups)
			l.said = !l.isHeader()
			if l.said && !m.isSaid(l) && m.row == 0 {
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
func (m *matcher) settle(l *layout, rows []sheet.Row) {
	width := widthOf(rows)
	for _, i := range slices.Sorted(maps.Keys(m.at)) {
		id := m.at[i]
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
func (l *layout) settleType(rows []sheet.Row) {
	for i := range l.headings {
		if h := &l.headings[i]; h.column == entityType && h.strength == weak && !l.fits(entityType, h.index, rows) {
			h.wording = wording{none, unknown}
			l.known--
		}
	}
}

// isAnswered recognises the header of results of ours.
func isAnswered(cells []sheet.Cell) bool {
	for _, name := range []string{"result", "message", "orderids"} {
		if !slices.ContainsFunc(cells, func(c sheet.Cell) bool { return filing.FoldName(c.Text) == name }) {
			return false
		}
	}
	return true
}

// headless is the layout of a sheet without a header. Its columns are called what
// they were said to be.
func (m *matcher) headless(rows []sheet.Row) *layout {
	l := m.read(make([]sheet.Cell, widthOf(rows)), nil)
	m.settle(l, rows)
	l.said, l.rows = true, len(rows)
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
		if i >= maxHeadings {
			l.headings[i] = heading{text: filing.HideSSNs(cell.Text), index: i, wording: wording{none, unknown}}
			continue
		}
		h := heading{
			text:    filing.HideSSNs(cell.Text),
			folded:  foldHeader(cell.Text),
			index:   i,
			wording: wording{none, unknown},
		}
		if id, ok := m.said[h.folded]; ok && cell.Kind != sheet.Blank {
			h.wording = wording{id, mapped}
		} else if cell.Kind == sheet.Text {
			h.wording = m.means(cell.Text)
			if group != "" && groups != nil && h.strength < exact {
				if w := m.means(group + " " + cell.Text); w.strength > weak {
					h.wording, h.text = w, filing.HideSSNs(group+" "+cell.Text)
				}
			}
		}
		l.headings[i] = h
		if h.column != none && !seen[h.column] {
			seen[h.column] = true
			l.known++
			l.score += 2
			if h.strength >= exact {
				l.score++
			}
		}
	}
	return l
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
func (m *matcher) isSaid(l *layout) bool {
	used := false
	for folded, id := range m.said {
		used = used || id != none
		if !slices.ContainsFunc(l.headings, func(h heading) bool { return h.folded == folded }) {
			return false
		}
	}
	return used
}

// binding is a column of the table that the sheet has.
type binding struct {
	*column
	id     columnID
	index  int // in the row's cells; -1 where the sheet does not have it
	header string
	said   string // what Options.Map calls it
	aside  bool   // the product has it for the record only
	listed *place // where it is, if not in the row at hand
}

// plan is how the rows of one sheet are read for one product: made once, used
// for every row.
type plan struct {
	product  filing.Product
	parts    [parts][]binding // read where the row has the part; those of ofEvery always
	officers []int            // which officers the sheet has columns for, from 0
	bindings []*binding
	secret   []int            // columns that hold Social Security numbers
	hiding   []hiding         // by column
	watched  []watched        // columns that may say that a row is not to be filed
	dayFirst map[int]cellText // columns with a date that has the day before the month, and where

	otherAgent []binding // columns that name an agent, who can be no other than the service's own where it is ordered
}

// cellText is what stands in a cell.
type cellText struct{ cell, text string }

// findDayFirst finds the columns of which a date among the first rows can only
// have the day before the month: then nothing tells how the others are meant.
func (p *plan) findDayFirst(row int, rows []sheet.Row) {
	for _, b := range p.bindings {
		if b == nil || b.kind != dateKind || b.index < 0 {
			continue
		}
		for _, r := range rows {
			if r.Number <= row || b.index >= len(r.Cells) || r.Cells[b.index].Kind != sheet.Text {
				continue
			}
			if _, ok := dayFirst(r.Cells[b.index].Text); ok {
				if p.dayFirst == nil {
					p.dayFirst = make(map[int]cellText)
				}
				p.dayFirst[b.index] = cellText{sheet.CellName(b.index, r.Number), r.Cells[b.index].Text}
				break
			}
		}
	}
}

// binding finds the sheet's column; nil where it has none.
func (p *plan) binding(id columnID) *binding { return p.bindings[id] }

// bound is how many columns of the sheet are of use.
func (p *plan) bound() (n int) {
	for _, b := range p.parts {
		n += len(b)
	}
	return n
}

// flags are the columns that order a product along with another, yes or no.
var flags = map[filing.Product]columnID{
	filing.EIN: orderEIN, filing.AnnualReport: orderAnnualReport, filing.ForeignQualification: orderQualification,
	filing.RegisteredAgent: orderAgent, filing.AgentChange: orderAgent,
}

// ask are the columns of which a sheet must have one for a part to be of any
// use to a product that only may need it.
var ask = [parts][]columnID{
	ofAgent: {orderAnnualReport, orderQualification}, ofEIN: {orderEIN}, ofReport: {orderAnnualReport},
}

// takes reports whether the product has use for the column in this sheet. What
// it only may need must be asked for by a header of its own name, not by a word
// that people also use for other things.
func (p *plan) takes(id columnID, claims map[columnID][]heading) bool {
	c := &columns[id]
	named := func(id columnID) bool {
		return slices.ContainsFunc(claims[id], func(h heading) bool { return h.strength >= exact })
	}
	switch {
	case slices.Contains(c.used, p.product), slices.Contains(c.aside, p.product):
		return true
	case !slices.Contains(c.may, p.product):
		return false
	case ask[c.part] != nil:
		return slices.ContainsFunc(ask[c.part], named)
	case c.part == ofEvery:
		return named(id)
	}
	return true
}

// partOf is when the column is read. A description of the company belongs to
// every row of a product that uses it.
func (p *plan) partOf(c *column) part {
	if (c.part == ofCompany || c.part == ofReport) && !slices.Contains(c.may, p.product) {
		return ofEvery
	}
	return c.part
}

// bind makes the plan. Two headers for one column of the product are an error,
// unless one of them says it more exactly, or the product only may need it.
func bind(l *layout, product filing.Product, o *Options, file, sheetName string) (*plan, []string, error) {
	claims := make(map[columnID][]heading)
	for _, h := range l.resolve() {
		if h.column != none {
			claims[h.column] = append(claims[h.column], h)
		}
	}
	p := &plan{product: product, bindings: make([]*binding, len(columns))}
	var unused, ofNew, behind, instead []string
	for id := range columnID(len(columns)) {
		claimed := claims[id]
		if len(claimed) == 0 {
			continue
		}
		c := &columns[id]
		if c.kind == ssnKind {
			for _, h := range claimed {
				p.secret = append(p.secret, h.index)
			}
		}
		winner, rivals := strongest(claimed)
		if !p.takes(id, claims) || len(rivals) > 0 && !c.uses(product) && !slices.Contains(c.aside, product) {
			for _, h := range claimed {
				unused = append(unused, h.name(l.row))
			}
			continue
		}
		if len(rivals) > 0 && c.uses(product) {
			names, leave := make([]string, 0, len(rivals)+1), make([]string, 0, len(rivals)+1)
			for _, h := range append([]heading{winner}, rivals...) {
				names = append(names, h.name(l.row))
				leave = append(leave, fmt.Sprintf("--map %q leaves out %s", l.mapName(&h)+"=", h.name(l.row)))
			}
			return nil, nil, &sheet.FormatError{
				File:   file,
				Sheet:  sheetName,
				Cell:   l.cell(winner.index),
				Reason: fmt.Sprintf("several columns stand for %s: %s", c.header, strings.Join(names, ", ")),
				Remedy: o.tell(oneOfColumns, c.header, strings.Join(leave, ", ")),
			}
		}
		for _, h := range claimed {
			if h.index == winner.index {
				continue
			}
			if h.strength < weak+1 || l.row == 0 {
				unused = append(unused, h.name(l.row))
				continue
			}
			instead = append(instead, fmt.Sprintf("%s is read from %s, not from %s. If that is wrong, %s.", c.header,
				winner.name(l.row), h.name(l.row), o.tell(readAs, h.text, c.header, l.mapName(&h)+"="+c.header)))
		}
		b := &binding{
			column: c,
			id:     id,
			index:  winner.index,
			header: winner.text,
			said:   l.mapName(&winner),
			aside:  slices.Contains(c.aside, product),
		}
		p.bindings[id] = b
		if winner.behind {
			behind = append(behind, winner.name(l.row)+" as "+c.header)
		}
		when := p.partOf(c)
		p.parts[when] = append(p.parts[when], *b)
		switch {
		case product == filing.Formation:
		case when == ofCompany, when == ofOfficers:
			ofNew = append(ofNew, winner.name(l.row))
		}
		if n := int(id-firstOfficer) / int(officerColumnCount); id >= firstOfficer && !slices.Contains(p.officers, n) {
			p.officers = append(p.officers, n)
		}
	}
	p.otherAgent = l.namesAgent(claims)
	for _, h := range l.headings {
		if filing.IsSSNHeader(h.text) && !slices.Contains(p.secret, h.index) {
			p.secret = append(p.secret, h.index)
		}
	}
	for _, h := range l.resolve() {
		p.hiding = append(p.hiding, h.hiding())
	}
	p.watch(l)
	notes := append(instead, p.notes(l, unused, ofNew)...)
	if len(behind) > 0 {
		notes = append(notes, "Read as of the address that they stand behind: "+strings.Join(behind, ", ")+".")
	}
	return p, notes, nil
}

// namesAgent finds the columns that name an agent to be appointed, the names
// before the addresses: not those of the agent that is replaced.
func (l *layout) namesAgent(claims map[columnID][]heading) []binding {
	var all []binding
	add := func(h heading, id columnID) {
		if words := headerWords(h.text); !slices.Contains(words, "current") && !slices.Contains(words, "old") &&
			!slices.Contains(words, "previous") {
			all = append(all, binding{
				column: &columns[id],
				id:     id,
				index:  h.index,
				header: h.text,
				said:   l.mapName(&h),
			})
		}
	}
	for _, h := range l.headings {
		if h.folded == "agent" && h.column == none {
			add(h, agentCompanyName)
		}
	}
	for _, id := range []columnID{agentCompanyName, agentFirstName, agentLastName, agentType, agentStreet, agentCity,
		agentState, agentZIP} {
		for _, h := range claims[id] {
			add(h, id)
		}
	}
	return all
}

// notes says which columns are of no use, or only to some rows.
func (p *plan) notes(l *layout, unused, ofNew []string) (notes []string) {
	if len(unused) > 0 {
		note := fmt.Sprintf("Not used for %s: %s.", article(p.product), strings.Join(unused, ", "))
		if slices.Contains(agentOrders, p.product) &&
			slices.ContainsFunc(l.headings,
				func(h heading) bool { return h.column >= agentType && h.column <= agentZIP }) {
			note += " The order appoints the service's own agent, and can appoint no other."
		}
		notes = append(notes, note)
	}
	if len(ofNew) > 0 && p.binding(companyID) != nil {
		notes = append(
			notes, fmt.Sprintf("Used only where a row has no Company ID and its company is to be created: %s.",
				strings.Join(ofNew, ", ")))
	}
	return notes
}

// article is the product with its article.
func article(p filing.Product) string {
	switch title := p.Title(); title[0] {
	case 'a', 'E':
		return "an " + title
	default:
		return "a " + title
	}
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
	settleAddresses(all)
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
			if bareAddress && !h.outside || claimed[filingState] {
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
func settleAddresses(all []heading) {
	times := map[columnID]int{}
	taken := map[columnID]bool{} // by a header that says so itself
	for _, h := range all {
		times[h.column] += count(h.strength == weak)
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
		if h.outside = within < 0; !h.outside {
			if id := addresses[within][part.index]; id != none && !taken[id] {
				h.column, h.strength, h.behind = id, alias, true // a second one there is its rival
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

// suggest finds the column that one which is not known may be meant for: its
// header is a slip in writing that column's, and its values do not speak against it.
func (l *layout) suggest(h *heading, rows []sheet.Row) (columnID, bool) {
	near, ok := nearest(h.text, alias)
	return near, ok && l.fits(near, h.index, rows)
}

// ignored notes the columns that nothing is known of, and what they may be.
func (l *layout) ignored(o *Options, rows []sheet.Row) (notes []string) {
	var names []string
	for _, h := range l.resolve() {
		if h.text == "" || h.column != none || answers[h.folded] || slices.Contains(o.ours, h.index) {
			continue
		}
		if h.strength == mapped {
			continue
		}
		if near, ok := l.suggest(&h, rows); ok && h.strength != weak && len(notes) < maxNamed {
			notes = append(notes, fmt.Sprintf("Column %s is not known and was ignored: is it %s? Then %s.",
				h.name(l.row), columns[near].header,
				o.tell(readAs, h.text, columns[near].header, l.mapName(&h)+"="+columns[near].header)))
			continue
		}
		names = append(names, h.name(l.row))
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	if len(names) > 0 {
		notes = append(notes, "Not used: "+strings.Join(names, ", ")+".")
	}
	return notes
}

// maxNamed is how many columns that are not used are named, and how many are
// looked at for a slip of the pen: a sheet can have sixteen thousand.
const maxNamed = 250

func abs(n int) int { return max(n, -n) }

// needs are the columns without which no row of any product here can be
// ordered, and the option that stands in for each.
var needs = []struct {
	columns  []columnID
	products []filing.Product
	option   func(*Options) bool
	remedy   string
	instead  remedy
}{
	{[]columnID{companyID}, onExisting, func(*Options) bool { return false },
		"add it, or the columns that describe a company to be created", 0},
	{[]columnID{legalName}, formation, func(*Options) bool { return false }, "add it", 0},
	{[]columnID{entityType}, formation, func(*Options) bool { return false }, "add it", 0},
	{[]columnID{userID, userEmail}, anyProduct, func(o *Options) bool { return o.User != "" }, "add it", oneUser},
	{[]columnID{filingState}, anyProduct, func(o *Options) bool { return o.State != "" }, "add it", oneState},
	{[]columnID{filingYear}, annual, func(o *Options) bool { return o.FilingYear != "" }, "add it", oneYear},
}

// describing are the columns without which a company cannot be created.
var describing = []columnID{legalName, entityType, formationState, formationDate, principalLine1, principalCity}

// describes reports whether the sheet can describe a company that is to be created.
func (p *plan) describes() bool {
	return !slices.ContainsFunc(describing, func(id columnID) bool { return p.binding(id) == nil })
}

// missing notes the columns that every row will lack. Where a header comes
// close to one it is an error, for reading on would only fail every row.
func (l *layout) missing(p *plan, o *Options, rows []sheet.Row, file, sheetName string) (notes []string, err error) {
	for _, n := range needs {
		has := func(id columnID) bool {
			switch {
			case p.binding(id) != nil:
				return true
			case id == companyID:
				return p.describes()
			case id == filingState && slices.Contains(ein, p.product):
				return p.binding(formationState) != nil
			}
			return false
		}
		if !slices.Contains(n.products, p.product) || slices.ContainsFunc(n.columns, has) || n.option(o) {
			continue
		}
		var names []string
		for _, id := range n.columns {
			names = append(names, columns[id].header)
		}
		remedy := n.remedy
		for _, h := range l.headings {
			if h.column != none && columns[h.column].unsent && n.columns[0] == legalName {
				remedy += fmt.Sprintf("; if %s holds the names, %s", h.name(l.row),
					o.tell(readAs, h.text, columns[legalName].header, l.mapName(&h)+"="+columns[legalName].header))
				break
			}
			if h.column != none || h.strength != unknown {
				continue
			}
			near, ok := l.suggest(&h, rows)
			reason := fmt.Sprintf("no column is headed %s, but one is headed %q", columns[max(near, 0)].header, h.text)
			if !ok || !slices.Contains(n.columns, near) {
				if near, ok = l.valuesAre(n.columns, h.index, rows); !ok {
					continue
				}
				reason = fmt.Sprintf("no column is headed %s, but %s holds nothing else", columns[near].header,
					h.name(l.row))
			}
			return nil, &sheet.FormatError{
				File:   file,
				Sheet:  sheetName,
				Cell:   l.cell(h.index),
				Reason: reason,
				Remedy: "Correct the header, or " + o.tell(readAs, h.text, columns[near].header,
					l.mapName(&h)+"="+columns[near].header),
			}
		}
		if n.instead != 0 {
			remedy += ", or " + o.tell(n.instead)
		}
		notes = append(notes, fmt.Sprintf("No column gives the %s: %s.", strings.Join(names, " or the "), remedy))
	}
	return notes, nil
}

// productOf tells the product from the columns. listed says that the workbook
// has a sheet of officers.
//
// A product whose column only says yes or no can come along with any other, and
// a row with several such columns orders what it says yes to. Which of them the
// sheet is said to be of is then of no account.
func productOf(l *layout, listed bool, o *Options) (filing.Product, error) {
	told := map[filing.Product]bool{}
	alone := map[filing.Product]bool{} // told by more than a yes or no
	has := map[columnID]bool{}
	describes := listed
	for _, h := range l.resolve() {
		if h.column == none {
			continue
		}
		c := &columns[h.column]
		has[h.column] = true
		if c.tells != "" {
			told[c.tells] = true
			if flags[c.tells] != h.column && c.part != ofEIN {
				alone[c.tells] = true
			}
		}
		describes = describes || c.part == ofOfficers || h.column == structureType || h.column == taxElection
	}
	if told[filing.EIN] && !has[orderEIN] {
		alone[filing.EIN] = true
	}
	if o.FilingYear != "" && !told[filing.EIN] && !told[filing.ForeignQualification] && !told[filing.Formation] {
		told[filing.AnnualReport], alone[filing.AnnualReport] = true, !has[orderAnnualReport]
	}
	if has[orderAnnualReport] {
		alone[filing.AnnualReport] = false
	}
	if describes && !has[companyID] && !has[formationDate] && !alone[filing.AnnualReport] {
		told[filing.Formation] = true
	}
	// An agent may be ordered along with anything, and a change of agent is the
	// more particular of the two agent orders.
	if told[filing.AgentChange] &&
		(has[orderAgent] && (told[filing.AnnualReport] || told[filing.EIN]) || told[filing.ForeignQualification] ||
			told[filing.Formation]) {
		delete(told, filing.AgentChange)
	}
	if len(told) > 1 {
		delete(told, filing.RegisteredAgent)
	}
	if told[filing.Formation] && !alone[filing.AnnualReport] {
		return filing.Formation, nil
	}
	var names, mains []string
	for _, p := range filing.Products {
		if told[p] {
			names = append(names, string(p))
			if alone[p] {
				mains = append(mains, string(p))
			}
		}
	}
	switch {
	case len(names) == 0:
		return "", l.noProduct(o)
	case len(mains) == 1:
		return filing.Product(mains[0]), nil
	case len(mains) == 0:
		return filing.Product(names[0]), nil
	}
	sort.Strings(mains)
	return "", l.severalProducts(mains, o)
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
