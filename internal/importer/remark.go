package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// A spreadsheet has remarks that a row should not be filed. They are in columns that are not sent,
// in cell comments, in headings inside the table, and beside names. Such a row is held until a
// person excludes it or files it anyway.

// verdict is the effect of a text on filing its row, in rising order.
type verdict uint8

const (
	passes verdict = iota
	// warns means that the row is filed unless a person objects.
	warns
	// holds means that the row is not filed unless a person insists.
	holds
)

// remarkKind is the kind of remarks in a column.
type remarkKind uint8

const (
	unknownRemark remarkKind = iota
	// nameRemark is beside the name of an existing company, whose record at the filing service is
	// compared.
	nameRemark
	// newNameRemark is beside the name of a company to form or create.
	newNameRemark
	// noteRemark is in a note, a cell comment or a heading inside the table.
	noteRemark
	statusRemark
	// filedRemark is about an earlier filing or its date.
	filedRemark
	dueRemark
)

// The columns of remarks that are not columns of the sheet, in the form of --include.
const (
	commentColumn = "Comment"
	headingColumn = "Heading"
)

// noteWords are the words in the headers of notes.
var noteWords = []string{"note", "notes", "comment", "comments", "remark", "remarks", "instruction", "instructions",
	"action", "flag", "memo", "todo", "heading"}

// otherStatus are the words in the headers of a status of something other than the company or its
// filing, such as "Tax Status" and "Payment Status".
var otherStatus = strings.Fields("tax taxes pay payment payments invoice billing bill email mail mailing " +
	"phone marital user owner officer member agent boi kyc credit contract engagement insurance payroll bank " +
	"filer vip letter")

// activeHeader are the words of a header that asks whether the company is active.
var activeHeader = strings.Fields("the is still active inactive company entity corp llc code")

// remarkKindOf returns the kind of a column with a header.
func remarkKindOf(header string) remarkKind {
	words := headerWords(header)
	has := func(these ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(these, w) })
	}
	switch {
	// The remark is beside the table.
	case len(words) == 0:
		return noteRemark
	case has(otherStatus...):
	case strings.Contains(foldHeader(header), "status"), has("standing", "disposition"),
		has("active") && !slices.ContainsFunc(words,
			func(w string) bool { return !slices.Contains(activeHeader, w) }):
		return statusRemark
	case has("amount", "fee", "fees", "cost", "paid", "initial", "first", "original"):
		return unknownRemark
	case has("filed", "efiled", "submitted", "completed", "done", "confirmation"),
		has("prior", "previous", "last") && has("filing", "report", "renewal"):
		return filedRemark
	case has("due", "deadline"):
		return dueRemark
	case has(noteWords...):
		return noteRemark
	}
	return unknownRemark
}

// The parts of the expressions below. A text is searched as its words in lower case with blanks
// between words and bars between clauses.
const (
	who = `(?:client|clients|customer|owner|cpa|accountant|attorney|lawyer|counsel|law firm|parent|` +
		`bookkeeper|they)`
	fillers = `(?:(?:the|this|these|that|our|company|companies|entity|entities|business|corp|corporation|llc|inc|` +
		`client|clients|owner|we|paid|it|was|were|is|are|has|have|been|being|got|now|since|and|admin|` +
		`administratively|voluntarily|involuntarily|formally|legally|officially|fully|status|all|already|just|please|` +
		`in|ar|annual|report|reports|online|\d+) )*`
	month = `(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|` +
		`oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`
	tail = `(?:\||in|on|as|by|effective|eff|to|into|with|per|from|since|during|out|off|last|this|and|or|at|for|it|` +
		`up|down|until|online|electronically|today|yesterday|w|filed|pending|` +
		`(?:the )?(?:business|company|entity)|entities|companies|client|clients|before|after|\d+|` + month + `)`
	closed = `(?:dissol\w+|void|voided|sold|merged?|merger|convert(?:ed|ing)|conversion|withdr\w+|terminat(?:ed|ion)|` +
		`cancell?(?:ed|ation)|` +
		`revoked|revocation|forfeit\w*|closed|closing|liquidat\w+|wound (?:it |this |them )?up|` +
		`surrendered|shut (?:it |this )?down|shutting down|` +
		`wind(?:ing)? (?:up|down)|struck off|ceased|` +
		`defunct|bankrupt\w*|abandoned|redomesticated|inactive|exempt)`
	instruction = `(?:skip|(?:ok |safe )?to skip|hold|on hold|wait|omit|exclude|ignore|` +
		`leave (?:out|it|this(?: one)?|alone)|remove|stop|archived?|not required|not due|not needed|duplicate)`
	done    = `(?:filed|submitted|done|completed?|efiled)`
	handled = `(?:` + done + `|handled|taken care of)`
)

var (
	// refusals speak against filing in any column.
	refusals = newPattern(` (?:(?:do not|don t|dont|never|must not|should not|no need to|` +
		`will not|won t|not want to) (?:file|efile|renew)|not (?:filing|renewing)|` +
		`let(?:ting)? (?:(?:it|this|them|the|company|entity) )*(?:lapse|expire|go|dissolve)|` +
		`(?:not to|must not|should not|will not|need not) be (?:filed|renewed|sent|submitted)|` +
		`(?:do not|don t|dont) (?:send|submit|process|order|proceed|touch|do|bother) ` + tail + `|dnf|` +
		`(?:put|keep|place|is|are) on hold|` +
		`hold off|not (?:yet )?approved|no longer (?:an? |our |in )?(?:client|clients|customer|business|active|` +
		`exists?|needed|required|ours|operat\w+|trading|managed|handled|represented?|with us)|` +
		`clients? (?:has |have )?(?:left|lost|fired us|disengaged)|not ours|` +
		`(?:moved|went|switched|transferred) to (?:(?:an?|the|his|her|their|our|new|another|other) )*` +
		`(?:cpa|accountant|firm|lawyer|attorney|bookkeeper|provider)|` +
		`(?:former|ex|past|lost|not an?|not our) (?:clients?|customers?)|` +
		`reference only|out of business|(?:filing|files?|filed) elsewhere|` +
		`no (?:annual report|ar|report|filing|renewal)s? (?:is |are )?(?:due|required|needed)|` +
		`(?:report|ar|filing|renewal) (?:is )?not (?:due|required|needed)) `)
	// filedBefore matches a statement that the filing was made before, or that others make it.
	filedBefore = newPattern(` (?:already (?:been )?(?:filed|submitted|done|completed|renewed)|` +
		`(?:filed|did|done) (?:it |this |that )*already|self fil\w+|` +
		handled + ` by (?:the |a |an |another |our |prior |former |previous )*(?:` + who +
		`|others?|another|them|state)|` + who + ` (?:(?:is|has|have|will|already) )*(?:do|does|did|done|` +
		`doing) (?:it|this|these|them)|` + who +
		` (?:(?:will|to|is|are|has|have|had|already|just|would) )*(?:file|files|filed|filing|handles?|handled|` +
		`handling|submits?|submitted|renews?|renewed) (?:\||it|this|these|own|their|his|her|themsel\w+|himself|` +
		`herself|directly|online|reports?|the|annual|ar|on|in|already|for|\d+)) `)
	filedClause  = newPattern(`\| ` + fillers + done + ` ` + tail + ` `)
	closedClause = newPattern(`\| ` + fillers + `(?:(?:to|` +
		`will) be )?(?:` + closed + ` (?:and |or )?)+` + tail +
		` |\| ` + fillers + instruction + ` ` + tail + ` `)
	closedWord = newPattern(` ` + closed + ` `)
	filer      = newPattern(` ` + who + ` `)
	doneWord   = newPattern(` ` + done + ` `)
	notDone    = regexp.MustCompile(` (?:not|never|(?:to|must|should|can) be) (?:yet |been |be )*(?:filed|` +
		`submitted|done|completed|started|sent) `)
	notClosed = newPattern(` (?:(?:not|never|isn t) (?:yet |been )?` + closed + `|reinstat\w+|` +
		`revived|restored|rescinded|in error|still file|file anyway) `)
	toFile = newPattern(`^\| (?:ok |okay |please )?(?:to )?(?:file|approved|approval|include|in scope|` +
		`proceed|process|send|order|renew)` +
		`(?: it| this| year| ar| report| annual report| \d+)* \|`)
	otherFiling = newPattern(` (?:tax|taxes|returns?|extension|payroll|boi|w 9|1099s?|11?[246]\d[05]s?|` +
		`dba|ein|ss 4|invoices?|insurance|books|bookkeeping|lease|mail) `)
	thisFiling = newPattern(` (?:reports?|ar|renewal|franchise|dissol\w+|merged|sold|void|clos\w+|` +
		`terminat\w+|liquidat\w+|bankrupt\w*|inactive) `)
	yearIn = regexp.MustCompile(`(?:^|\D)(20\d\d)(?:\D|$)|\d[/.-]\d\d?[/.-](\d\d)(?:\D|$)`)
)

// goodStatus are the words of a status in which filings are made for a company.
var goodStatus = strings.Fields("active act good goodstanding standing existence existing exists current currently " +
	"delinquent compliant noncompliant compliance noncompliance registered ok okay normal live open ready new due " +
	"overdue past late pending unfiled outstanding approved domestic foreign entity company client file renew filing " +
	"report annual in is and with of the to be as on it needs not_filed subsisting force effective granted " +
	"incorporated organized qualified authorized authorised perpetual ar awaiting todo do " +
	"needed started franchise tax state")

// mentionsClosed are words that may have another subject in a note.
var mentionsClosed = newPattern(` (?:dissol\w+|sold|merged|withdr\w+|terminat\w+|forfeit\w*|liquidat\w+|` +
	`defunct|ceased|bankrupt\w*|acquired|disengaged|chapter (?:7|11)|surrendered|shut down|pending sale|` +
	`(?:ask|check|confirm|verify)(?: \w+){0,3} (?:first|before \w+)) `)

// clearlyClosed are words whose subject is a company in any column.
var clearlyClosed = newPattern(` (?:dissol\w+|merged|liquidat\w+|defunct|struck off) `)

// stems are beginnings of words. A text without any of them does not speak against filing, unless
// it is a status or a date filed.
var stems = strings.Split(" fil, don, no, never, should, won, submit, dnf, hold, sold, out, former, ex, past, lost, "+
	"reference, dissol, void, merg, conver, cancel, with, termin, revo, forfeit, clos, liquid, wo, wi, struck, ceas, "+
	"defunct, bankrupt, abandon, redomest, handl, renew, inactive, skip, omit, ignore, leave, remove, stop, archiv, "+
	"duplicate, complet, self, do, did, taken, let, wait, left, fired, moved, went, switch, transf, "+
	"not, acqui, diseng, chapter, surrender, shut, wound, pending, ask, check, confirm, verify", ",")

// judge returns the verdict of the text of a column on filing its row in a year.
func (k remarkKind) judge(header, text string, year int) verdict {
	if more := len(text) - maxJudgedText; more > 0 {
		// A log of notes has the newest note at its end or at its beginning.
		v := max(k.judge(header, text[:maxJudgedText], year), k.judge(header, text[more:], year))
		return max(v, when(more > maxJudgedText, warns))
	}
	if k == nameRemark || k == newNameRemark {
		return k.judgeName(text)
	}
	said := clauses(text)
	switch marked := strings.ToLower(text); {
	case text == "" || isEmptyWord(text):
		return passes
	case yesNo(marked) == yes:
		switch named := clauses(header); {
		case k == filedRemark && !isPast(header, year), refusals.MatchString(named), closedClause.MatchString(named):
			return holds
		}
		return passes
	case yesNo(marked) == no && toFile.MatchString(clauses(header)):
		return holds
	case yesNo(marked) == no && k != statusRemark:
		return passes
	case k != statusRemark && k != filedRemark && k != dueRemark && !hasStem(said):
		return passes
	}
	past := isPast(text, year)
	isClosed := closedClause.MatchString(said)
	switch said = notDone.ReplaceAllString(said, " not_filed "); {
	case refusals.MatchString(said):
		return holds
	case k == noteRemark && otherFiling.MatchString(said) && !thisFiling.MatchString(said):
		return when(filedBefore.MatchString(said) && !past, warns)
	case filedBefore.MatchString(said) && !past:
		return holds
	case k == unknownRemark && (!isClosed || !clearlyClosed.MatchString(said) || strings.Count(said, "|") > 2):
		return passes
	case notClosed.MatchString(said) && closedWord.MatchString(said):
		return warns
	case k == unknownRemark:
		return holds
	case isClosed, k == statusRemark && closedWord.MatchString(said):
		return holds
	case k == filedRemark && !isPast(header, year):
		return judgeFiled(header, text, said, past)
	case !past && k == statusRemark && doneWord.MatchString(said), !past && filedClause.MatchString(said):
		return holds
	case k == statusRemark:
		return when(!isGoodStatus(said), warns)
	// Some reports are due in the year after.
	case k == dueRemark:
		return when(len(yearsIn(text)) > 0 && slices.Min(yearsIn(text)) > year+1, warns)
	}
	return when(k == noteRemark && mentionsClosed.MatchString(said), warns)
}

// judgeName judges the text beside the name of a company. The text follows the ending, stands
// before the name, or is in brackets. A text that ends as the name of a company is a name.
func (k remarkKind) judgeName(text string) verdict {
	_, after := filing.CutAfterEnding(text)
	if isStatus(after) || k == newNameRemark && (after != "" || undecided.MatchString(text)) {
		return holds
	}
	whole := after == "" && endsAsCompany(text)
	if whole {
		// Only what is set off from the name can be a remark.
		if !strings.ContainsAny(text, "-–—:([{*") {
			return passes
		}
		text = strings.Join(setOff.FindAllString(text, -1), "; ")
	}
	said := clauses(text)
	switch {
	case !hasStem(said):
		return passes
	case refusals.MatchString(said), filedBefore.MatchString(said):
		return holds
	case notClosed.MatchString(said) && closedWord.MatchString(said):
		return warns
	}
	return when((whole || strings.Count(said, "|") > 2) && closedClause.MatchString(said), holds)
}

// hasStem reports whether words may speak against filing.
func hasStem(said string) bool {
	return slices.ContainsFunc(stems, func(stem string) bool { return strings.Contains(said, stem) })
}

// when returns a verdict if the condition is true, and passes otherwise.
func when(is bool, v verdict) verdict {
	if is {
		return v
	}
	return passes
}

// judgeFiled judges a date filed or a confirmation number.
func judgeFiled(header, text, said string, past bool) verdict {
	dated := strings.ContainsAny(text, "0123456789") && (!isDigits(text) || yearsIn(text) != nil)
	switch {
	case past:
		return passes
	case slices.Contains(headerWords(header), "confirmation"):
		return warns
	}
	return when(dated || doneWord.MatchString(said) || filer.MatchString(said), holds)
}

// isGoodStatus reports whether all words of a status are known to be good.
func isGoodStatus(said string) bool {
	said = strings.ReplaceAll(said, " non ", " non")
	return !slices.ContainsFunc(strings.Fields(said), func(word string) bool {
		_, isState := filing.ParseState(word)
		return word != "|" && !isDigits(word) && !isState && !slices.Contains(goodStatus, word)
	})
}

// besideName are the beginnings of texts after a name that are not part of it.
var besideName = newPattern(`^\| (?:dba|d b a|fka|f k a|aka|a k a|formerly|c o|attn|an?|ein|fein) | ` +
	month + ` | (?:19|20)\d\d | \d{7,} `)

// undecided matches a new name that is a question, a choice, an item of a list, or in quotation
// marks.
var undecided = newPattern(`(?i)[?*]\W*$|^\W*(option|choice|name) ?\w?[:.)]|^\d+[.)]\s|^["“].*["”]$|` +
	`\b(llc|inc|corp|co|ltd)\b\W*(or|/)\s.*\b(llc|inc|corp|co|ltd)\b`)

// setOff matches a text before a name or in brackets: "VOID - Acme LLC".
var setOff = regexp.MustCompile(`^.*(?: [-–—]+ |: )|[(\[{*]+[^()\[\]{}*]+[)\]}*]+`)

// isStatus reports whether a text after the ending of a name is about the company.
func isStatus(after string) bool {
	if after == "" {
		return false
	}
	said := clauses(after)
	return isGoodStatus(said) || closedWord.MatchString(said) || doneWord.MatchString(said) ||
		besideName.MatchString(said)
}

// isPast reports whether a text names years and all of them are before the filing year.
func isPast(text string, year int) bool {
	years := yearsIn(text)
	if lastYear.MatchString(text) {
		years = append(years, year-1)
	}
	return len(years) > 0 && slices.Max(years) < year
}

var lastYear = newPattern(`(?i)\b(last|previous|prior) year\b`)

func yearsIn(text string) (years []int) {
	for _, found := range yearIn.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[1] + found[2])
		years = append(years, n%2000+2000)
	}
	return years
}

// clauses returns the words of a text in lower case, with a bar around each clause.
func clauses(text string) string {
	var b strings.Builder
	b.WriteString("| ")
	runes := []rune(strings.ToLower(text))
	for i, r := range runes {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case r == '-' && (i == 0 || i+1 == len(runes) || runes[i-1] == ' ' || runes[i+1] == ' '),
			strings.ContainsRune(".,;:()[]{}*–—|!\"“”", r):
			b.WriteString(" | ")
		case !unicode.IsMark(r):
			b.WriteByte(' ')
		}
	}
	b.WriteString(" |")
	words := slices.CompactFunc(strings.Fields(b.String()), func(a, b string) bool { return a == "|" && b == "|" })
	return strings.Join(words, " ") + " "
}

// remark is a text in or beside a row that may speak against filing the row. A heading above the
// row is a note of the headingColumn.
type remark struct {
	// at is the cell that has the problem.
	at   *binding
	kind remarkKind
	// column is the name of the column in --include.
	column string
	text   string
}

// remarkColumn is a column of the sheet whose texts are judged.
type remarkColumn struct {
	kind    remarkKind
	binding binding
}

// findRemarkColumns finds the column of the names and the columns that are not part of the order
// but may speak against it.
func (p *mapping) findRemarkColumns(l *layout) {
	ours := isResultsHeader(l.headers())
	for i := range l.headings {
		h := &l.headings[i]
		at := slices.IndexFunc(p.bindings,
			func(b *binding) bool { return b != nil && b.index == h.index && !b.unsent })
		switch {
		case at == int(legalName):
			p.remarkColumns = append(p.remarkColumns, remarkColumn{nameRemark, *p.bindings[at]})
		case at >= 0, h.outside, h.ours, ours && resultColumns[h.folded],
			slices.Contains(p.secret, h.index):
		default:
			b := cellAt(h.index, h.text)
			b.mapName = l.mapName(h)
			p.remarkColumns = append(p.remarkColumns, remarkColumn{remarkKindOf(h.text), *b})
		}
	}
}

// cellAt returns a binding of a cell that is not part of an order. The index is -1 without a cell.
func cellAt(index int, header string) *binding {
	return &binding{column: &column{}, id: none, index: index, header: header}
}

// readComments reads the comments on the cells, except in a checked workbook.
func (im *Import) readComments() error {
	all, err := im.file.Comments(im.sheet)
	for row, comments := range all {
		all[row] = slices.DeleteFunc(comments,
			func(c sheet.Comment) bool { return im.own.origin != nil && strings.TrimSpace(c.Author) == "" })
	}
	im.comments = all
	return err
}

// remarkReader judges the remarks in and above the rows.
type remarkReader struct {
	*cellReader
	// judged are the verdicts on remarks.
	judged map[judgedText]verdict
	// filteredOut is the filter that excludes the current row, or an empty text.
	filteredOut string
	section     section
	// lastRow is the number of the last row that was checked.
	lastRow int
}

// hearRemarks judges the remarks in the row.
func (c *remarkReader) hearRemarks() {
	for i := range c.im.mapping.remarkColumns {
		m := &c.im.mapping.remarkColumns[i]
		kind := m.kind
		if kind == nameRemark && (c.isNew || c.im.mapping.product == filing.Formation) {
			kind = newNameRemark
		}
		if at := m.binding.index; at < len(c.row.Cells) && c.row.Cells[at].Text != "" {
			c.hear(remark{&m.binding, kind, m.binding.mapName, c.row.Cells[at].Text})
		}
	}
	c.hearSection()
	for _, comment := range c.im.comments[c.row.Number] {
		c.hear(remark{cellAt(comment.Column, commentColumn), noteRemark, commentColumn, comment.Text})
	}
	c.hearBeside()
	if c.row.struck {
		first := slices.IndexFunc(c.row.Cells, func(cell sheet.Cell) bool { return cell.Kind != sheet.Blank })
		c.addWarning(cellAt(first, ""), "", "row.struck",
			"the row is struck through, but it will be filed: remove the row, or remove the strikethrough")
	}
}

// hearBeside judges the remarks that were beside the row in the workbook that it corrects.
func (c *remarkReader) hearBeside() {
	own := &c.im.own
	if own.origin == nil {
		return
	}
	number := own.numberOf(c.row.Cells)
	for _, r := range own.origin.Beside {
		of, said, _ := strings.Cut(r.Text, "=")
		// known reports whether the heading is still in the sheet.
		known := func(p Problem) bool { return p.beside == r.Text }
		if r.Number == number && !slices.ContainsFunc(c.row.Problems, known) {
			c.hear(remark{cellAt(-1, of), noteRemark, of, said})
		}
	}
}

// remarkRule is the rule of a row that speaks against its filing.
const remarkRule = "row.remark"

// hear judges a remark. A remark that holds the row is an error until a person excludes the row or
// files it anyway.
func (c *remarkReader) hear(m remark) {
	v := c.verdictOf(m)
	o := &c.im.options
	if filter := c.im.selects(o.Exclude, m.column, m.text); filter != "" {
		c.filteredOut = fmt.Sprintf("Excluded by --exclude %q", filter)
	}
	if c.im.selects(o.Include, m.column, m.text) != "" || v == passes {
		return
	}
	shown := filing.HideSSNs(m.text)
	says, name := fmt.Sprintf("the cell says %q", text.Shorten(shown, maxRemark)), m.column+"="+shown
	rule, suggest := remarkRule, []string(nil)
	if whole, after := filing.CutAfterEnding(shown); after != "" && (m.kind == nameRemark || m.kind == newNameRemark) {
		says = fmt.Sprintf("the name has a text after its ending: remove %q", text.Shorten(after, maxRemark))
		rule, suggest = "company.name-ending", []string{whole}
	}
	if m.kind == newNameRemark && rule == remarkRule && undecided.MatchString(shown) {
		says += ", which is not one final name: correct it"
	}
	switch runes := []rune(shown); {
	// Dates and numbers differ from row to row.
	case m.kind == filedRemark:
		says, name = "the cell says that it was filed", m.column+"=*"
	case len(runes) > maxRemark:
		name = m.column + "=" + string(runes[:maxRemark]) + "*"
	}
	if o.Excluded[RowAt{c.im.sheet, c.row.Number, name}] != "" {
		return
	}
	severity, message := Error, o.remedyText(decideHeld, says, name)
	if v == warns {
		severity, message = Warning, o.remedyText(decideFiled, says, name)
	}
	c.addProblem(m.at, shorten(shown), severity, rule, message)
	p := &c.row.Problems[len(c.row.Problems)-1]
	p.Remark, p.Suggest = name, suggest
	if m.column == commentColumn || m.column == headingColumn {
		p.beside = m.column + "=" + text.Shorten(shown, maxBeside)
	}
}

// judgedText is a text of a column that was judged for a filing year.
type judgedText struct{ column, text, year string }

// verdictOf judges a remark. The status of many rows is the same and judged only once.
func (c *remarkReader) verdictOf(m remark) verdict {
	key := judgedText{m.column, m.text, c.values[filingYear]}
	v, known := c.judged[key]
	if !known {
		year, err := strconv.Atoi(key.year)
		if err != nil {
			year = c.year
		}
		v = m.kind.judge(m.column, m.text, year)
		if len(c.judged) < maxJudged {
			key.text, key.year = strings.Clone(key.text), strings.Clone(key.year)
			c.judged[key] = v
		}
	}
	return v
}

const (
	// maxRemark is the number of characters that a message quotes and --include needs.
	maxRemark = 60
	// maxJudged is the number of texts that are judged only once.
	maxJudged = 1000
	// maxJudgedText is how many bytes of a text are judged, because the expressions take time.
	maxJudgedText = 8000
	// maxBeside is how many characters of a text our workbooks keep.
	maxBeside = 1000
)
