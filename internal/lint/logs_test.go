package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	logTable  = regexp.MustCompile(`(?m)^\| log \| .*\n\|[-| ]+\n((?:\|.*\n?)+)`)
	logSays   = regexp.MustCompile("the log says ((?:`[^`]+`(?: or | and |, )?)+)")
	backquote = regexp.MustCompile("`([^`]+)`")
)

// notOurs are quoted parts of log lines that come from no Go code: the codes of
// OAuth are the provider's answer.
var notOurs = []string{"invalid_client"}

// The documents quote messages of the log; an operator searches for them.
func TestQuotedLogMessagesExist(t *testing.T) {
	inModule(t)
	ours := stringsOf(t, "internal", "cmd")
	oidc, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/coreos/go-oidc/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := append(stringsOf(t, strings.TrimSpace(string(oidc))), ours...)
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := 0
	for _, file := range docs {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cells []string
		for _, m := range logTable.FindAllStringSubmatch(string(content), -1) {
			for line := range strings.Lines(m[1]) {
				cells = append(cells, strings.Split(line, "|")[1])
			}
		}
		for _, m := range logSays.FindAllStringSubmatch(string(content), -1) {
			cells = append(cells, m[1])
		}
		for _, cell := range cells {
			for i, m := range backquote.FindAllStringSubmatch(cell, -1) {
				quoted++
				part := m[1]
				message := i == 0 && !strings.HasPrefix(strings.TrimSpace(cell), "…")
				switch {
				case message && !slices.Contains(ours, part):
					t.Errorf("%s: no log message is %q", file, part)
				case !slices.Contains(notOurs, part) &&
					!slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, part) }):
					t.Errorf("%s: no message contains %q", file, part)
				}
			}
		}
	}
	if quoted < 9 {
		t.Errorf("%d messages were found in the documents, want the table of docs/sign-in.md at least", quoted)
	}
}

// stringsOf lists the string literals of the Go files below the folders.
func stringsOf(t *testing.T, folders ...string) (all []string) {
	t.Helper()
	for _, path := range goFiles(t, folders...) {
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if s, err := strconv.Unquote(l.Value); err == nil {
					all = append(all, s)
				}
			}
			return true
		})
	}
	return all
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
