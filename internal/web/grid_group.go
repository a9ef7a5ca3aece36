package web

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// groupKey is what the problems of a group have in common.
type groupKey struct {
	Column int `json:"column"`
	// Header is the header of a column that the sheet lacks.
	Header   string            `json:"header,omitempty"`
	Value    string            `json:"value"`
	Rule     string            `json:"rule"`
	Severity importer.Severity `json:"severity"`
	// Kind is "value", "rule", "name" or "remark".
	Kind string `json:"kind"`
}

// gridGroup is a problem that many rows share, with its corrections.
type gridGroup struct {
	groupKey
	Key     string    `json:"key"`
	Label   string    `json:"label"`
	Rows    int       `json:"rows"`
	Message string    `json:"message"`
	Fixes   []gridFix `json:"fixes"`
}

// gridFix is a correction of the rows of a group. All cells get one text, or each gets its first
// suggestion, or the rows are left out or filed despite a remark.
type gridFix struct {
	Label      string `json:"label"`
	Text       string `json:"text,omitempty"`
	Each       bool   `json:"each,omitempty"`
	LeaveOut   bool   `json:"leaveOut,omitempty"`
	FileAnyway bool   `json:"fileAnyway,omitempty"`
}

// problemGroup is a group with its cells.
type problemGroup struct {
	gridGroup
	// rows are the sorted numbers of the rows.
	rows  []int
	cells []groupCell
}

// groupCell is a cell of a group, with the suggestions of the rules.
type groupCell struct {
	row, column int
	// header is the header of a column that the sheet lacks.
	header  string
	suggest []string
	// remark is a text that speaks against filing and that a person can overrule. Empty if there is
	// none.
	remark string
}

const maxGroups = 50

// shownGroups returns the groups that the grid lists.
func shownGroups(all []*problemGroup) []gridGroup {
	shown := make([]gridGroup, 0, min(len(all), maxGroups))
	for _, g := range all[:min(len(all), maxGroups)] {
		shown = append(shown, g.gridGroup)
	}
	return shown
}

// groupProblems groups the problems of all rows by column, rule and value. Errors come before
// warnings, and large groups before small ones.
func groupProblems(d *importer.Draft) []*problemGroup {
	columns := d.Columns()
	byValue := make(map[groupKey]*problemGroup)
	var keys []groupKey
	for i := range d.Len() {
		r := d.At(i)
		if r.Result == filing.Skipped {
			continue
		}
		for n := range r.Problems {
			p := &r.Problems[n]
			key, ok := groupKeyOf(r, p)
			if !ok {
				continue
			}
			g := byValue[key]
			if g == nil {
				g = &problemGroup{gridGroup: gridGroup{groupKey: key, Message: p.Message}}
				byValue[key] = g
				keys = append(keys, key)
			}
			g.rows = append(g.rows, r.Number)
			g.cells = append(g.cells, groupCell{r.Number, p.ColumnIndex, p.Column, p.Suggest, p.Remark})
		}
	}
	all := mergeSmall(byValue, keys)
	for _, g := range all {
		g.finish(columns)
	}
	slices.SortStableFunc(all, func(a, b *problemGroup) int {
		if a.Severity != b.Severity {
			return strings.Compare(string(a.Severity), string(b.Severity))
		}
		return cmp.Compare(b.Rows, a.Rows)
	})
	return all
}

// groupKeyOf returns the group of a problem. The result is false if the problem belongs to no group.
func groupKeyOf(r *importer.DraftRow, p *importer.Problem) (groupKey, bool) {
	if r.Result == filing.Ready && p.Severity == importer.Error {
		return groupKey{}, false
	}
	key := groupKey{
		Column:   p.ColumnIndex,
		Value:    p.Value,
		Rule:     p.Rule,
		Severity: p.Severity,
		Kind:     "value",
	}
	if p.ColumnIndex < 0 {
		key.Header = p.Column
	}
	switch {
	case p.Rule == filing.RecordRule+"name":
		// The filing service has another name. Only the problem of the cell that confirms the name
		// belongs to the group.
		key.Kind, key.Value, key.Column, key.Header = "name", "", -1, p.Column
		return key, p.Confirm
	case p.Remark != "" && len(p.Suggest) == 0:
		// A person has to decide about a text without a correction. All dates of a column count as
		// the same remark.
		key.Kind = "remark"
		_, key.Value, _ = strings.Cut(p.Remark, "=")
	}
	return key, true
}

// mergeSmall merges groups of the same column and rule into one. It merges groups of one row, and
// groups of rules whose cells need individual corrections.
func mergeSmall(byValue map[groupKey]*problemGroup, keys []groupKey) []*problemGroup {
	// single counts the mergeable groups per column and rule.
	single := make(map[groupKey]int)
	rule := func(p groupKey) groupKey { p.Value = ""; return p }
	for _, p := range keys {
		if len(byValue[p].rows) == 1 || isOfEach(byValue[p].Rule) {
			single[rule(p)]++
		}
	}
	var all []*problemGroup
	merged := make(map[groupKey]*problemGroup)
	for _, p := range keys {
		g := byValue[p]
		if g.Kind == "name" || g.Kind == "remark" || len(g.rows) > 1 && !isOfEach(g.Rule) || single[rule(p)] < 2 {
			all = append(all, g)
			continue
		}
		into := merged[rule(p)]
		if into == nil {
			into = g
			into.Kind, into.Value = "rule", ""
			merged[rule(p)] = into
			all = append(all, into)
			continue
		}
		into.rows, into.cells = append(into.rows, g.rows...), append(into.cells, g.cells...)
	}
	return all
}

// ownValues are the rules whose cells need individual corrections, identified by a part of the
// rule's name. Each has a title for its group and the label of the correction.
var ownValues = []struct{ part, title, fix string }{
	{"zip", "not a ZIP code", "Add the leading zero to %s"},
	{"postal", "not a ZIP code", "Add the leading zero to %s"},
	{"date", "dates to rewrite", "Rewrite %s as YYYY-MM-DD"},
	{"email", "not an email address", "Correct %s as suggested"},
	{"phone", "not a phone number", "Correct %s as suggested"},
}

// ruleTitle returns a title for the values that break a rule, and the label of the correction that
// sets each cell to its own suggestion. own reports whether the rule is one of ownValues.
func ruleTitle(rule string) (title, fix string, own bool) {
	for _, v := range ownValues {
		if strings.Contains(strings.ToLower(rule), v.part) {
			return v.title, v.fix, true
		}
	}
	return "values to fix", "Correct %s as suggested", false
}

// isOfEach reports whether the values of a rule need individual corrections.
func isOfEach(rule string) bool {
	title, _ := recordTitle(rule)
	_, _, own := ruleTitle(rule)
	return own || title != ""
}

// finish sets the label, the message and the corrections of a group.
func (g *problemGroup) finish(columns []importer.DraftColumn) {
	slices.Sort(g.rows)
	g.rows = slices.Compact(g.rows)
	g.Rows = len(g.rows)
	name := g.Header
	problem, _, _ := ruleTitle(g.Rule)
	if c, ok := columnAt(columns, g.Column); ok {
		name = columnName(c)
	}
	switch title, message := recordTitle(g.Rule); {
	case title != "":
		g.Label, g.Message = title, message
	case g.Kind == "name":
		g.Label = "Name differs at the filing service"
		g.Message = "The filing service has another name for the company. Check that the Company ID is right, then " +
			"confirm the name."
	case name == "":
		g.Label = text.Capital(g.Message)
	case g.Kind == "rule":
		g.Label = name + ": " + problem
	case g.Kind == "remark" && g.Value == "*":
		g.Label = name + ": filed before"
	case g.Value == "" && g.Rule == "cell.formula":
		g.Label = name + ": formula without a result"
	case g.Value == "":
		g.Label = name + ": missing"
	default:
		g.Label = fmt.Sprintf("%s “%s”", name, text.Shorten(g.Value, 40))
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%#v", g.groupKey)
	g.Key = strconv.FormatUint(h.Sum64(), 36)
	g.Fixes = g.fixes()
}

// fixes returns the corrections of a group.
func (g *problemGroup) fixes() []gridFix {
	all := []gridFix{}
	switch g.Kind {
	case "name":
		label := "Confirm the name"
		if g.Rows != 1 {
			label = fmt.Sprintf("Confirm all %s names", number(g.Rows))
		}
		return append(all, gridFix{Label: label, Each: true})
	case "rule":
		suggested := 0
		for _, c := range g.cells {
			suggested += min(len(c.suggest), 1)
		}
		which := count(suggested, "cell")
		if suggested == len(g.cells) {
			which = "all"
		}
		if _, fix, _ := ruleTitle(g.Rule); suggested > 0 {
			all = append(all, gridFix{Label: fmt.Sprintf(fix, which), Each: true})
		}
	default:
		verb := "Set all to "
		if g.Rows == 1 {
			verb = "Set to "
		}
		for _, to := range g.cells[0].suggest {
			all = append(all, gridFix{Label: verb + to, Text: to})
		}
	}
	if g.cells[0].remark != "" {
		all = append(all, gridFix{Label: "Leave out " + count(g.Rows, "row"), LeaveOut: true},
			gridFix{Label: "File anyway", FileAnyway: true})
	}
	return all
}

// recordTitle returns the label and the message of a group whose rows have individual messages,
// from the filing service or its record. Both are empty for all other rules.
func recordTitle(rule string) (title, message string) {
	switch rule {
	case filing.RecordRule + "name-confirmed":
		return "Names confirmed that differ at the filing service",
			"They are filed for the company that the filing service has. You confirm them once more before approval."
	case filing.RecordRule + "name-ending":
		return "Names without their ending, such as LLC",
			"They are filed for the company that the filing service has on record. Check the ending of each."
	case filing.RecordRule + "formation-state":
		return "Formation state differs at the filing service",
			"The filing service's record counts. Check that the Company ID is right."
	case filing.NoRecordRule:
		return "Companies not found at the filing service",
			"The filing service refuses their orders. Correct the Company ID, or leave the rows out."
	case filing.RefusedRecordRule:
		return "Companies that the filing service refuses to look up",
			"Each row says why. Correct the Company ID, or leave the rows out."
	case filing.RecordRule + "entity-type":
		return "Entity type differs at the filing service",
			"The filing service's record counts. Check that the Company ID is right."
	case "row.refused-before":
		return "Refused by the filing service",
			"Each row says why. Correct the cells, then send the rows again; unchanged rows are likely to be " +
				"refused again."
	}
	return "", ""
}

// errNoGroup means that the group no longer exists.
var errNoGroup = badRequest("These rows have changed since. Nothing was changed. Refresh the page, then try again.")

var (
	errLongBulkText = badRequest(
		"The text is longer than 1,000 characters, the most that many cells can be set to at " +
			"once. Nothing was changed. Enter a shorter text, or change the cells one by one.")
	errManyCells = badRequest("The change is for more than 100,000 cells. Nothing was changed. Change fewer rows or " +
		"columns at a time.")
	errManyEdits = badRequest("The corrections of this spreadsheet would take more than 8 MB. Nothing was changed. " +
		"Correct the cells in your own file, then upload it again.")
)

// bulkCells returns the cells that a bulk change sets.
func (e *gridEditor) bulkCells(b *gridBulk) ([]gridCell, error) {
	if utf8.RuneCountInString(b.Text) > maxBulkText || utf8.RuneCountInString(b.Replace) > maxBulkText {
		return nil, errLongBulkText
	}
	switch b.Op {
	case "group":
		return e.groupCells(b)
	case "set":
		var cells []gridCell
		for _, r := range e.bulkRows(b) {
			cells = append(cells, gridCell{Row: r.Number, Column: b.Column, Header: b.Header, Text: b.Text})
		}
		return cells, nil
	case "replace":
		return e.replacedCells(b)
	}
	return nil, errForm
}

// groupCells returns the cells of a group with one of its corrections applied. If the request has a
// text, all cells get that text.
func (e *gridEditor) groupCells(b *gridBulk) (cells []gridCell, err error) {
	for _, g := range groupProblems(e.draft) {
		if g.Key != b.Group {
			continue
		}
		fix := gridFix{Text: b.Text}
		if b.Text == "" {
			if b.Fix < 0 || b.Fix >= len(g.Fixes) {
				return nil, errNoGroup
			}
			fix = g.Fixes[b.Fix]
		}
		if g.Kind == "name" {
			return e.confirmedCells(g, b.Names), nil
		}
		return e.fixedCells(g, fix, rowSet(b.Rows)), nil
	}
	return nil, errNoGroup
}

// fixedCells returns the cells of a group with a correction applied. It is limited to the chosen
// rows unless chosen is nil.
func (e *gridEditor) fixedCells(g *problemGroup, fix gridFix, chosen map[int]bool) (cells []gridCell) {
	for _, c := range g.cells {
		to := fix.Text
		if fix.Each && len(c.suggest) > 0 {
			to = c.suggest[0]
		}
		switch {
		case chosen != nil && !chosen[c.row], fix.Each && len(c.suggest) == 0:
		case fix.LeaveOut, fix.FileAnyway:
			at := importer.RowAt{Sheet: e.draft.Sheet(), Row: c.row}
			if fix.FileAnyway {
				at.Remark = c.remark
			}
			e.excludeAt(at, e.by)
		default:
			cells = append(cells, e.cellAt(c.row, c.column, c.header, to))
		}
	}
	return cells
}

// cellAt returns a cell of a request by the index of its column. The header identifies a column
// that the sheet lacks.
func (e *gridEditor) cellAt(row, column int, header, text string) gridCell {
	if c, ok := columnAt(e.draft.Columns(), column); ok && c.Added {
		column, header = -1, c.Header
	}
	return gridCell{Row: row, Column: column, Header: header, Text: text}
}

// confirmedCells returns the cells that confirm the reviewed names. A row whose company or name has
// changed since is a conflict, because the person has not seen the new company.
func (e *gridEditor) confirmedCells(g *problemGroup, reviewed []shownName) (cells []gridCell) {
	shown := make(map[int]shownName, len(reviewed))
	for _, n := range reviewed {
		shown[n.Row] = n
	}
	for _, c := range g.cells {
		was, chosen := shown[c.row]
		if !chosen || len(c.suggest) == 0 {
			continue
		}
		now := gridRowOf(e.draft, e.draft.Find(c.row), nil).shownName
		if now == was && c.suggest[0] == was.ServiceName {
			cells = append(cells, e.cellAt(c.row, c.column, c.header, c.suggest[0]))
			continue
		}
		ofRow := func(cell changedCell) bool { return cell.Row == c.row && cell.Sheet == e.draft.Sheet() }
		e.conflicts = append(e.conflicts, gridConflict{
			Row:    c.row,
			Column: c.column,
			Yours:  was.ServiceName,
			Theirs: now.ServiceName,
			By:     e.changedBy(ofRow),
			Review: true,
		})
	}
	return cells
}

func rowSet(rows []int) map[int]bool {
	if rows == nil {
		return nil
	}
	set := make(map[int]bool, len(rows))
	for _, row := range rows {
		set[row] = true
	}
	return set
}

// bulkRows returns the rows of a bulk change: the chosen rows, or all shown rows if none are
// chosen.
func (e *gridEditor) bulkRows(b *gridBulk) (rows []*importer.DraftRow) {
	chosen := rowSet(b.Rows)
	for i := range e.draft.Len() {
		r := e.draft.At(i)
		if (chosen[r.Number] || chosen == nil && shownIn(r, b.Show, nil)) && !r.IsNote() {
			rows = append(rows, r)
		}
	}
	return rows
}

// replacedCells returns the cells of a column in which a text was found, with the text replaced. A
// column of -1 means every column that is not secret.
func (e *gridEditor) replacedCells(b *gridBulk) (cells []gridCell, err error) {
	if b.Find == "" && !b.Whole {
		return nil, badRequest("Enter the text to find. Nothing was changed.")
	}
	column := b.Column
	if b.Header != "" {
		if column = e.draft.ColumnOf(b.Header); column < 0 {
			return nil, badRequest("This column is no longer there. Nothing was changed. Refresh the page, then try " +
				"again.")
		}
	}
	replace, size := replacer(b), 0
	for _, r := range e.bulkRows(b) {
		found := e.replacedIn(r, column, replace)
		for i := range found {
			size += len(found[i].Text)
		}
		switch cells = append(cells, found...); {
		case len(cells) > maxChangedCells:
			return nil, errManyCells
		case size > maxEditBytes:
			return nil, errManyEdits
		}
	}
	return cells, nil
}

func (e *gridEditor) replacedIn(r *importer.DraftRow, column int, replace func(string) (string, bool)) []gridCell {
	var cells []gridCell
	masked := e.draft.Masked(r)
	for i, c := range e.draft.Columns() {
		if c.Secret || column >= 0 && column != i {
			continue
		}
		present := ""
		if i < len(masked) {
			present = masked[i].Text
			if present != r.Cells[i].Text {
				// A part of the cell is masked.
				continue
			}
		}
		if to, found := replace(present); found && to != present {
			cell := e.cellAt(r.Number, i, c.Header, to)
			cell.Was = &present
			cells = append(cells, cell)
		}
	}
	return cells
}

// replacer returns a function that replaces the search text. Its second result reports whether the
// text was found.
func replacer(b *gridBulk) func(string) (string, bool) {
	if b.Whole {
		return func(s string) (string, bool) { return b.Replace, strings.EqualFold(s, b.Find) }
	}
	anyCase := regexp.MustCompile("(?i)" + regexp.QuoteMeta(b.Find))
	return func(s string) (string, bool) {
		return anyCase.ReplaceAllLiteralString(s, b.Replace), anyCase.MatchString(s)
	}
}
