package filing

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

// TestFoldLegalName compares the folds of two names.
func TestFoldLegalName(t *testing.T) {
	goldentest.Lines(t, "testdata/folds.txt", func(t *testing.T, fields []string) string {
		a, b := FoldLegalName(fields[0]), FoldLegalName(fields[1])
		if a != b {
			return fmt.Sprintf("two companies: %q and %q", a, b)
		}
		return fmt.Sprintf("same: %q", a)
	})
}

// TestRequest_DifferencesOfNames compares the name in a spreadsheet with the name on record. A
// confirmed difference is a warning.
func TestRequest_DifferencesOfNames(t *testing.T) {
	goldentest.Lines(t, "testdata/differences.txt", func(t *testing.T, fields []string) string {
		r := requestOf(t, "report")
		record := Company{LegalName: fields[2]}
		r.Company.Sheet = Company{LegalName: fields[1], EntityType: EntityType(fields[0])}
		var all []string
		for _, d := range r.Differences(record) {
			effect := map[bool]string{true: "passes", false: "held"}[d.Warning]
			all = append(all, fmt.Sprintf("%s by %s: %s", effect, d.Rule, d.Message))
		}
		r.Company.Confirmed = record.LegalName
		for _, d := range r.Differences(record) {
			if !d.Warning {
				t.Errorf("%q: held after the confirmation: %+v", fields, d)
			}
		}
		return cmp.Or(strings.Join(all, "; "), "same")
	})
}

// TestCutAfterEnding cuts a text after the ending of a name, and keeps what belongs to the name.
func TestCutAfterEnding(t *testing.T) {
	goldentest.Lines(t, "testdata/name_endings.txt", func(t *testing.T, fields []string) string {
		name, text := CutAfterEnding(fields[0])
		if !strings.HasPrefix(fields[0], name) || (name == fields[0]) != (text == "") {
			t.Errorf("%q: %q and %q", fields[0], name, text)
		}
		return fmt.Sprintf("%q, %q", name, text)
	})
}

// TestCheckName warns of the name of a new company if a state may refuse it.
func TestCheckName(t *testing.T) {
	goldentest.Lines(t, "testdata/new_names.txt", func(t *testing.T, fields []string) string {
		var vs violations
		checkName(&vs, "company.legalName", fields[1], EntityType(fields[0]))
		if len(vs) == 0 {
			return "ok"
		}
		return vs[0].Message
	})
}

// A fold of a fold changes nothing: keys of an earlier fold can be folded again.
func TestFoldIsIdempotent(t *testing.T) {
	// Without the apostrophe the accent belongs to the letter before it.
	if a, b := FoldLegalName("A'\u0300"), FoldLegalName("\u00c0"); a != b {
		t.Errorf("folds to %q, want %q", a, b)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.OneOf(
			rapid.RuneFrom([]rune("aAé'’´.& -\u0300\u0301\u200d\u00adıİﬁßΣ")),
			rapid.RuneFrom(nil, unicode.Mn, unicode.Pf, unicode.Sk)))).Draw(t, "name")
		once := FoldLegalName(name)
		if FoldLegalName(once) != once {
			t.Fatalf("%q folds to %q and that to %q", name, once, FoldLegalName(once))
		}
		for _, r := range FoldLegalName("a" + name) {
			if unicode.Is(unicode.Cf, r) || unicode.IsPunct(r) || unicode.IsSymbol(r) {
				t.Fatalf("%q folds to %q, with %U in it", "a"+name, FoldLegalName("a"+name), r)
			}
		}
	})
}
