package importer

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/shlex"
	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// What was put together to name a batch is taken apart as it was.
func TestUnquotedIsWhatWasQuoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[a-zé '"\\$=#-]{1,12}`)).Draw(t, "words")
		quotes := make([]string, len(words))
		for i, w := range words {
			quotes[i] = shellQuote(w)
		}
		got, err := shlex.Split(strings.Join(quotes, " "))
		if err != nil || !slices.Equal(got, words) {
			t.Fatalf("%q became %q", words, got)
		}
	})
}

func TestOptionsOf(t *testing.T) {
	for text, want := range map[string]Options{
		"": {},
		"--product annual-report --state DE --filing-year 2026 --user ana@example.com --sheet 'A B' --edits 1f " +
			"--again 'as asked'": {
			Product:    "annual-report",
			State:      "DE",
			FilingYear: "2026",
			User:       "ana@example.com",
		},
		"--product ein --header-row none --map A:A='Company ID'": {
			Product: "ein",
			Map:     map[string]string{"A:A": "Company ID"},
		},
		"agent-change by its columns --map 'Mandant=Company ID' --map 'a = b='": {
			Map: map[string]string{"Mandant": "Company ID", "a = b": ""},
		},
		"--product ein --exclude 'Notes=do*' --include Status=Void --visible-only": {
			Product: "ein",
			Exclude: []string{"Notes=do*"},
			Include: []string{"Status=Void"},
		},
		"--product ein --map '--state=Filing State' --map 'O'\\''Hara=' --season x/1": {
			Product: "ein",
			Map:     map[string]string{"--state": "Filing State", "O'Hara": ""},
		},
	} {
		if got := OptionsOf(ledger.Batch{Options: text}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestReadableHeaders(t *testing.T) {
	b := ledger.Batch{
		Options: "--map 'Firm Ref=Company ID' --map State= --map D:D='Filing Year' --map Notes= --map Gone=Client",
		Columns: []string{"Firm Ref", "State", "Notes", ""},
	}
	want := []string{"Company ID", "State (not used)", "Notes", "Filing Year"}
	if got := ReadableHeaders(b); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, known := wordingOf(want[1]); known {
		t.Errorf("%q is read", want[1])
	}
}
