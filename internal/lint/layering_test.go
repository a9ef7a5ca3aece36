package lint

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// module is the prefix of the packages' import paths.
const module = "github.com/bulkfiling/bulkfiling/"

// imports lists the packages of this module that each package may import. A
// package that is not listed may not exist.
var imports = map[string]string{
	"internal/outbox":            `audit filing money store`,
	"internal/account":           `audit outbox store`,
	"internal/audit":             `filing store`,
	"internal/store":             `network`,
	"internal/logs":              ``,
	"internal/cache":             ``,
	"internal/folder":            ``,
	"internal/retry":             ``,
	"internal/secret":            ``,
	"internal/text":              ``,
	"internal/money":             ``,
	"internal/filing":            `money`,
	"internal/sheet":             ``,
	"internal/lint":              ``,
	"internal/nettest":           ``,
	"internal/sheettest":         ``,
	"internal/filingapi":         `filing network`,
	"internal/balance":           `filing money season`,
	"internal/ledger":            `account audit balance filing money outbox season store`,
	"internal/ledgertest":        `ledger store`,
	"internal/backup":            `ledger outbox store`,
	"internal/pricing":           `balance filing filingapi ledger money season sheet`,
	"internal/importer":          `filing ledger season sheet`,
	"internal/report":            `filing ledger money sheet store`,
	"internal/season":            `filing money sheet`,
	"internal/lookup":            `filing filingapi ledger`,
	"internal/intake":            `filing importer ledger lookup pricing sheet`,
	"internal/schedule":          `balance filing importer intake ledger money outbox pricing season sheet store`,
	"internal/jobs":              `filing filingapi ledger lookup money network pricing store`,
	"internal/metrics":           `filing filingapi jobs ledger money`,
	"internal/sandbox":           ``,
	"internal/webhook":           `filing`,
	"internal/network":           ``,
	"internal/signin":            `network`,
	"internal/signin/signintest": ``,
	"internal/documents":         `filingapi ledger network sheet`,
	"internal/notify":            `filing ledger money network outbox`,
	"internal/resolve":           `filing filingapi jobs ledger money`,
	"internal/web": `account audit backup documents filing filingapi importer intake jobs ledger lookup money network
		outbox pricing report resolve schedule season sheet signin store`,
	"internal/config": `account filing filingapi jobs ledger logs lookup money network notify pricing schedule signin store`,
	"samples":         ``,
	"cmd/importer": `account audit backup config documents filing filingapi importer intake jobs ledger logs lookup
		metrics money network notify pricing report resolve samples sandbox schedule season sheet signin
		store web webhook`,
	"cmd/worker": `config filingapi jobs ledger logs metrics network pricing sheet store`,
}

// TestMain runs the tests in the module's root.
func TestMain(m *testing.M) {
	file, err := exec.Command("go", "env", "GOMOD").Output()
	if err == nil {
		err = os.Chdir(filepath.Dir(strings.TrimSpace(string(file))))
	}
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestLayering(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module)
		if p.ImportPath == strings.TrimSuffix(module, "/") {
			continue // doc.go of the root
		}
		allowed, listed := imports[name]
		if !listed {
			t.Errorf("%s is not listed in imports", name)
			continue
		}
		seen++
		for _, i := range p.Imports {
			pkg, ours := strings.CutPrefix(i, module)
			if ours && !slices.Contains(strings.Fields(allowed), strings.TrimPrefix(pkg, "internal/")) &&
				!slices.Contains(everywhere, pkg) {
				t.Errorf("%s may not import %s", name, pkg)
			}
		}
	}
	if seen != len(imports) {
		t.Errorf("%d of %d listed packages exist", seen, len(imports))
	}
}

// TestPackageDocumentation checks that doc.go describes every package and names files that exist.
func TestPackageDocumentation(t *testing.T) {
	_, doc, _ := strings.Cut(read(t, "doc.go"), "# Packages")
	packages, order, _ := strings.Cut(doc, "# Reading order")
	for path := range imports {
		name := strings.TrimPrefix(path, "internal/")
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(packages) {
			t.Errorf("doc.go does not describe %s", path)
		}
	}
	files := regexp.MustCompile(`\w+/\w+\.go`).FindAllString(order, -1)
	if len(files) < 10 {
		t.Errorf("doc.go names %d files, want the way of a row", len(files))
	}
	for _, file := range files {
		if _, err := os.Stat(filepath.Join("internal", file)); err != nil {
			t.Errorf("doc.go: %v", err)
		}
	}
}

// everywhere lists the packages that every package may import. They import none.
var everywhere = []string{"internal/cache", "internal/folder", "internal/retry", "internal/secret", "internal/text"}

var update = flag.Bool("update", false, "write the generated parts of the documents")

// generated lists the parts of the documents that come from the code. Each stands
// between <!-- name --> and <!-- /name -->.
var generated = []struct {
	file, name string
	make       func() string
}{
	{"docs/reference.md", "states", stateDiagram},
	{"docs/assumptions.md", "assumptions", assumptionTable},
	{"docs/reference.md", "environment", environmentTable},
	{"docs/reference.md", "packages", packageTable},
	{"docs/reference.md", "imports", importGraph},
}

func TestDocumentsSayWhatTheCodeDoes(t *testing.T) {
	for _, g := range generated {
		content, err := os.ReadFile(g.file)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := "<!-- "+g.name+" -->\n", "<!-- /"+g.name+" -->"
		before, rest, found := strings.Cut(string(content), begin)
		part, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Errorf("%s has no part %s", g.file, g.name)
			continue
		}
		want := strings.TrimRight(g.make(), "\n") + "\n"
		switch {
		case part == want:
		case !*update:
			t.Errorf("%s: the part %s differs from the code: run go test ./internal/lint -run TestDocuments -update",
				g.file, g.name)
		default:
			if err := os.WriteFile(g.file, []byte(before+begin+want+end+after), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func stateDiagram() string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n    direction LR\n")
	for _, r := range []filing.Result{filing.Invalid, filing.Skipped, filing.Ready} {
		fmt.Fprintf(&b, "    [*] --> %s\n", r)
	}
	for _, e := range filing.Edges {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", e.From, e.To, strings.ReplaceAll(e.Why, ":", ","))
	}
	b.WriteString("```\n")
	return b.String()
}

// packageTable gives the first sentence of each package's comment.
func packageTable() string {
	var b strings.Builder
	b.WriteString("| package | purpose |\n|---|---|\n")
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Doc}}", "./...").Output()
	if err != nil {
		panic(fmt.Sprintf("go list: %v", err))
	}
	for line := range strings.Lines(string(out)) {
		path, about, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if name, ours := strings.CutPrefix(path, module); ours {
			fmt.Fprintf(&b, "| `%s` | %s |\n", name, about)
		}
	}
	return b.String()
}

// importGraph draws the imports between packages. It leaves out those that
// others imply, and the packages that every package may import.
func importGraph() string {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}{{range .Imports}} {{.}}{{end}}", "./...").Output()
	if err != nil {
		panic(fmt.Sprintf("go list: %v", err))
	}
	direct := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		if slices.Contains(everywhere, strings.TrimPrefix(names[0], module)) {
			continue
		}
		for _, i := range names[1:] {
			if name, ours := strings.CutPrefix(i, module); ours && !slices.Contains(everywhere, name) {
				direct[names[0]] = append(direct[names[0]], i)
			}
		}
	}
	var reaches func(from, to string) bool
	reaches = func(from, to string) bool {
		return slices.ContainsFunc(direct[from], func(i string) bool { return i == to || reaches(i, to) })
	}
	short := func(path string) string {
		return strings.TrimPrefix(strings.TrimPrefix(path, module), "internal/")
	}
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TD\n")
	for _, from := range slices.Sorted(maps.Keys(direct)) {
		for _, to := range direct[from] {
			if !slices.ContainsFunc(direct[from], func(i string) bool { return reaches(i, to) }) {
				fmt.Fprintf(&b, "    %s --> %s\n", short(from), short(to))
			}
		}
	}
	b.WriteString("```\n")
	return b.String()
}

// TestDependenciesHaveReasons compares the direct requirements of go.mod with
// the table of docs/reference.md.
func TestDependenciesHaveReasons(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "docs/reference.md"), "## Dependencies")
	listed := make(map[string]bool)
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-zA-Z][^|]*/[^|]*) \| \S`).FindAllStringSubmatch(table, -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			listed[name] = true
		}
	}
	delete(listed, "panva/node-oidc-provider")
	version := regexp.MustCompile(`/v\d+$`)
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(read(t, "go.mod"), -1) {
		name := version.ReplaceAllString(strings.TrimPrefix(m[1], "github.com/"), "")
		if !listed[name] {
			t.Errorf("docs/reference.md gives no reason for %s", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("docs/reference.md lists %s, which go.mod does not require", name)
	}
}

func assumptionTable() string {
	var b strings.Builder
	b.WriteString("| not shown | assumed | to change it | in the code |\n|---|---|---|---|\n")
	for _, a := range filing.Assumptions {
		fmt.Fprintf(&b, "| %s | %s | %s | [%s](../%s) |\n", a.NotShown, a.Taken, a.Override,
			strings.TrimPrefix(a.Where, "internal/"), a.Where)
	}
	return b.String()
}

// TestAssumptions checks that the code at the place of each assumption names it.
func TestAssumptions(t *testing.T) {
	for _, a := range filing.Assumptions {
		if code := read(t, a.Where); !strings.Contains(code, "Assumption") {
			t.Errorf("%s: %s does not say that it is an assumption", a.NotShown, a.Where)
		}
	}
}

func environmentTable() string {
	var b strings.Builder
	b.WriteString("| variable | default | |\n|---|---|---|\n")
	for _, v := range config.Variables {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v.Name, v.Default, v.Meaning)
	}
	return b.String()
}

// TestSecurityPageNamesWhatExists checks that every file and test which
// docs/security.md names exists.
func TestSecurityPageNamesWhatExists(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	err = filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			var content []byte
			content, err = os.ReadFile(path)
			tests.Write(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 40 {
		t.Errorf("%d tests are named", len(names))
	}
	for _, name := range names {
		if !strings.Contains(tests.String(), "func "+name[1]+"(") {
			t.Errorf("there is no %s", name[1])
		}
	}
	for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(page), -1) {
		if _, err := os.Stat(filepath.Join("docs", link[1])); err != nil {
			t.Error(err)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
