package filing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

func TestParseState(t *testing.T) {
	goldentest.Lines(t, "testdata/states.txt", func(t *testing.T, fields []string) string {
		state, ok := ParseState(fields[0])
		return fmt.Sprintf("%q, %t", state, ok)
	})
	if len(States()) != 51 {
		t.Errorf("%d states", len(States()))
	}
	for i, s := range States() {
		if i > 0 && States()[i-1] >= s {
			t.Errorf("%s is out of order", s)
		}
		for _, text := range []string{string(s), strings.ToLower(string(s)), s.Name(), strings.ToUpper(s.Name()),
			"state of " + s.Name()} {
			if got, ok := ParseState(text); got != s || !ok {
				t.Errorf("%q: %q, %v", text, got, ok)
			}
		}
		if !s.Known() {
			t.Error(s)
		}
	}
	if State("ZZ").Name() != "ZZ" || State("ZZ").Known() {
		t.Error("an unknown state shows as it is")
	}
}

func TestParseEntityType(t *testing.T) {
	goldentest.Lines(t, "testdata/entity_types.txt", func(t *testing.T, fields []string) string {
		entityType, ok := ParseEntityType(fields[0])
		return fmt.Sprintf("%q, %t", entityType, ok)
	})
}

func TestConflictOf(t *testing.T) {
	goldentest.Lines(t, "testdata/conflicts.txt", func(t *testing.T, fields []string) string {
		has, ordered, ok := ConflictOf(fields[0])
		return fmt.Sprintf("%q, ordered %t, conflict %t", has, ordered, ok)
	})
}
