package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The guide shows what the demo prints. How much the first run orders before the
// funds run out differs from run to run.
func TestGuideShowsTheDemo(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide.md"))
	must(t, err)
	_, after, _ := strings.Cut(string(guide), "<!-- demo -->\n```\n$ make demo\n")
	want, _, found := strings.Cut(after, "```\n<!-- /demo -->")
	if !found {
		t.Fatal("docs/guide.md shows no demo")
	}
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	g := newGlobal(strings.NewReader(""), &out, &out, func(string) string { return "" })
	must(t, runDemo(t.Context(), g, "bulkfiling-demo"))
	differs := regexp.MustCompile(
		`(?m)^ +\d+  (placed|ready)|[\d,.]+ spent|\d+ orders? refused|(batch|resume) [0-9a-f]{16}`)
	mask := func(s string) []string {
		return strings.Split(strings.TrimSpace(differs.ReplaceAllString(s, "N")), "\n")
	}
	got, wanted := mask(out.String()), mask(want)
	for i := range max(len(got), len(wanted)) {
		if i >= len(got) || i >= len(wanted) {
			t.Fatalf("the demo prints %d lines, docs/guide.md shows %d", len(got), len(wanted))
		}
		if got[i] != wanted[i] {
			t.Errorf("line %d: the demo prints\n%s\nand docs/guide.md shows\n%s", i+1, got[i], wanted[i])
		}
	}
}
