package lint

import (
	"flag"
	"fmt"
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

var update = flag.Bool("update", false, "write the generated parts of the documents")

// generated lists the parts of the documents that come from the code. Each stands
// between <!-- name --> and <!-- /name -->.
var generated = []struct {
	file, name string
	make       func() string
}{
	{"docs/reference.md", "states", stateDiagram},
	{"docs/reference.md", "environment", environmentTable},
	{"docs/reference.md", "packages", packageTable},
	{"docs/reference.md", "imports", importGraph},
}

func TestDocumentsSayWhatTheCodeDoes(t *testing.T) {
	inModule(t)
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
	inModule(t)
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

// TestAssumptions checks that each row of docs/assumptions.md names a file that says so.
func TestAssumptions(t *testing.T) {
	inModule(t)
	table := read(t, "docs/assumptions.md")
	rows := regexp.MustCompile(`(?m)^\| [^|]+ \| [^|]+ \| [^|]* \| \[[^|]+\]\(\.\./([^|]+)\) \|$`).
		FindAllStringSubmatch(table, -1)
	if header := 1; len(rows) < 40 || len(rows) != strings.Count(table, "\n| ")-header {
		t.Errorf("%d rows have four columns and a link to the code", len(rows))
	}
	for _, row := range rows {
		if !strings.Contains(read(t, row[1]), "Assumption") {
			t.Errorf("%s does not say that it is an assumption: %s", row[1], row[0])
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

var testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*(?:\.\*)?`)

// TestNamedTestsExist checks the names of tests in documents and in the commands of CI. For a
// wrong name, go test runs no test and succeeds.
func TestNamedTestsExist(t *testing.T) {
	inModule(t)
	var tests strings.Builder
	for _, file := range testFiles(t) {
		tests.WriteString(read(t, file))
	}
	named := 0
	for _, file := range []string{"docs/security.md", "docs/proof.md", "Makefile", ".ci/run", ".ci/prove"} {
		for _, name := range testName.FindAllString(read(t, file), -1) {
			named++
			declared := "func " + name + "("
			if prefix, ok := strings.CutSuffix(name, ".*"); ok {
				declared = "func " + prefix
			}
			if !strings.Contains(tests.String(), declared) {
				t.Errorf("%s: there is no %s", file, name)
			}
		}
	}
	if named < 50 {
		t.Errorf("%d tests are named", named)
	}
}

var (
	mdLink     = regexp.MustCompile(`\]\(([^)]+)\)`)
	mdHeading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInLinks = regexp.MustCompile(`[^\w\- ]`)
	makeTarget = regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)")
)

// TestDocumentsNameWhatExists checks the links and the make targets of all documents.
func TestDocumentsNameWhatExists(t *testing.T) {
	inModule(t)
	makefile := read(t, "Makefile")
	targets := 0
	for _, file := range documents(t) {
		content := read(t, file)
		for _, found := range mdLink.FindAllStringSubmatch(content, -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(found[1], "#")
			to := file
			if path != "" {
				to = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", file, err)
			} else if anchor != "" && !slices.Contains(anchors(read(t, to)), anchor) {
				t.Errorf("%s: %s has no heading for #%s", file, to, anchor)
			}
		}
		for _, found := range makeTarget.FindAllStringSubmatch(content, -1) {
			targets++
			if !strings.Contains(makefile, "\n"+found[1]+":") {
				t.Errorf("%s: the Makefile has no target %s", file, found[1])
			}
		}
	}
	if targets < 10 {
		t.Errorf("only %d make targets were found in the documents", targets)
	}
}

var (
	commentBreak = regexp.MustCompile(`\n\s*// `)
	citation     = regexp.MustCompile(`Source: spec [^.\n]*`)
	citedSection = regexp.MustCompile(`sections? (\d+)(?:,? \(?(?:order )?rules? ((?:\d+(?:, | and | to )?)+))?`)
	number       = regexp.MustCompile(`\d+`)
)

// TestCitedRulesExist checks that docs/service-rules.md has each section and rule that the code cites.
func TestCitedRulesExist(t *testing.T) {
	inModule(t)
	rules := read(t, "docs/service-rules.md")
	cited := 0
	for _, file := range goFiles(t, "internal", "cmd") {
		code := commentBreak.ReplaceAllString(read(t, file), " ")
		for _, source := range citation.FindAllString(code, -1) {
			for _, found := range citedSection.FindAllStringSubmatch(source, -1) {
				cited++
				if !strings.Contains(rules, "\n## "+found[1]+". ") {
					t.Errorf("%s: there is no section %s: %s", file, found[1], source)
				}
				for _, rule := range number.FindAllString(found[2], -1) {
					if !strings.Contains(rules, "\n- **"+found[1]+"."+rule+"** ") {
						t.Errorf("%s: there is no rule %s.%s: %s", file, found[1], rule, source)
					}
				}
			}
		}
	}
	if cited < 80 {
		t.Errorf("only %d citations were found", cited)
	}
}

// documents lists the documents that people read.
func documents(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md", "deploy/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	return files
}

// anchors lists the fragments of a document's headings.
func anchors(content string) (all []string) {
	for _, heading := range mdHeading.FindAllStringSubmatch(content, -1) {
		plain := notInLinks.ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, strings.ReplaceAll(plain, " ", "-"))
	}
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// testFiles lists the Go tests of all modules.
func testFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// goFiles lists the Go files below the folders, without their tests.
func goFiles(t *testing.T, folders ...string) (files []string) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}
