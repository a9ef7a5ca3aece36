package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// Row is one row of the sheet with its order or its problems.
type Row struct {
	// Number is the number that a spreadsheet program shows.
	Number int
	// Cells are the cells of the sheet, including Social Security numbers.
	Cells []sheet.Cell
	// Request is nil unless the row is ready.
	Request *filing.Request
	// Read is the readable part of a ready or invalid row. Nil for other rows.
	Read *filing.Request
	// Problems are the errors and warnings. A skipped row has none.
	Problems []Problem
	// Result is Ready, Invalid or Skipped.
	Result filing.Result
	// Message is the reason why the row is not ready, for a person.
	Message string
	// Priority is set by a schedule's run.
	Priority int64

	// notInRun reports whether this run does not file the row.
	notInRun bool
	hidden   bool
	// struck reports whether most of the cells are struck through.
	struck bool
	// notAFiling reports whether the row is a total, a footnote or a header.
	notAFiling bool
	// noAgent reports whether the row neither orders nor supplies an agent.
	noAgent bool
	// createsCompany reports whether the company is created first.
	createsCompany bool
	// repeats is the number of the earlier row that this row repeats, or 0.
	repeats int
	keys    []key
	// name is a hash of the company's folded name. Zero if the row has no name.
	name uint64
	// whole is a hash of the facts about the company and of the number of items that the row
	// orders.
	whole uint64
}

// skip marks the row as skipped, with the reason.
func (r *Row) skip(why string) {
	r.Result, r.Message, r.Request, r.Read, r.Problems = filing.Skipped, why, nil, nil, r.Problems[:0]
}

// message joins the row's errors. It names columns instead of cells, because the row has another
// number in the results workbook.
func (r *Row) message() string {
	var all []string
	for i := range r.Problems {
		p := &r.Problems[i]
		if p.Severity != Error {
			continue
		}
		place := ""
		if p.Column != "" {
			place = p.Column + ": "
		}
		all = append(all, place+p.Message)
	}
	return strings.Join(all, "; ")
}

// checker turns rows into orders. Each goroutine needs a separate checker. Its parts read the same
// row.
type checker struct {
	*cellReader
	orderReader
	remarkReader
}

func (im *Import) newChecker() *checker {
	c := im.newCellReader()
	return &checker{
		cellReader:   c,
		orderReader:  orderReader{cellReader: c, dues: map[[6]string]knownDue{}},
		remarkReader: remarkReader{cellReader: c, judged: map[judgedText]verdict{}},
	}
}

// check reads one row into out. The request is in d.
func (c *checker) check(in *sheet.Row, out *Row, d *draft) {
	*out = Row{
		Number:   in.Number,
		Cells:    in.Cells,
		Problems: out.Problems[:0],
		Result:   filing.Ready,
		hidden:   in.Hidden,
		struck:   in.Struck,
		keys:     out.keys[:0],
	}
	c.row, c.faulty, c.officers, c.filteredOut = out, c.faulty[:0], c.officers[:0], ""
	whyNot := c.whyNotAFiling()
	c.enterSection(whyNot == isFootnote)
	if s := c.im.options.Run; s != nil {
		var ok bool
		if c.run, ok = s.RowOf(in.Number); !ok {
			out.notInRun = true
			return
		}
		out.Priority = c.run.Priority
	}
	if by := c.im.options.Excluded.By(c.im.sheet, in.Number); by != "" {
		out.skip("Excluded by " + by)
		return
	}
	if in.Hidden && c.im.options.VisibleOnly {
		out.skip(isHidden)
		return
	}
	if whyNot != "" {
		out.skip(whyNot)
		out.notAFiling = true
		return
	}
	if len(c.im.mapping.officers) > 0 {
		clear(c.values)
	} else {
		clear(c.values[:firstOfficer])
	}
	c.isNew = c.im.mapping.product != filing.Formation && c.isEmpty(companyID)
	c.readPart(ofEvery)
	c.checkWidth()
	if why := c.fillOptions(); why != "" {
		out.skip(why)
		return
	}
	*d = draft{}
	if why := c.build(d); why != "" {
		out.skip(why)
		return
	}
	out.Read = &d.request
	if c.hearRemarks(); c.filteredOut != "" {
		out.skip(c.filteredOut)
		return
	}
	c.addViolations(d.request.Violations(c.year))
	c.warnNotDue(&d.request)
	if len(out.Problems) > 1 {
		slices.SortStableFunc(out.Problems, byColumn)
	}
	for i := range out.Problems {
		if out.Problems[i].Severity == Error {
			out.Result = filing.Invalid
			out.Message = out.message()
			return
		}
	}
	out.Request = &d.request
	out.identify()
}

// readPart reads the cells of a part of the order.
func (c *cellReader) readPart(p part) {
	bindings := c.im.mapping.parts[p]
	for i := range bindings {
		b := &bindings[i]
		c.values[b.id] = c.readCell(b, cellIn(c.row.Cells, b.index))
	}
}

// filled finds the first cell of a part with a value.
func (c *cellReader) filled(p part) *binding {
	bindings := c.im.mapping.parts[p]
	for i := range bindings {
		if b := &bindings[i]; isFilled(b.kind, cellIn(c.row.Cells, b.index)) {
			return b
		}
	}
	return nil
}

// isEmpty reports whether the row has no value in a column.
func (c *cellReader) isEmpty(id columnID) bool {
	b := c.im.mapping.binding(id)
	return b == nil || !isFilled(b.kind, cellIn(c.row.Cells, b.index))
}

// checkWidth adds an error for a CSV row that is longer than its header. The usual reason is a name
// with an unquoted delimiter, which moves all cells after it.
func (c *checker) checkWidth() {
	i := len(c.im.layout.headings)
	if i >= len(c.row.Cells) || c.im.file.Format() != sheet.CSV {
		return
	}
	c.addProblem(cellAt(i, ""), c.row.Cells[i].Text, Error, "row.too-long",
		"the row has more cells than the header: put quotation marks around names that contain the delimiter, or "+
			"add a header for the column")
}

// fillOptions applies the state and the user of the options. It returns a reason to skip a row of
// another state.
func (c *orderReader) fillOptions() (skip string) {
	o := &c.im.options
	v := c.values
	if o.State != "" && !c.isFaulty(filingState) {
		state, column := v[filingState], filingState
		if state == "" {
			state, column = v[formationState], formationState
		}
		switch {
		case state != "" && state != string(o.State):
			return fmt.Sprintf("the %s is %s, and the batch is limited to %s",
				strings.ToLower(columns[column].header), state, o.State)
		case state == "" && (c.im.mapping.binding(filingState) != nil || c.isFaulty(formationState)):
			// The sheet has a column of states, but this row has no state. The state is not
			// guessed.
		default:
			v[filingState] = string(o.State)
		}
	}
	if o.User != "" && !c.isFaulty(userID) && !c.isFaulty(userEmail) {
		c.fillUser(o.User)
	}
	return ""
}

// fillYear applies the filing year of the options or of the schedule's run.
func (c *orderReader) fillYear() {
	year := cmp.Or(c.run.FilingYear, c.im.options.FilingYear)
	if year == "" || c.isFaulty(filingYear) {
		return
	}
	v := c.values
	if y := v[filingYear]; y != "" && y != year {
		b := c.bindingAt(filingYear)
		c.addError(b, c.textOf(b), "the cell says "+y+" but "+c.im.options.remedyText(givenYear,
			year)+": correct one of them")
	}
	v[filingYear] = year
}

func (c *orderReader) fillUser(user string) {
	v := c.values
	for _, id := range []columnID{userID, userEmail} {
		if v[id] != "" && !strings.EqualFold(v[id], user) {
			b := c.bindingAt(id)
			c.addError(b, c.textOf(b), "the cell says "+v[id]+" but "+c.im.options.remedyText(givenUser, user)+
				": correct one of them, or "+c.im.options.remedyText(ignoreColumn, b.header, b.mapName+"="))
			return
		}
	}
	if strings.Contains(user, "@") {
		v[userID], v[userEmail] = "", user
	} else {
		v[userID], v[userEmail] = user, ""
	}
}

// isHidden is the reason to skip a hidden row.
const isHidden = "the row is hidden, and hidden rows are left out"

// The reasons why a row is not a filing.
const (
	isTotal    = "a total row, not a filing"
	isFootnote = "only one cell is filled: a heading or a note, not a filing"
	isHeading  = "a repeated header row, not a filing"
	isBeside   = "only cells beside the table, not a filing"
	isBlank    = "only zeros or placeholders: a blank row"
)

// whyNotAFiling recognizes rows among filings that are not filings, and returns the reason to skip
// them. It returns no reason if it is uncertain, because a real company must never be dropped.
func (c *checker) whyNotAFiling() string {
	p := c.im.mapping
	cells := c.row.Cells
	switch ref := p.textIn(cells, companyID); {
	case ref == exampleCompany, p.product == filing.Formation && p.textIn(cells, legalName) == exampleName:
		return isExample
	case strings.HasPrefix(ref, "comp_"):
		return ""
	}
	first, filled := -1, 0
	for i := range cells {
		if cells[i].Kind != sheet.Blank && !c.im.layout.isOutside(i) {
			if filled++; first < 0 {
				first = i
			}
		}
	}
	switch {
	case filled == 0 && len(cells) > 0:
		return isBeside
	case filled == 0:
		return ""
	case p.isBlank(cells):
		return isBlank
	case totalWord.MatchString(cells[first].Text) && p.onlyNumbersBeside(first, cells):
		return isTotal
	case filled == 1 && p.bound() > 1 && (p.isNote(first, cells[first].Text) || c.speaks(cells[first].Text)),
		filled > 1 && c.isHeading(first):
		return isFootnote
	case filled > 1 && c.im.layout.repeatsHeader(cells):
		return isHeading
	}
	return ""
}

// isBlank reports whether the cells of the order hold only zeros, unchecked boxes and placeholders.
// Formulas below the last company and exports of databases write such cells.
func (p *mapping) isBlank(cells []sheet.Cell) bool {
	found := false
	for _, cell := range p.over(cells) {
		switch {
		case cell.Kind == sheet.Blank:
		case cell.Text == "FALSE", text.IsZero(cell.Text),
			cell.Text != "" && text.PlaceholderOf(cell.Text) != text.Value:
			found = true
		default:
			return false
		}
	}
	return found
}

// totalWord matches "Total", "Grand total:", "TOTALS" and "Total (60)", but not
// "Total Wine LLC".
var totalWord = newPattern(`(?i)^\W*((grand\W*|sub\W*)?totals?|sum|count|number\W*of\W*companies|` +
	`total\W*(count|companies|rows|entities|fees))\W*[\d\W]*$`)

// onlyNumbersBeside reports whether the other cells of the order are blank or sums. A year is not a
// sum.
func (p *mapping) onlyNumbersBeside(first int, cells []sheet.Cell) bool {
	for b, cell := range p.over(cells) {
		switch kind := cell.Kind; {
		case b.index == first, kind == sheet.Blank, kind == sheet.Formula, kind == sheet.Error:
		case kind == sheet.Number, kind == sheet.Text:
			if !isDigits(cell.Text) || len(cell.Text) == 4 && (b.kind == yearKind || b.id == companyID) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// isNote reports whether the text of a row's only cell is a heading or a footnote. A cell that could
// begin a company's row (an ID, an address, a company's name) is not a note.
func (p *mapping) isNote(i int, text string) bool {
	for _, b := range p.bindings {
		if b == nil || b.index != i {
			continue
		}
		switch b.kind {
		case companyKind, userKind, emailKind:
			return strings.ContainsAny(text, " *:") && !filing.IsEmail(text)
		case nameKind:
			return !endsAsCompany(text)
		case textKind:
			return true
		default:
			return len(text) > 20
		}
	}
	return true
}

// companyEndings are the last words of names of companies.
var companyEndings = text.WordTable(map[bool]string{
	true: "llc inc corp co company ltd limited lp llp pllc pc plc trust group holdings partners",
})

// endsAsCompany reports whether a name ends like the name of a company.
func endsAsCompany(name string) bool {
	words := strings.Fields(filing.FoldLegalName(name))
	return len(words) > 1 && companyEndings[words[len(words)-1]]
}

// repeatsHeader reports whether all cells of a row repeat their headers.
func (l *layout) repeatsHeader(cells []sheet.Cell) bool {
	for i, cell := range cells {
		if cell.Kind == sheet.Blank || l.isOutside(i) {
			continue
		}
		if i >= len(l.headings) || !strings.EqualFold(filing.HideSSNs(cell.Text), l.headings[i].text) {
			return false
		}
	}
	return true
}
