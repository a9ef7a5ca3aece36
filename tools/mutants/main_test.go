package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every mutant applies to the source as it is, and there are many.
func TestListApplies(t *testing.T) {
	if err := checkList(mutants); err != nil {
		t.Error(err)
	}
	if len(mutants) < 30 {
		t.Errorf("only %d mutants", len(mutants))
	}
}

// A mutant that does not apply is an error that names it.
func TestListThatDoesNotApply(t *testing.T) {
	m := mutants[0]
	for what, edits := range map[string][]edit{"stands 0 times": {{"no such text", ""}}, "times in": {{"\n", ""}}} {
		m.edits = edits
		if err := checkList([]mutant{m}); err == nil || !strings.Contains(err.Error(), what) ||
			!strings.Contains(err.Error(), m.name) {
			t.Errorf("%v", err)
		}
	}
	if err := checkList([]mutant{mutants[0], mutants[0]}); err == nil {
		t.Error("two mutants have one name")
	}
}

// The document lists the mutants of the list, in its order.
func TestDocumentIsCurrent(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, table))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(strings.TrimPrefix(string(content), heading)), "\n")
	if len(lines) != len(mutants) {
		t.Fatalf("%d lines for %d mutants: run make mutants", len(lines), len(mutants))
	}
	for i, m := range mutants {
		if want := fmt.Sprintf("| %s | `%s` | %s | Test", m.name, strings.TrimPrefix(m.file, "internal/"),
			m.harm); !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, want %q: run make mutants", i+1, lines[i], want)
		}
	}
}

// A test that ran out of time finds nothing: it has to say what is wrong.
func TestFailures(t *testing.T) {
	for out, want := range map[string]string{
		"--- FAIL: TestB (0.1s)\n    --- FAIL: TestB/x (0.1s)\n--- FAIL: TestA (0.2s)\n" +
			"--- FAIL: TestB (0s)\n": "TestA TestB",
		"panic: test timed out after 2m0s\nrunning tests:\n\tTestA (2m0s)\n": "",
		"--- PASS: TestA (0.1s)\nPASS\n":                                     "",
	} {
		if got := strings.Join(failures(out), " "); got != want {
			t.Errorf("%q: %q, want %q", out, got, want)
		}
	}
}
