package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestReference checks that docs/reference.md lists every command, and writes
// the list with -update.
func TestReference(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "reference.md")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- commands -->\n", "<!-- /commands -->"
	before, rest, found := strings.Cut(string(content), begin)
	part, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no part for the commands", file)
	}
	a := newApp(strings.NewReader(""), io.Discard, io.Discard, func(string) string { return "" })
	want := commandTable(a.command())
	if part == want {
		return
	}
	if !*update {
		t.Fatalf("the commands of %s differ from the code: run this test with -update", file)
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// commandTable lists the commands that do something, by the groups of the help.
func commandTable(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("| command | what it does |\n|---|---|\n")
	var write func(c *cobra.Command)
	write = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			return
		}
		if c.Runnable() {
			use := strings.TrimPrefix(strings.TrimSuffix(c.UseLine(), " [flags]"), "importer ")
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(use, "|", "\\|"), c.Short)
		}
		for _, child := range c.Commands() {
			write(child)
		}
	}
	for _, group := range root.Groups() {
		fmt.Fprintf(&b, "| **%s** | |\n", strings.TrimSuffix(group.Title, ":"))
		for _, c := range root.Commands() {
			if c.GroupID == group.ID {
				write(c)
			}
		}
	}
	return b.String()
}
