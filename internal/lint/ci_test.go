package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// selection matches the pattern that a command runs or skips tests by.
	selection = regexp.MustCompile(`-(?:run|skip|bench|fuzz) ('[^']+'|\S+)`)

	// name matches a name in a selection, and whether it stands for all that begin
	// with it.
	name = regexp.MustCompile(`(\w{4,})(\.\*)?`)

	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w*)\(`)
)

// TestSelectedTestsExist finds tests that the Makefile or a script of .ci selects by a name
// that no test has: go test runs none of them and succeeds.
func TestSelectedTestsExist(t *testing.T) {
	inModule(t)
	var tests []string
	for _, file := range testFiles(t) {
		if script, ok := strings.CutSuffix(filepath.Base(file), ".txtar"); ok {
			tests = append(tests, script)
			continue
		}
		for _, found := range testFunction.FindAllStringSubmatch(read(t, file), -1) {
			tests = append(tests, found[1])
		}
	}
	selected := 0
	for _, file := range []string{".ci/run", ".ci/prove", "Makefile"} {
		for _, s := range selection.FindAllStringSubmatch(read(t, file), -1) {
			for _, n := range name.FindAllStringSubmatch(s[1], -1) {
				selected++
				whole := strings.HasPrefix(n[1], "Test") && n[2] == ""
				if !slices.ContainsFunc(tests, func(test string) bool {
					return test == n[1] || !whole && strings.Contains(test, n[1])
				}) {
					t.Errorf("%s: %s selects %s, and no test has that name", file, s[0], n[1])
				}
			}
		}
	}
	if selected < 10 {
		t.Errorf("only %d names were found in the selections", selected)
	}
}

// testFiles lists the Go tests and the scripts of all modules.
func testFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".txtar"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
