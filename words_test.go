package bulkfiling_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
)

// replacement is a word or phrase that texts for users avoid, and what they say
// instead. The pattern matches whole words, in any case, over line breaks.
type replacement struct {
	pattern, say string

	// in limits the rule to paths that begin with it.
	in string
}

// replacements are the words of this product, by the thing they name.
var replacements = []replacement{
	// Spreadsheets and batches.
	{pattern: `rosters?`, say: "company list"},
	{pattern: `hand(s|ed|ing)? ((it|them|a \w+|the \w+) )?(in|over|back)`, say: "upload; submit"},
	{pattern: `(take|takes|taken|took|taking) (it |them )?in`, say: "import; upload"},
	{pattern: `answered (sheet|spreadsheet)`, say: "results workbook"},
	{pattern: `(sheet|spreadsheet) goes in|comes? (out|back) answered`,
		say: "upload a spreadsheet; get it back with a result for every row"},
	{pattern: `how the sheet is read`, say: "column mapping"},
	{pattern: `by its columns`, say: "Detected: … (from the column headers)"},
	{pattern: `to correct`, say: "needs attention; to fix"},
	{pattern: `with remarks|remarks?`, say: "warnings"},
	{pattern: `what it will cost|what it costs`, say: "cost summary; the cost"},
	{pattern: `to be known of`, say: "notes"},
	{pattern: `(what|there) is to do meanwhile`, say: "action needed"},
	{pattern: `what became of`, say: "filing status; results"},
	{pattern: `download it,? marked`, say: "download with errors highlighted"},

	// Approval.
	{pattern: `(say|says|said|saying) (yes|no)`, say: "approve; decline"},
	{pattern: `(a|the|one|its|your|before|for|an|that|whose) yes`, say: "approval"},
	{pattern: `exactly as it is`, say: "unchanged"},

	// Money.
	{pattern: `(the|a|its|own) books?`, say: "recorded balance; ledger"},
	{pattern: `declar(e|es|ed|ing) (a |the |its )?(deposit|balance|funds|money|sum)s?`, say: "record a deposit"},
	{pattern: `set(s|ting)? (\w+ )?aside`, say: "reserved; skipped"},
	{pattern: `suffic(e|es|ed)`, say: "insufficient funds; be enough"},
	{pattern: `cannot pay for`, say: "the recorded balance does not cover"},

	// Uncertain orders.
	{pattern: `in doubt|doubtful|doubts?`, say: "uncertain"},
	{pattern: `settl(e|es|ed|ing)`, say: "resolve"},
	{pattern: `trustworthy`, say: "the filing service did not confirm it"},
	{pattern: `never (made|placed)`, say: "mark as not placed"},
	{pattern: `it was placed`, say: "mark as placed"},

	// Schedules.
	{pattern: `fires|firings?|fired`, say: "run of a schedule; the schedule runs"},
	{pattern: `made up for`, say: "missed runs are skipped"},

	// The page.
	{pattern: `look again`, say: "refresh"},
	{pattern: `forget it|remove it|keep it so`, say: "Delete; Remove; Cancel", in: "internal/web/"},
	{pattern: `the firm has decided`, say: "firm settings"},
	{pattern: `signs? you in,? once`, say: "one-time sign-in link"},
	{pattern: `too many tries`, say: "too many attempts"},
	{pattern: `fleets?`, say: "workers", in: "internal/web/"},

	// The filing service is named.
	{pattern: `(the|a) service('s)?`, say: "the filing service"},

	// Idiom.
	{pattern: `whoever|who ever|whomever`, say: "anyone who; the person who"},
	{pattern: `whatever`, say: "everything that; all"},
	{pattern: `nobody`, say: "no one"},
	{pattern: `somebody`, say: "someone"},
	{pattern: `anew`, say: "again"},
	{pattern: `by (itself|themselves)`, say: "automatically"},
	{pattern: `meanwhile`, say: "in the meantime; until then"},
	{pattern: `as it stands|stands? (in|there)`, say: "as is; is set in"},
	{pattern: `of no account`, say: "does not count"},
	{pattern: `is there to see|to be seen`, say: "is shown"},
	{pattern: `look(s|ed|ing)? at it all`, say: "review"},
	{pattern: `that which|that what`, say: "a noun"},
	{pattern: `go(es)? on (with|where)`, say: "resume; continue"},

	// Spelling.
	{pattern: `cancell(ed|ing|s)`, say: "canceled, canceling"},
	{pattern: `colour(s|ed)?`, say: "color"},
	{pattern: `behaviour(s)?`, say: "behavior"},
	{pattern: `favour\w*|honour\w*|neighbour\w*|labour`, say: "-or"},
	{
		pattern: `(recogni|organi|authori|normali|summari|capitali|initiali|seriali|synchroni|minimi|maximi)` +
			`s(e|es|ed|ing|ation|ations)`,
		say: "-ize",
	},
	{pattern: `(centre|judgement|grey|travelled|programme)s?`, say: "the American spelling"},
	{pattern: `e-mails?`, say: "email"},
	{pattern: `can not`, say: "cannot"},
	{pattern: `for ever`, say: "forever"},
	{pattern: `time-outs?`, say: "timeout"},
	{pattern: `look-ups?`, say: "lookup"},
}

// remaining counts the hits that each package may still have. The numbers only
// go down, and a package that is not listed has none.
var remaining = map[string]int{
	"internal/importer": 1, // part of the hash that identifies a batch, so it stays
	"internal/ledger":   4, // names of tables and columns, and a value of the filing service
}

// userPackages are the packages whose strings users read.
var userPackages = []string{"cmd/importer", "internal/config", "internal/web", "internal/report",
	"internal/importer", "internal/filing", "internal/ledger", "internal/resolve", "internal/schedule",
	"internal/pricing",
	"internal/balance", "internal/notify", "internal/documents", "internal/sheet", "internal/jobs",
	"internal/filingapi", "internal/backup", "internal/billing", "internal/reconcile", "internal/season",
	"internal/sandbox", "internal/signin", "internal/webhook", "cmd/worker"}

// userTexts are the other files that users and operators read.
var userTexts = []string{"*.md", "docs/*.md", "docs/decisions/*.md", "deploy/*.md", "deploy/prometheus/rules.yml",
	"deploy/grafana/dashboards/*.json",
	"deploy/kubernetes/*.yaml", "deploy/fleet.env.example",
	"docker-compose.yml", "templates/*.xlsx",
	"samples/*.xlsx", "samples/*.csv"}

// TestWords looks for words that the product replaces in every text that users
// read, and names the file, the line and what to say instead. Run it with -v
// to see the hits within the allowance.
func TestWords(t *testing.T) {
	hits := make(map[string][]string)
	for _, dir := range userPackages {
		for _, file := range sources(t, dir) {
			collect(hits, dir, file, literals(t, file))
		}
	}
	for _, file := range matches(t, "internal/web/templates/*.html") {
		collect(hits, "internal/web", file, markup(read(t, file)))
	}
	for _, pattern := range userTexts {
		for _, file := range matches(t, pattern) {
			switch filepath.Ext(file) {
			case ".xlsx":
				collect(hits, filepath.Dir(file), file, cells(t, file))
			case ".md":
				collect(hits, filepath.Dir(file), file, []text{{body: prose(read(t, file))}})
			default:
				collect(hits, filepath.Dir(file), file, []text{{body: read(t, file)}})
			}
		}
	}
	for _, dir := range slices.Sorted(keys(hits, remaining)) {
		found, allowed := hits[dir], remaining[dir]
		say := t.Logf
		if len(found) > allowed {
			t.Errorf("%s: %d words to replace, at most %d are left", dir, len(found), allowed)
			say = t.Errorf
		}
		for _, hit := range found {
			say("%s", hit)
		}
	}
}

// TestWordsInEveryForm holds the patterns to whole words: a longer form is not hidden
// by a shorter one that begins it.
func TestWordsInEveryForm(t *testing.T) {
	for body, found := range map[string]int{
		"settle, settled; settling": 3,
		"handed it over":            1,
		"cannot settlement":         0,
		"unsettled":                 0,
	} {
		hits := make(map[string][]string)
		collect(hits, "x", "x/y.go", []text{{body: body}})
		if len(hits["x"]) != found {
			t.Errorf("%q: %q", body, hits["x"])
		}
	}
}

// text is a piece of text with the place where it begins: a line, and for a
// workbook the cell.
type text struct {
	body, cell string
	line       int
}

var compiled = func() (all []*regexp.Regexp) {
	for _, r := range replacements {
		all = append(all, regexp.MustCompile(`(?i)\b(`+strings.ReplaceAll(r.pattern, " ", `[\s*]+`)+`)\b`))
	}
	return all
}()

func collect(hits map[string][]string, dir, file string, texts []text) {
	for _, x := range texts {
		for i, r := range replacements {
			if r.in != "" && !strings.HasPrefix(file, r.in) {
				continue
			}
			for _, at := range compiled[i].FindAllStringIndex(x.body, -1) {
				if !whole(x.body, at[0], at[1]) {
					continue
				}
				place := cmp.Or(x.cell, strconv.Itoa(x.line+1+strings.Count(x.body[:at[0]], "\n")))
				hits[dir] = append(hits[dir], fmt.Sprintf("%s:%s: %q: say %q", file, place,
					strings.Join(strings.Fields(x.body[at[0]:at[1]]), " "), r.say))
			}
		}
	}
}

// whole reports whether the match is words of prose, and no part of a name, a
// path or a flag.
func whole(s string, from, to int) bool {
	const joins = "/-_`.={$"
	if from > 0 && (letter(s[from-1]) || strings.IndexByte(joins, s[from-1]) >= 0) {
		return false
	}
	return to == len(s) || !letter(s[to]) && !strings.ContainsRune("_=`/", rune(s[to]))
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// A query, and a format of a time or a number.
var (
	sql = regexp.MustCompile(`(?i)^\s*(select|insert|update|delete|create|alter|with|from|where|and|order by|set|` +
		`returning|join|left join) .*`)
	upper = regexp.MustCompile(`^[A-Z][a-z]+$`)
)

// literals are the strings of a Go file that may be shown: no import paths,
// struct tags, queries, regular expressions, and no names without a blank.
func literals(t *testing.T, file string) (texts []text) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && strings.Contains(f.Sel.Name, "Compile") {
				return false
			}
		case *ast.BinaryExpr:
			if parts := concatenated(n); n.Op == token.ADD && slices.ContainsFunc(parts, isText) {
				texts = appendNested(appendText(texts, set, parts), set, parts)
				return false
			}
		case *ast.BasicLit:
			if isText(n) {
				texts = appendText(texts, set, []ast.Expr{n})
			}
		}
		return true
	})
	return texts
}

// appendNested adds the literals within the operands of a sum that are no
// literals themselves.
func appendNested(texts []text, set *token.FileSet, parts []ast.Expr) []text {
	for _, p := range parts {
		if isText(p) {
			continue
		}
		ast.Inspect(p, func(inner ast.Node) bool {
			if l, ok := inner.(*ast.BasicLit); ok && isText(l) {
				texts = appendText(texts, set, []ast.Expr{l})
			}
			return true
		})
	}
	return texts
}

func isText(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.STRING
}

// concatenated are the operands of a sum of strings.
func concatenated(e ast.Expr) []ast.Expr {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.ADD {
		return append(concatenated(b.X), concatenated(b.Y)...)
	}
	return []ast.Expr{e}
}

// appendText joins the literals of a sum, each on its own line of the file, so
// that a phrase is found over the seam.
func appendText(texts []text, set *token.FileSet, parts []ast.Expr) []text {
	var b strings.Builder
	first := set.Position(parts[0].Pos()).Line
	line := first
	for _, p := range parts {
		for ; line < set.Position(p.Pos()).Line; line++ {
			b.WriteByte('\n')
		}
		l, ok := p.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			b.WriteByte(0)
			continue
		}
		value, err := strconv.Unquote(l.Value)
		if err != nil {
			continue
		}
		if l.Value[0] != '`' {
			value = strings.ReplaceAll(value, "\n", " ")
		}
		b.WriteString(value)
		line += strings.Count(l.Value, "\n")
	}
	body := b.String()
	if (!strings.Contains(strings.TrimSpace(body), " ") && !upper.MatchString(body)) || sql.MatchString(body) {
		return texts
	}
	return append(texts, text{body: body, line: first - 1})
}

var (
	action    = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	quoted    = regexp.MustCompile("(?s)\"(?:[^\"\\\\\n]|\\\\.)*\"|`[^`]*`")
	element   = regexp.MustCompile(`(?s)<(?:script|style)\b.*?</(?:script|style)>|<!--.*?-->|<[^>]*>`)
	shownAttr = regexp.MustCompile(`(?s)\b(?:title|placeholder|aria-label|alt|label|data-[a-z]+|content)="([^"]*)"`)
	inline    = regexp.MustCompile("`[^`\n]+(?:\n[^`\n]+)?`")
	made      = regexp.MustCompile(`(?s)<!-- [a-z]+ -->\n.*?<!-- /[a-z]+ -->`)
)

// markup are the texts of a template: its text nodes, the attributes that are
// shown or read aloud, and the strings within its actions.
func markup(source string) []text {
	strs := blank(source)
	for _, at := range action.FindAllStringIndex(source, -1) {
		for _, q := range quoted.FindAllStringIndex(source[at[0]:at[1]], -1) {
			value := source[at[0]+q[0] : at[0]+q[1]]
			if strings.Contains(value, " ") || upper.MatchString(strings.Trim(value, `"`)) {
				copy(strs[at[0]+q[0]+1:], value[1:len(value)-1])
			}
		}
	}
	plain := action.ReplaceAllStringFunc(source, func(s string) string { return string(blank(s)) })
	attrs := blank(plain)
	for _, at := range shownAttr.FindAllStringSubmatchIndex(plain, -1) {
		copy(attrs[at[2]:], plain[at[2]:at[3]])
	}
	nodes := element.ReplaceAllStringFunc(plain, func(s string) string { return string(blank(s)) })
	return []text{{body: string(strs)}, {body: string(attrs)}, {body: nodes}}
}

// blank keeps the lines of s and nothing else.
func blank(s string) []byte {
	b := make([]byte, len(s))
	for i := range b {
		if s[i] == '\n' {
			b[i] = '\n'
		}
	}
	return b
}

// prose is a Markdown text without its short pieces of code and without the
// parts that are generated: their words are those of the code.
func prose(source string) string {
	source = made.ReplaceAllStringFunc(source, func(s string) string { return string(blank(s)) })
	return inline.ReplaceAllStringFunc(source, func(s string) string { return string(blank(s)) })
}

// cells are the texts of a workbook.
func cells(t *testing.T, file string) (texts []text) {
	t.Helper()
	book, err := excelize.OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	for _, name := range book.GetSheetList() {
		rows, err := book.GetRows(name)
		if err != nil {
			t.Fatal(err)
		}
		for r, row := range rows {
			for c, value := range row {
				at, err := excelize.CoordinatesToCellName(c+1, r+1)
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, text{body: value, cell: name + "!" + at})
			}
		}
		comments, err := book.GetComments(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range comments {
			texts = append(texts, text{body: c.Text, cell: name + "!" + c.Cell + " (note)"})
		}
		texts = append(texts, validations(t, book, name)...)
	}
	return texts
}

// validations are the messages of the drop-downs of a sheet.
func validations(t *testing.T, book *excelize.File, name string) (texts []text) {
	t.Helper()
	rules, err := book.GetDataValidations(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range rules {
		for _, s := range []*string{v.PromptTitle, v.Prompt, v.ErrorTitle, v.Error} {
			if s != nil {
				texts = append(texts, text{body: *s, cell: name + "!" + v.Sqref + " (validation)"})
			}
		}
	}
	return texts
}

func sources(t *testing.T, dir string) (files []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
			files = append(files, dir+"/"+e.Name())
		}
	}
	return files
}

func matches(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := fs.Glob(os.DirFS("."), pattern)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func keys(hits map[string][]string, more map[string]int) func(func(string) bool) {
	all := make(map[string]bool)
	for k := range hits {
		all[k] = true
	}
	for k := range more {
		all[k] = true
	}
	return func(yield func(string) bool) {
		for k := range all {
			if !yield(k) {
				return
			}
		}
	}
}
