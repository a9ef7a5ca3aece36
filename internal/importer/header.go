package importer

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/sheet"
)

// headRows is how far down a sheet its header is looked for.
const headRows = 30

// heading is one cell of the header row and what it means.
type heading struct {
	text   string // as it was given; with the group above it where that was needed
	folded string
	index  int
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

// matcher says what headers mean, after what the user said they mean.
type matcher struct {
	said map[string]columnID // by folded header; none where the column is to be ignored
}

// newMatcher takes the pairs of --map, their header to ours. Ours may be empty
// or "-": the column is ignored.
func newMatcher(said map[string]string) (*matcher, error) {
	m := &matcher{said: make(map[string]columnID, len(said))}
	for theirs, ours := range said {
		id := none
		if ours = strings.TrimSpace(ours); ours != "" && ours != "-" {
			w, ok := wordings[filing.FoldName(ours)]
			if !ok || w.strength < exact {
				return nil, fmt.Errorf("--map %q: there is no column %q%s", theirs+"="+ours, ours, didYouMean(ours))
			}
			id = w.column
		}
		m.said[foldHeader(theirs)] = id
	}
	return m, nil
}

// foldHeader folds a header. One without Latin letters or digits stays as it
// is, so that it can still be named by --map.
func foldHeader(text string) string {
	if folded := filing.FoldName(text); folded != "" {
		return folded
	}
	return strings.ToLower(strings.TrimSpace(text))
}

func (m *matcher) means(text string) wording {
	folded := foldHeader(text)
	if id, ok := m.said[folded]; ok {
		return wording{id, mapped}
	}
	if w, ok := wordings[folded]; ok {
		return w
	}
	return wording{none, unknown}
}

// layoutOf finds the header among the first rows of a sheet: the row with the
// most columns that are known, the first of several. Titles above it hold
// none; a row of groups over it ("Agent", below it "Street", "City") lends its
// words where they make a header known.
func (m *matcher) layoutOf(rows []sheet.Row) (*layout, bool) {
	var best *layout
	for i := range rows {
		if i == headRows {
			break
		}
		for _, groups := range [][]sheet.Cell{nil, groupsAbove(rows, i)} {
			l := m.read(rows[i].Cells, groups)
			l.said = !l.isHeader()
			if l.said && !m.isSaid(l) {
				continue
			}
			if best == nil || l.score > best.score {
				l.row, l.rows = rows[i].Number, len(rows)-i-1
				best = l
			}
		}
	}
	return best, best != nil
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
		h := heading{text: cell.Text, folded: foldHeader(cell.Text), index: i, wording: wording{none, unknown}}
		if id, ok := m.said[h.folded]; ok && cell.Kind != sheet.Blank {
			h.wording = wording{id, mapped}
		} else if cell.Kind == sheet.Text {
			h.wording = m.means(cell.Text)
			if group != "" && groups != nil && h.strength < exact {
				if w := m.means(group + " " + cell.Text); w.strength > weak {
					h.wording, h.text = w, group+" "+cell.Text
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
var anchors = []columnID{companyID, legalName, userID, userEmail, filingState, filingYear, orderAgent, changeOfAgent, formationState, entityType}

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
// it is the header, however few of them are of use.
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
	secret   []int // columns that hold Social Security numbers
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
	var unused, ofNew []string
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
			names := make([]string, 0, len(rivals)+1)
			for _, h := range append([]heading{winner}, rivals...) {
				names = append(names, h.name(l.row))
			}
			return nil, nil, &sheet.FormatError{
				File: file, Sheet: sheetName, Cell: sheet.CellName(winner.index, l.row),
				Reason: fmt.Sprintf("several columns stand for %s: %s", c.header, strings.Join(names, ", ")),
				Remedy: o.tell(oneOfColumns, c.header, rivals[0].text+"="),
			}
		}
		for _, h := range claimed {
			if h.index != winner.index {
				unused = append(unused, h.name(l.row))
			}
		}
		b := &binding{column: c, id: id, index: winner.index, header: winner.text, aside: slices.Contains(c.aside, product)}
		p.bindings[id] = b
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
	for _, h := range l.headings {
		if secretHeader(h.folded) && !slices.Contains(p.secret, h.index) {
			p.secret = append(p.secret, h.index)
		}
	}
	return p, p.notes(l, unused, ofNew), nil
}

// notes says which columns are of no use, or only to some rows.
func (p *plan) notes(l *layout, unused, ofNew []string) (notes []string) {
	if len(unused) > 0 {
		note := fmt.Sprintf("Not used for %s: %s.", article(p.product), strings.Join(unused, ", "))
		if slices.Contains(agentOrders, p.product) && slices.ContainsFunc(l.headings, func(h heading) bool { return h.column >= agentType && h.column <= agentZIP }) {
			note += " The order appoints the service's own agent; one that you supply belongs to an annual report."
		}
		notes = append(notes, note)
	}
	if len(ofNew) > 0 && p.binding(companyID) != nil {
		notes = append(notes, fmt.Sprintf("Used only where a row has no Company ID and its company is to be created: %s.", strings.Join(ofNew, ", ")))
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

// secretHeader recognises a column of Social Security numbers that the table
// does not know.
func secretHeader(folded string) bool {
	return folded == "ss" || slices.ContainsFunc([]string{"ssn", "socialsecurity", "socsec", "socialno", "socialnum"}, func(word string) bool { return strings.Contains(folded, word) })
}

// name is a header with its cell: "Zip" (F3).
func (h *heading) name(row int) string {
	return fmt.Sprintf("%q (%s)", h.text, sheet.CellName(h.index, row))
}

// resolve settles what bare words mean: "State" beside "Street" and "City" is a
// part of the address, "State" alone is the filing state.
func (l *layout) resolve() []heading {
	all := slices.Clone(l.headings)
	claimed := map[columnID]bool{}
	bareAddress := false
	for _, h := range all {
		if h.strength > weak {
			claimed[h.column] = true
		}
		if h.strength == weak && h.folded != "state" {
			bareAddress = true
		}
	}
	for i := range all {
		h := &all[i]
		if h.strength != weak {
			continue
		}
		if h.folded == "state" {
			h.column = filingState
			if bareAddress || claimed[filingState] {
				h.column = principalState
			}
		}
		if claimed[h.column] {
			h.column = none
		}
	}
	return all
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

// ignored notes the columns that nothing is known of, and what they may be.
func (l *layout) ignored(o *Options) (notes []string) {
	var names []string
	for _, h := range l.headings {
		if h.text == "" || h.column != none || answers[h.folded] {
			continue
		}
		if h.strength == mapped {
			continue
		}
		if near, ok := nearest(h.folded); ok {
			notes = append(notes, fmt.Sprintf("Column %s is not known and was ignored: is it %s? Then %s.", h.name(l.row), columns[near].header, o.tell(readAs, h.text, columns[near].header, h.text+"="+columns[near].header)))
			continue
		}
		names = append(names, h.name(l.row))
	}
	if len(names) > 0 {
		notes = append(notes, "Not used: "+strings.Join(names, ", ")+".")
	}
	return notes
}

// nearest finds the column whose header, in any wording, a misspelt one is closest to.
func nearest(folded string) (columnID, bool) {
	if len(folded) < 4 {
		return none, false
	}
	best, bestDistance := none, 2 // beyond what is taken for a slip of the pen
	switch {
	case len(folded) >= 12:
		bestDistance = 4
	case len(folded) >= 6:
		bestDistance = 3
	}
	for word, w := range wordings {
		if abs(len(word)-len(folded)) > bestDistance || w.strength == weak {
			continue
		}
		d := levenshtein.ComputeDistance(word, folded)
		if d < bestDistance || d == bestDistance && best != none && w.column < best {
			best, bestDistance = w.column, d
		}
	}
	return best, best != none
}

func abs(n int) int { return max(n, -n) }

func didYouMean(ours string) string {
	if near, ok := nearest(filing.FoldName(ours)); ok {
		return fmt.Sprintf("; did you mean %q?", columns[near].header)
	}
	return ""
}

// needs are the columns without which no row of any product here can be
// ordered, and the option that stands in for each.
var needs = []struct {
	columns  []columnID
	products []filing.Product
	option   func(*Options) bool
	remedy   string
	instead  remedy
}{
	{[]columnID{companyID}, onExisting, func(*Options) bool { return false }, "add it, or the columns that describe a company to be created", 0},
	{[]columnID{legalName}, formation, func(*Options) bool { return false }, "add it", 0},
	{[]columnID{entityType}, formation, func(*Options) bool { return false }, "add it", 0},
	{[]columnID{userID, userEmail}, anyProduct, func(o *Options) bool { return o.User != "" }, "add it", oneUser},
	{[]columnID{filingState}, anyProduct, func(o *Options) bool { return o.State != "" }, "add it", oneState},
	{[]columnID{filingYear}, annual, func(o *Options) bool { return o.FilingYear != "" }, "add it", oneYear},
}

// describing are the columns without which a company cannot be created.
var describing = []columnID{legalName, entityType, formationState, formationDate, principalLine1, principalCity}

// missing notes the columns that every row will lack. Where a header comes
// close to one it is an error, for reading on would only fail every row.
func (l *layout) missing(p *plan, o *Options, file, sheetName string) (notes []string, err error) {
	for _, n := range needs {
		has := func(id columnID) bool {
			switch {
			case p.binding(id) != nil:
				return true
			case id == companyID:
				return !slices.ContainsFunc(describing, func(id columnID) bool { return p.binding(id) == nil })
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
		for _, h := range l.headings {
			near, ok := nearest(h.folded)
			if h.column == none && h.strength == unknown && ok && slices.Contains(n.columns, near) {
				return nil, &sheet.FormatError{
					File: file, Sheet: sheetName, Cell: sheet.CellName(h.index, l.row),
					Reason: fmt.Sprintf("no column is headed %s, but one is headed %q", columns[near].header, h.text),
					Remedy: "Correct the header, or " + o.tell(readAs, h.text, columns[near].header, h.text+"="+columns[near].header),
				}
			}
		}
		remedy := n.remedy
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
	if told[filing.AgentChange] && (has[orderAgent] && (told[filing.AnnualReport] || told[filing.EIN]) || told[filing.ForeignQualification] || told[filing.Formation]) {
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
		for _, p := range filing.Products {
			names = append(names, string(p))
		}
		return "", fmt.Errorf("the columns do not tell what is to be filed: %s", o.tell(chooseProduct, strings.Join(names, ", ")))
	case len(mains) == 1:
		return filing.Product(mains[0]), nil
	case len(mains) == 0:
		return filing.Product(names[0]), nil
	}
	sort.Strings(mains)
	return "", fmt.Errorf("the columns fit several products: %s", o.tell(chooseProduct, strings.Join(mains, ", ")))
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
