package importer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// officersSheet is the name of a second sheet that lists officers, each with the company's legal
// name.
const officersSheet = "Officers"

func isOfficersSheet(name string) bool {
	return filing.FoldName(name) == filing.FoldName(officersSheet)
}

// officerRow is a row of the sheet of officers.
type officerRow struct {
	sheet  string
	number int
	cells  []sheet.Cell
}

// officerList is the sheet of officers. It is read as a whole, because sheets of formations are
// short.
type officerList struct {
	sheet string
	// header is the number of the header row.
	header  int
	headers []string
	rows    []sheet.Row
	// company is the column of the legal name.
	company int
	// columns are the columns by part. The index of a column that the sheet lacks is -1.
	columns [officerColumnCount]binding
	// byName has the officers by folded legal name, in the order of the sheet.
	byName  map[string][]*officerRow
	orphans []orphan
}

// orphan is an officer whose legal name does not occur in any row.
type orphan struct {
	row  *officerRow
	name string
	// near is the folded legal name of a row to which the officer may belong.
	near string
}

// officerWordings are the headers of a sheet of officers.
var officerWordings = func() map[string]columnID {
	all := map[string]columnID{}
	for i, p := range officerParts {
		for _, word := range append([]string{p.header, p.field, strings.TrimPrefix(p.field, "address.")},
			p.aliases...) {
			all[foldHeader(word)] = columnID(i)
			all[foldHeader("Officer "+word)] = columnID(i)
		}
	}
	for _, word := range []string{"Legal Name", "Company Legal Name", "Entity Name", "Legal Entity Name",
		"Name of Entity", "Entity", "Company"} {
		all[foldHeader(word)] = none
	}
	return all
}()

// loadOfficers reads the sheet of officers. It returns nil if the workbook has none.
func (im *Import) loadOfficers() (*officerList, error) {
	sheets := im.file.Sheets()
	i := slices.IndexFunc(sheets, func(s sheet.Info) bool { return isOfficersSheet(s.Name) && s.Name != im.sheet })
	if i < 0 {
		return nil, nil
	}
	list := &officerList{sheet: sheets[i].Name, byName: map[string][]*officerRow{}}
	body, err := im.readOfficersHead(list)
	if err != nil {
		return nil, err
	}
	if o := im.edits.of(list.sheet); o != nil {
		if err := im.addToOfficers(list, o); err != nil {
			return nil, err
		}
		if body, err = im.readOfficersHead(list); err != nil {
			return nil, err
		}
	}
	for i := range list.rows[body:] {
		row := &list.rows[body+i]
		name := list.nameOf(row.Cells)
		list.byName[name] = append(list.byName[name], &officerRow{sheet: list.sheet, number: row.Number,
			cells: row.Cells})
	}
	return list, nil
}

// readOfficersHead reads the rows of the sheet and returns the index of the first row below its
// header.
func (im *Import) readOfficersHead(list *officerList) (body int, err error) {
	list.rows = nil
	if err := im.eachRow(list.sheet, func(r *sheet.Row) {
		row := *r
		row.Cells = slices.Clone(r.Cells)
		list.rows = append(list.rows, row)
	}); err != nil {
		return 0, err
	}
	refuse := func(cell, reason string) error {
		return &sheet.FormatError{
			File:   im.file.Name(),
			Sheet:  list.sheet,
			Cell:   cell,
			Reason: reason,
			Remedy: "Give it the columns Legal Name, Type, First Name, Last Name, Company Name, Title, Primary, " +
				"Line 1, City, State, Postal Code",
		}
	}
	for i := range min(len(list.rows), headRows) {
		if found, twice := list.readHeader(list.rows[i].Cells); twice != "" && found {
			return 0, refuse(sheet.CellName(0, list.rows[i].Number), "several columns are headed "+twice)
		} else if found {
			list.header = list.rows[i].Number
			return i + 1, nil
		}
	}
	return 0, refuse("", "none of its first rows is a header row with a Legal Name column and officer columns")
}

// addToOfficers adds the columns that the sheet of officers lacks.
func (im *Import) addToOfficers(list *officerList, o *overlay) error {
	width := 0
	for i := range list.rows {
		if list.rows[i].Number == list.header {
			width = len(list.rows[i].Cells)
		}
	}
	return o.add(list.header, width, func(header string) (string, int, error) {
		name, index, ok := list.find(header)
		if !ok {
			return "", 0, im.badEdit(list.sheet, "a correction is for a column %q, which does not exist", header)
		}
		return name, index, nil
	})
}

// nameOf returns the folded legal name in a row of the sheet.
func (l *officerList) nameOf(cells []sheet.Cell) string {
	if l.company < len(cells) {
		return filing.FoldLegalName(typographic.Replace(cells[l.company].Text))
	}
	return ""
}

// readHeader tries a row as the header.
func (l *officerList) readHeader(cells []sheet.Cell) (found bool, twice string) {
	l.company, l.headers = -1, nil
	for i := range l.columns {
		l.columns[i] = binding{
			column: &columns[officerColumn(0, columnID(i))],
			index:  -1,
			header: officerParts[i].header,
		}
	}
	known := 0
	for i, cell := range cells {
		l.headers = append(l.headers, filing.HideSSNs(cell.Text))
		id, ok := officerWordings[foldHeader(cell.Text)]
		switch {
		case !ok || cell.Kind != sheet.Text:
			continue
		case id == none && l.company < 0:
			l.company = i
		case id == none:
			twice = "Legal Name"
		case l.columns[id].index < 0:
			l.columns[id].index, l.columns[id].header = i, filing.HideSSNs(cell.Text)
			known++
		default:
			twice = officerParts[id].header
		}
	}
	return l.company >= 0 && known >= 2, twice
}

// ledgerOfficers returns the officers of a company in the form of the ledger. It includes the
// officers that may belong to the company.
func (l *officerList) ledgerOfficers(row int, legalName string) (all []ledger.Officer) {
	add := func(p *officerRow) {
		all = append(all, ledger.Officer{Row: row, Number: p.number, Cells: sheet.EncodeCells(l.masked(p.cells))})
	}
	name := filing.FoldLegalName(typographic.Replace(legalName))
	for _, p := range l.byName[name] {
		add(p)
	}
	for _, o := range l.orphans {
		if o.near == name {
			add(o.row)
		}
	}
	return all
}

// masked returns the cells without Social Security numbers.
func (l *officerList) masked(cells []sheet.Cell) []sheet.Cell {
	headers := slices.Clone(l.headers)
	return hideUnder(&headers, cells)
}

// draftColumns lists the columns of the sheet.
func (l *officerList) draftColumns() []DraftColumn {
	all := make([]DraftColumn, len(l.headers))
	for i, header := range l.headers {
		all[i] = DraftColumn{Index: i, Header: header, Secret: filing.IsSSNHeader(header)}
	}
	all[l.company].Label, all[l.company].Required = "Legal Name", true
	for part, b := range l.columns {
		if b.index >= 0 {
			all[b.index].Label, all[b.index].Choices = officerParts[part].header, b.values()
		}
	}
	return all
}

// find returns our name of a column and its index in the sheet, or -1.
func (l *officerList) find(header string) (name string, index int, ok bool) {
	switch id, ok := officerWordings[foldHeader(header)]; {
	case !ok:
		return "", -1, false
	case id == none:
		return "Legal Name", l.company, true
	default:
		return officerParts[id].header, l.columns[id].index, true
	}
}

// draftColumnOf returns the index of a column by one of its names, or -1 if the sheet does not have
// it.
func (l *officerList) draftColumnOf(header string) int {
	_, index, _ := l.find(header)
	return index
}

// findOrphans finds the officers that belong to no row. A row with a similar legal name may lack
// one of its officers, so it is not sent.
func (im *Import) findOrphans(list *officerList) error {
	// names counts the rows with each name.
	names := map[string]int{}
	rows := 0
	if b := im.mapping.binding(legalName); b != nil {
		if err := im.eachRow(im.sheet, func(r *sheet.Row) {
			if r.Number > im.layout.row && b.index < len(r.Cells) {
				names[filing.FoldLegalName(typographic.Replace(r.Cells[b.index].Text))]++
				rows++
			}
		}); err != nil {
			return err
		}
	}
	spare, shared := maxComparisons, 2*(rows+len(list.rows))+maxShared
	for name, places := range list.byName {
		if names[name] > 0 && name != "" {
			if shared -= names[name] * len(places); shared < 0 {
				return &sheet.FormatError{
					File: im.file.Name(), Sheet: list.sheet,
					Reason: "many rows have the same legal name, and each would have all of its officers",
					Remedy: "List each company once, or name its officers in its row",
				}
			}
			continue
		}
		if spare -= len(names); spare < 0 {
			return &sheet.FormatError{
				File: im.file.Name(), Sheet: list.sheet,
				Reason: "too many of its officers match no company",
				Remedy: "Remove the officers of companies that are not filed, or enter each Legal Name exactly as " +
					"in the company's row",
			}
		}
		near := nearName(name, names)
		for _, p := range places {
			list.orphans = append(list.orphans, orphan{row: p, name: name, near: near})
		}
	}
	slices.SortFunc(list.orphans, func(a, b orphan) int { return a.row.number - b.row.number })
	if len(list.orphans) > 0 {
		var rows []string
		for _, o := range list.orphans {
			rows = append(rows, strconv.Itoa(o.row.number))
		}
		im.note("ATTENTION: %s on the sheet %q: row %s.",
			text.CountOf(len(rows), "officer matches no company", "officers match no company"), list.sheet,
			text.FirstOf(rows, maxListed))
	}
	return nil
}

// maxComparisons limits the comparisons of names to about a second of processor time.
const maxComparisons = 2_000_000

// maxShared limits the number of officers that rows share, in addition to one for each row.
const maxShared = 10_000

// maxNearName is the length of the longest name that is compared. No company has a longer name, and
// the time for a comparison grows with the product of both lengths.
const maxNearName = 250

// nearName finds the closest name that is at most a misspelling away.
func nearName(name string, names map[string]int) string {
	if len(name) > maxNearName {
		return ""
	}
	best, bestDistance := "", max(2, len(name)/5)+1
	for other := range names {
		if len(other) > maxNearName || abs(len(other)-len(name)) > bestDistance*utf8.UTFMax {
			continue
		}
		if d := levenshtein.ComputeDistance(name, other); other != "" &&
			(d < bestDistance || d == bestDistance && other < best) {
			best, bestDistance = other, d
		}
	}
	return best
}

// eachRow calls fn with every row of a sheet.
func (im *Import) eachRow(name string, fn func(*sheet.Row)) error {
	r, err := im.rows(name)
	if err != nil {
		return err
	}
	return sheet.EachRow(r, func(row *sheet.Row) error {
		fn(row)
		return nil
	})
}

// problem returns the problem of an orphan.
func (l *officerList) problem(o *orphan) Problem {
	p := Problem{
		Sheet:    l.sheet,
		Row:      o.row.number,
		Cell:     sheet.CellName(l.company, o.row.number),
		Column:   "Legal Name",
		Severity: Error,
		Rule:     "officer.company",
		Message: "no row has this legal name: enter the name exactly as in the company's row, or remove " +
			"the officer",
		ColumnIndex: -1,
	}
	if l.company < len(o.row.cells) {
		p.Value = filing.HideSSNs(o.row.cells[l.company].Text)
	}
	p.elsewhere = &ledger.Place{Sheet: l.sheet, Row: o.row.number, Column: l.company}
	if p.Value == "" {
		p.Message = "the legal name is missing: enter the company's name exactly as in its row"
	}
	return p
}

// orphans returns the problems of orphans without a similar row. Other orphans are reported with
// the similar row.
func (im *Import) orphans() (all []Problem) {
	if im.officers == nil {
		return nil
	}
	for i := range im.officers.orphans {
		if o := &im.officers.orphans[i]; o.near == "" {
			all = append(all, im.officers.problem(o))
		}
	}
	return all
}

// readOfficers reads the officers of the row from its columns or from the sheet of officers. It
// records the position of each in c.officers.
func (c *checker) readOfficers() []filing.Officer {
	var all []filing.Officer
	// said is the last officer's value in the column of the primary officer.
	said := ""
	c.officers = c.officers[:0]
	c.readPart(ofOfficers)
	for _, n := range c.im.mapping.officers {
		get := func(part columnID) string { return c.values[officerColumn(n, part)] }
		if o, ok := c.readOfficer(get, officerColumn(n, 0)); ok {
			all, said = append(all, o), get(officerPrimary)
			c.officers = append(c.officers, officerAt{first: officerColumn(n, 0)})
		}
	}
	list := c.im.officers
	if list == nil {
		return c.soleOfficer(all, said)
	}
	name := filing.FoldLegalName(c.values[legalName])
	for i := range list.orphans {
		if o := &list.orphans[i]; o.near == name && name != "" {
			p := list.problem(o)
			p.Message += fmt.Sprintf("; it is close to %q in row %d, which is not filed until this is corrected",
				c.values[legalName], c.row.Number)
			c.row.Problems = append(c.row.Problems, p)
		}
	}
	places := list.byName[name]
	if name == "" || len(places) == 0 {
		return c.soleOfficer(all, said)
	}
	if len(all) > 0 {
		b := c.filled(ofOfficers)
		if b == nil {
			b = c.bindingAt(legalName)
		}
		c.addErrorUnder(b, "", "officer.twice",
			fmt.Sprintf("the officers are given in this row and on the sheet %q (row %d): keep one of the two",
				list.sheet, places[0].number))
		return all
	}
	for n, p := range places {
		first := firstOfficer + columnID(n)*officerColumnCount
		var values [officerColumnCount]string
		for part := range values {
			b := list.columns[part]
			if b.index >= 0 && b.index < len(p.cells) {
				b.id, b.officer = first+columnID(part), p
				values[part] = c.readCell(&b, p.cells[b.index])
			}
			c.values[first+columnID(part)] = values[part]
		}
		o, _ := c.readOfficer(func(part columnID) string { return values[part] }, first)
		all = append(all, o)
		said = values[officerPrimary]
		c.officers = append(c.officers, officerAt{first: first, listed: p})
	}
	return c.soleOfficer(all, said)
}

// soleOfficer makes a company's only officer the primary one unless the sheet marks the officer as
// not primary.
func (c *checker) soleOfficer(all []filing.Officer, said string) []filing.Officer {
	if len(all) == 1 && said == "" && !c.isFaulty(c.officers[0].first+officerPrimary) {
		all[0].IsPrimary = true
	}
	return all
}

// officerAt is the position of one of the row's officers.
type officerAt struct {
	// first is the first of the officer's columns.
	first columnID
	// listed is the row on the sheet of officers. Nil if the row of the filing has the officer's
	// columns.
	listed *officerRow
}

// readOfficer returns the officer with the values. It returns false if the only values are defaults
// of a form.
func (c *checker) readOfficer(get func(columnID) string, first columnID) (filing.Officer, bool) {
	o := filing.Officer{
		Type:        filing.AgentType(get(officerType)),
		FirstName:   get(officerFirstName),
		LastName:    get(officerLastName),
		CompanyName: get(officerCompanyName),
		Title:       get(officerTitle),
		IsPrimary:   get(officerPrimary) == yes,
		Address:     c.readAddress(func(i int) string { return get(officerLine1 + columnID(i)) }),
	}
	o.Type = c.partyType(o.Type, o.FirstName+o.LastName, o.CompanyName, first+officerType, first+officerFirstName,
		first+officerLastName, first+officerCompanyName)
	empty := o == (filing.Officer{})
	for part := range officerColumnCount {
		empty = empty && !c.isFaulty(first+part)
	}
	return o, !empty
}

// partyType returns the type of an officer or an agent. Without a given type, the names decide.
func (c *checker) partyType(given filing.AgentType, person, company string, at columnID,
	names ...columnID) filing.AgentType {
	if slices.ContainsFunc(names, c.isFaulty) {
		c.faulty = append(c.faulty, at)
	}
	switch {
	case given != "", c.isFaulty(at), (person != "") == (company != ""):
		return given
	case company != "":
		return filing.CompanyParty
	}
	return filing.Person
}

// officerField finds the column of a field such as company.officers[2].address.city.
func (c *checker) officerField(field string) (*binding, bool) {
	rest, found := strings.CutPrefix(strings.TrimPrefix(field, "formation."), "company.officers")
	if !found {
		return nil, false
	}
	var n int
	// The field is the whole list, which is empty.
	if rest == "" {
		for i := range c.im.mapping.parts[ofOfficers] {
			return &c.im.mapping.parts[ofOfficers][i], true
		}
		return c.bindingAt(legalName), true
	}
	if _, err := fmt.Sscanf(rest, "[%d]", &n); err != nil || n >= len(c.officers) {
		return c.bindingAt(legalName), true
	}
	_, rest, _ = strings.Cut(rest, "].")
	part := columnID(slices.IndexFunc(officerParts, func(p column) bool { return p.field == rest }))
	if part < 0 {
		return c.bindingAt(legalName), true
	}
	at := c.officers[n]
	if at.listed == nil {
		return c.bindingAt(at.first + part), true
	}
	b := c.im.officers.columns[part]
	b.id, b.officer = at.first+part, at.listed
	return &b, true
}
