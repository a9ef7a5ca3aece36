package bulkfiling_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	citation     = regexp.MustCompile(`(?i)\b(?:spec sections?|order rules?) [^.]*`)
	comment      = regexp.MustCompile(`\n\s*//\s?`)
	citedSection = regexp.MustCompile(`sections? (\d+)`)
	citedRules   = regexp.MustCompile(`(?:sections? (\d+)|rules? (\d+)(?: to (\d+))?((?:(?:, | and )\d+)*))`)
	number       = regexp.MustCompile(`\d+`)
)

// TestServiceRules checks that docs/service-rules.md has every section and rule
// that a comment of the code cites.
func TestServiceRules(t *testing.T) {
	rules := read(t, "docs/service-rules.md")
	sections, cited := make(map[string]bool), make(map[string]string)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		cite(read(t, path), path, sections, cited)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(sections) < 7 || len(cited) < 9 {
		t.Errorf("only the sections %v and the rules %v are cited", sections, cited)
	}
	for s := range sections {
		if !strings.Contains(rules, "\n## "+s+". ") {
			t.Errorf("docs/service-rules.md has no section %s", s)
		}
	}
	for rule, path := range cited {
		if !strings.Contains(rules, "\n- **"+rule+"** ") {
			t.Errorf("docs/service-rules.md has no rule %s, which %s cites", rule, path)
		}
	}
}

// cite adds the sections and the rules that the comments of a file name.
func cite(code, path string, sections map[string]bool, cited map[string]string) {
	for _, text := range citation.FindAllString(comment.ReplaceAllString(code, " "), -1) {
		if !citedSection.MatchString(text) {
			continue
		}
		section := "4" // of "order rule 9"
		for _, m := range citedRules.FindAllStringSubmatch(text, -1) {
			if m[1] != "" {
				section = m[1]
				sections[section] = true
				continue
			}
			for _, rule := range span(m[2], m[3], m[4]) {
				cited[section+"."+rule] = path
			}
		}
	}
}

// span lists the rules of "from", "from to last" and what follows.
func span(from, last, more string) (all []string) {
	first, _ := strconv.Atoi(from)
	end, err := strconv.Atoi(last)
	if err != nil {
		end = first
	}
	for n := first; n <= end; n++ {
		all = append(all, strconv.Itoa(n))
	}
	return append(all, number.FindAllString(more, -1)...)
}
