package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documentedLine is a command line in a document: at the beginning of a line or of
// a quotation, up to its end.
var documentedLine = regexp.MustCompile("(?m)(?:^|\\$ |[`(/])importer ([a-z][^`#\\n]*)")

// Every command line that a document shows is one that the program has: the
// command, and its flags.
func TestDocumentedCommandLines(t *testing.T) {
	root := filepath.Join("..", "..")
	var documents []string
	for _, pattern := range []string{"README.md", "docs/*.md", "deploy/README.md", "deploy/kubernetes/*.yaml",
		"deploy/prometheus/*.yml", "docker-compose.yml"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		must(t, err)
		documents = append(documents, found...)
	}
	checked := 0
	for _, path := range documents {
		content, err := os.ReadFile(path)
		must(t, err)
		for _, line := range documentedLine.FindAllStringSubmatch(string(content), -1) {
			text := strings.Trim(strings.TrimSpace(line[1]), ").,;:")
			if err := known(strings.Fields(text)); err != nil {
				t.Errorf("%s: importer %s: %v", path, text, err)
			}
			checked++
		}
	}
	if checked < 50 {
		t.Errorf("only %d command lines were found", checked)
	}
}

// known reports what of a command line the program does not have.
func known(words []string) error {
	a := newGlobal(strings.NewReader(""), io.Discard, io.Discard, func(string) string { return "" })
	command, rest, err := newRootCommand(a).Find(words)
	if err != nil {
		return err
	}
	return command.ParseFlags(rest)
}
