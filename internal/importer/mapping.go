package importer

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// binding connects a column of the table with a column of the sheet.
type binding struct {
	*column
	id columnID
	// index is the position in the row's cells, or -1 if the sheet does not have the column.
	index  int
	header string
	// mapName is the name of the column in Options.Map.
	mapName string
	// recordOnly reports whether the value is read for the record and is not part of the order.
	recordOnly bool
}

// mapping is how the rows of a sheet are read for a product. It is made once and used for every
// row.
type mapping struct {
	product filing.Product
	// parts are the columns by part. A part is read only in the rows that have it, and ofEvery in
	// all rows.
	parts [parts][]binding
	// officers are the officers for which the sheet has columns, counted from 0.
	officers []int
	bindings []*binding
	// secret are the columns that hold Social Security numbers.
	secret []int
	// hiding are the functions that hide Social Security numbers, by column.
	hiding []func(string) string
	// remarkColumns may speak against filing a row.
	remarkColumns []remarkColumn

	// otherAgent are the columns that name an agent to appoint.
	otherAgent []binding
}

// cellText is a cell and its text.
type cellText struct{ cell, text string }

// binding returns the binding of a column, or nil if the sheet does not have it.
func (p *mapping) binding(id columnID) *binding { return p.bindings[id] }

// over yields the used columns that the row has, with its cells.
func (p *mapping) over(cells []sheet.Cell) iter.Seq2[*binding, sheet.Cell] {
	return func(yield func(*binding, sheet.Cell) bool) {
		for _, b := range p.bindings {
			if b != nil && b.index < len(cells) && !yield(b, cells[b.index]) {
				return
			}
		}
	}
}

// textIn returns the text of a row in a column. It is empty if the sheet does not have the column.
func (p *mapping) textIn(cells []sheet.Cell, id columnID) string {
	if b := p.binding(id); b != nil {
		return cellIn(cells, b.index).Text
	}
	return ""
}

// cellIn returns a cell of a row. It is blank beyond the cells of the row and for the index -1.
func cellIn(cells []sheet.Cell, index int) sheet.Cell {
	if index < 0 || index >= len(cells) {
		return sheet.Cell{}
	}
	return cells[index]
}

// bound counts the columns of the sheet that are used.
func (p *mapping) bound() (n int) {
	for _, b := range p.parts {
		n += len(b)
	}
	return n
}

// flags are the yes/no columns that order a product together with another one.
var flags = map[filing.Product]columnID{
	filing.EIN: orderEIN, filing.AnnualReport: orderAnnualReport, filing.ForeignQualification: orderQualification,
	filing.RegisteredAgent: orderAgent, filing.AgentChange: orderAgent,
}

// requiredFlags lists columns by part. A product that may need a part uses it only if the sheet has
// one of its columns.
var requiredFlags = [parts][]columnID{
	ofAgent: {orderAnnualReport, orderQualification}, ofEIN: {orderEIN}, ofReport: {orderAnnualReport},
}

// takes reports whether the product uses the column in this sheet. A column that the product only
// may need must have its own header. A word with other common meanings is not enough.
func (p *mapping) takes(id columnID, claims map[columnID][]heading) bool {
	c := &columns[id]
	named := func(id columnID) bool {
		return slices.ContainsFunc(claims[id], func(h heading) bool { return h.strength >= exact })
	}
	switch {
	case slices.Contains(c.used, p.product), slices.Contains(c.recordOnly, p.product):
		return true
	case !slices.Contains(c.may, p.product):
		return false
	case requiredFlags[c.part] != nil:
		return slices.ContainsFunc(requiredFlags[c.part], named)
	case c.part == ofEvery:
		return named(id)
	}
	return true
}

// partOf returns the part with which the column is read. The company's columns are part of every
// row if the product uses them.
func (p *mapping) partOf(c *column) part {
	if (c.part == ofCompany || c.part == ofReport) && !slices.Contains(c.may, p.product) {
		return ofEvery
	}
	return c.part
}

// bind makes the mapping. It returns an error if two headers claim one column, unless one of them
// is more exact or the product only may need the column.
func bind(l *layout, product filing.Product, o *Options) (*mapping, []string, error) {
	b := &binder{
		layout:  l,
		options: o,
		mapping: &mapping{product: product, bindings: make([]*binding, len(columns))},
	}
	var resolved []heading
	resolved, b.claims = l.claims()
	for id := range columnID(len(columns)) {
		if err := b.bindColumn(id); err != nil {
			return nil, nil, err
		}
	}
	p := b.mapping
	p.otherAgent = l.namesAgent(b.claims)
	for _, h := range l.headings {
		if filing.IsSSNHeader(h.text) && !slices.Contains(p.secret, h.index) {
			p.secret = append(p.secret, h.index)
		}
	}
	for _, h := range resolved {
		p.hiding = append(p.hiding, h.hiding())
	}
	p.findRemarkColumns(l)
	notes := append(b.instead, p.notes(l, b.unused, b.ofNew)...)
	if len(b.behind) > 0 {
		notes = append(notes, "Read as part of the address before them: "+strings.Join(b.behind, ", ")+".")
	}
	return p, notes, nil
}

// binder binds the columns of the table to the headings that claim them, and collects notes.
type binder struct {
	layout  *layout
	options *Options
	claims  map[columnID][]heading
	mapping *mapping

	// unused are the headings that are not used.
	unused []string
	// ofNew are the headings that are used only for companies to create.
	ofNew []string
	// behind are the headings that are read as part of the address before them.
	behind []string
	// instead are notes on headings that another heading outweighs.
	instead []string
}

// bindColumn binds one column to the strongest heading that claims it.
func (b *binder) bindColumn(id columnID) error {
	claimed := b.claims[id]
	if len(claimed) == 0 {
		return nil
	}
	c, p := &columns[id], b.mapping
	if c.kind == ssnKind {
		for _, h := range claimed {
			p.secret = append(p.secret, h.index)
		}
	}
	winner, rivals := strongest(claimed)
	aside := slices.Contains(c.recordOnly, p.product)
	if !p.takes(id, b.claims) || (len(rivals) > 0 && !c.uses(p.product) && !aside) {
		for _, h := range claimed {
			b.unused = append(b.unused, h.name(b.layout.row))
		}
		return nil
	}
	if len(rivals) > 0 && c.uses(p.product) {
		return b.severalHeadings(c, winner, rivals)
	}
	b.noteOutweighed(c, winner, claimed)
	bound := &binding{
		column:     c,
		id:         id,
		index:      winner.index,
		header:     winner.text,
		mapName:    b.layout.mapName(&winner),
		recordOnly: aside,
	}
	p.bindings[id] = bound
	if winner.followsAddress {
		b.behind = append(b.behind, winner.name(b.layout.row)+" as "+c.header)
	}
	when := p.partOf(c)
	p.parts[when] = append(p.parts[when], *bound)
	if p.product != filing.Formation && (when == ofCompany || when == ofOfficers) {
		b.ofNew = append(b.ofNew, winner.name(b.layout.row))
	}
	if n := int(id-firstOfficer) / int(officerColumnCount); id >= firstOfficer && !slices.Contains(p.officers, n) {
		p.officers = append(p.officers, n)
	}
	return nil
}

// severalHeadings returns the error for a column that several headings claim equally.
func (b *binder) severalHeadings(c *column, winner heading, rivals []heading) error {
	names, leave := make([]string, 0, len(rivals)+1), make([]string, 0, len(rivals)+1)
	for _, h := range append([]heading{winner}, rivals...) {
		name := h.name(b.layout.row)
		names = append(names, name)
		leave = append(leave, fmt.Sprintf("--map %q leaves out %s", b.layout.mapName(&h)+"=", name))
	}
	return &sheet.FormatError{
		Cell:   b.layout.cell(winner.index),
		Reason: fmt.Sprintf("several columns match %s: %s", c.header, strings.Join(names, ", ")),
		Remedy: b.options.remedyText(oneOfColumns, c.header, strings.Join(leave, ", ")),
	}
}

// noteOutweighed notes the headings that claim a column but do not get it.
func (b *binder) noteOutweighed(c *column, winner heading, claimed []heading) {
	row := b.layout.row
	for _, h := range claimed {
		switch {
		case h.index == winner.index:
		case h.strength <= weak || row == 0:
			b.unused = append(b.unused, h.name(row))
		default:
			b.instead = append(b.instead, fmt.Sprintf("%s is read from %s, not from %s. If that is wrong, %s.",
				c.header,
				winner.name(row), h.name(row),
				b.options.remedyText(readAs, h.text, c.header, b.layout.mapName(&h)+"="+c.header)))
		}
	}
}

// namesAgent finds the columns of an agent to appoint, names before addresses. It ignores columns
// of the agent to replace.
func (l *layout) namesAgent(claims map[columnID][]heading) []binding {
	var all []binding
	add := func(h heading, id columnID) {
		if words := headerWords(h.text); !slices.Contains(words, "current") && !slices.Contains(words, "old") &&
			!slices.Contains(words, "previous") {
			all = append(all, binding{
				column:  &columns[id],
				id:      id,
				index:   h.index,
				header:  h.text,
				mapName: l.mapName(&h),
			})
		}
	}
	for _, h := range l.headings {
		if h.folded == "agent" && h.column == none {
			add(h, agentCompanyName)
		}
	}
	for _, id := range []columnID{agentCompanyName, agentFirstName, agentLastName, agentType, agentStreet, agentLine2,
		agentCity, agentState, agentZIP} {
		for _, h := range claims[id] {
			add(h, id)
		}
	}
	return all
}

// notes returns notes on the columns that are not used, or only in some rows.
func (p *mapping) notes(l *layout, unused, ofNew []string) (notes []string) {
	if len(unused) > 0 {
		note := fmt.Sprintf("Not used for %s: %s.", article(p.product), strings.Join(unused, ", "))
		if slices.Contains(agentOrders, p.product) &&
			slices.ContainsFunc(l.headings,
				func(h heading) bool { return h.column >= agentType && h.column <= agentZIP }) {
			note += " The order appoints the filing service's own agent and no other."
		}
		notes = append(notes, note)
	}
	if len(ofNew) > 0 && p.binding(companyID) != nil {
		notes = append(
			notes, fmt.Sprintf("Used only for rows without a Company ID, whose companies are created: %s.",
				strings.Join(ofNew, ", ")))
	}
	return notes
}

// article returns the product with its article.
func article(p filing.Product) string {
	switch title := p.Title(); title[0] {
	case 'a', 'E':
		return "an " + title
	default:
		return "a " + title
	}
}

// suggest finds the column that an unknown column may be. Its header is a misspelling, and its
// values fit.
func (l *layout) suggest(h *heading, rows []sheet.Row) (columnID, bool) {
	if remarkKindOf(h.text) != unknownRemark {
		// "Company Status" is not "Company State".
		return none, false
	}
	near, ok := nearest(h.text, alias)
	return near, ok && l.fits(near, h.index, rows)
}

// ignored returns notes on the columns that are not recognized, with the columns that they may be.
func (l *layout) ignored(o *Options, rows []sheet.Row) (notes []string) {
	var names []string
	for _, h := range l.resolve() {
		if h.text == "" || h.outside || h.ours || h.column != none || h.strength == mapped || resultColumns[h.folded] {
			continue
		}
		if near, ok := l.suggest(&h, rows); ok && h.strength != weak && len(notes) < maxNamed {
			notes = append(notes, fmt.Sprintf("Column %s is not recognized and was ignored. If it is %s, %s.",
				h.name(l.row), columns[near].header, l.readAs(&h, near, o)))
			continue
		}
		names = append(names, h.name(l.row))
	}
	if len(names) > 0 {
		notes = append(notes, "Not used: "+text.FirstOf(names, maxNamed)+".")
	}
	return notes
}

// maxNamed is how many unused columns are named and tried for misspellings. A sheet can have
// sixteen thousand.
const maxNamed = 250

func abs(n int) int { return max(n, -n) }

// need is a column that the rows of some products require, with the option that replaces it. It may
// be several columns of which one is enough. The option and its remedy are empty if no option does.
type need struct {
	columns  []columnID
	products []filing.Product
	option   func(*Options) bool
	remedy   string
	instead  remedy
}

var needs = []need{
	{[]columnID{companyID}, onExisting, nil, "add it, or the columns that describe a company to be created", remedy{}},
	{[]columnID{legalName}, formation, nil, "add it", remedy{}},
	{[]columnID{entityType}, formation, nil, "add it", remedy{}},
	{[]columnID{userID, userEmail}, anyProduct, func(o *Options) bool { return o.User != "" }, "add it", oneUser},
	{[]columnID{filingState}, anyProduct, func(o *Options) bool { return o.State != "" }, "add it", oneState},
	{[]columnID{filingYear}, annual, func(o *Options) bool { return o.FilingYear != "" }, "add it", oneYear},
}

// describing are the columns without which a company cannot be created.
var describing = []columnID{legalName, entityType, formationState, formationDate, principalLine1, principalCity}

// describes reports whether the sheet can describe a company to create.
func (p *mapping) describes() bool {
	return !slices.ContainsFunc(describing, func(id columnID) bool { return p.binding(id) == nil })
}

// gives reports whether the sheet gives a column, directly or by other columns.
func (p *mapping) gives(id columnID) bool {
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

// isJurisdiction reports whether a column has states of uncertain meaning. They may be the states
// in which the rows are filed or in which the companies were formed.
func (l *layout) isJurisdiction(h *heading, rows []sheet.Row) bool {
	return h.column == none && h.strength == unknown && slices.ContainsFunc(headerWords(h.text), func(w string) bool {
		return w == "juris" || strings.HasSuffix(w, "jurisdiction")
	}) && l.fits(filingState, h.index, rows)
}

// readJurisdiction reads such a column in a sheet of formations as the state of filing. Both states
// are the same there.
func (l *layout) readJurisdiction(rows []sheet.Row) {
	for i := range l.headings {
		if h := &l.headings[i]; l.isJurisdiction(h, rows) {
			h.wording = wording{filingState, weak}
		}
	}
}

// uncertainState returns the error for a sheet whose only state may have either meaning.
func (l *layout) uncertainState(h *heading, o *Options) error {
	return &sheet.FormatError{
		Cell: l.cell(h.index),
		Reason: fmt.Sprintf(
			"%s may be the state in which each row is filed, or the state in which its company was formed",
			h.name(l.row)),
		Remedy: o.remedyText(readAsEither, h.text, l.mapName(h)+"="+columns[filingState].header),
	}
}

// missing returns notes on the columns that every row will lack. It returns an error if a header is
// close to one of them, because every row would fail.
func (l *layout) missing(p *mapping, o *Options, rows []sheet.Row) (notes []string, err error) {
	for _, n := range needs {
		if !slices.Contains(n.products, p.product) || slices.ContainsFunc(n.columns, p.gives) ||
			n.option != nil && n.option(o) {
			continue
		}
		var names []string
		for _, id := range n.columns {
			names = append(names, columns[id].header)
		}
		advice := n.remedy
		for _, h := range l.headings {
			if h.column != none && columns[h.column].unsent && n.columns[0] == legalName {
				advice += fmt.Sprintf("; if %s holds the names, %s", h.name(l.row), l.readAs(&h, legalName, o))
				break
			}
			if n.columns[0] == filingState && l.isJurisdiction(&h, rows) {
				return nil, l.uncertainState(&h, o)
			}
			if near, reason, ok := l.resembles(&h, n.columns, rows); ok {
				return nil, &sheet.FormatError{
					Cell:   l.cell(h.index),
					Reason: reason,
					Remedy: "Correct the header, or " + l.readAs(&h, near, o),
				}
			}
		}
		if n.instead != (remedy{}) {
			advice += ", or " + o.remedyText(n.instead)
		}
		notes = append(notes, fmt.Sprintf("No column gives the %s: %s.", strings.Join(names, " or the "), advice))
	}
	if p.product != filing.Formation && p.binding(companyID) != nil && p.binding(legalName) == nil {
		notes = append(
			notes,
			"No column gives the Legal Name: names are not compared with the filing service's record, and "+
				"a wrong Company ID is not noticed. "+
				text.Capital(
					o.remedyText(readAs, "Their Header", columns[legalName].header, "Their Header=Legal Name"))+
				" if a column has the names.",
		)
	}
	return notes, nil
}

// ids are the columns whose values are recognizable by their form.
var ids = map[columnID]func(string) bool{companyID: filing.IsCompanyID, userID: filing.IsUserID}

// resembles finds the missing column that a heading without a meaning resembles. how explains
// whether the header or all of the values resemble it.
func (l *layout) resembles(h *heading, missing []columnID, rows []sheet.Row) (near columnID, how string, ok bool) {
	if h.column != none || h.strength != unknown || h.outside {
		return none, "", false
	}
	if near, ok = l.suggest(h, rows); ok && slices.Contains(missing, near) {
		return near, fmt.Sprintf("no column is headed %s, but one is headed %q", columns[near].header, h.text), true
	}
	for _, near := range missing {
		if is := ids[near]; is != nil && l.all(is, h.index, rows) {
			return near, fmt.Sprintf("no column is headed %s, but %s contains only such values", columns[near].header,
				h.name(l.row)), true
		}
	}
	return none, "", false
}

// readAs returns the advice for reading a column of the sheet as one of ours.
func (l *layout) readAs(h *heading, id columnID, o *Options) string {
	return o.remedyText(readAs, h.text, columns[id].header, l.mapName(h)+"="+columns[id].header)
}
