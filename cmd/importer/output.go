package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// legible is a text from outside as a terminal may show it: on one line, without
// what moves the cursor or turns the writing around, and not for ever.
func legible(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > maxLegible {
		s = string(runes[:maxLegible]) + "…"
	}
	return s
}

const maxLegible = 500

// outputFor is the file to write for an input: the one that was asked for, or
// the input's name with another ending. It is settled before any work is done,
// and never the input itself: nobody's own sheet is written over.
func outputFor(asked, input, ending string, kinds ...string) (string, error) {
	output := asked
	if output == "" {
		output = strings.TrimSuffix(input, filepath.Ext(input)) + ending
	}
	if !slices.Contains(kinds, strings.ToLower(filepath.Ext(output))) {
		return "", usage("-o %s: the file is written as %s", output, strings.Join(kinds, " or "))
	}
	if folder, err := os.Stat(filepath.Dir(output)); err != nil || !folder.IsDir() {
		return "", usage("-o %s: there is no folder %s", output, filepath.Dir(output))
	}
	there, err := os.Stat(output)
	if err != nil {
		return output, nil // it is not there yet; what else is wrong with it, its writing will tell
	}
	given, err := os.Stat(input)
	if err == nil && os.SameFile(there, given) {
		return "", usage("-o %s is the sheet that is read: name another file", output)
	}
	return output, nil
}
