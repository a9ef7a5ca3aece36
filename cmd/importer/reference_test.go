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

// TestReference checks that docs/reference.md lists every command and exit code,
// and writes the lists with -update.
func TestReference(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "reference.md")
	before, err := os.ReadFile(file)
	must(t, err)
	root := newRootCommand(newGlobal(strings.NewReader(""), io.Discard, io.Discard, func(string) string { return "" }))
	content := string(before)
	for name, table := range map[string]string{"commands": commandTable(root), "exits": exitTable()} {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		above, rest, found := strings.Cut(content, begin)
		_, below, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no part %s", file, begin)
		}
		content = above + begin + table + end + below
	}
	switch {
	case content == string(before):
	case !*update:
		t.Fatalf("the commands or exit codes of %s differ from the code: run this test with -update", file)
	default:
		must(t, os.WriteFile(file, []byte(content), 0o644))
	}
}

// exitTable lists the exit codes.
func exitTable() string {
	var b strings.Builder
	b.WriteString("| status | meaning |\n|---|---|\n")
	for _, exit := range exitMeanings {
		fmt.Fprintf(&b, "| %d | %s |\n", exit.code, exit.meaning)
	}
	return b.String()
}

// isGroup reports whether a command only prints its help.
func isGroup(c *cobra.Command) bool {
	_, group := c.Annotations["group"]
	return group
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
		if c.Runnable() && !isGroup(c) {
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
