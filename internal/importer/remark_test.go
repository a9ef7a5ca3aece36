package importer

import (
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

var verdictNames = map[verdict]string{holds: "holds", warns: "warns", passes: "passes"}

// TestJudge_Remarks judges what a text says about filing its row.
func TestJudge_Remarks(t *testing.T) {
	goldentest.Lines(t, "testdata/remarks.txt", func(t *testing.T, fields []string) string {
		return verdictNames[remarkKindOf(fields[0]).judge(fields[0], fields[1], 2026)]
	})
}

// TestJudge_Names judges what the name of a company says about filing its row.
func TestJudge_Names(t *testing.T) {
	goldentest.Lines(t, "testdata/names.txt", func(t *testing.T, fields []string) string {
		kind := map[string]remarkKind{"existing": nameRemark, "new": newNameRemark}[fields[0]]
		return verdictNames[kind.judge("Legal Name", fields[1], 2026)]
	})
}

// A text that is too long to be judged as a whole is judged by its beginning and its end, and is a
// warning if there is more.
func TestJudge_LongTexts(t *testing.T) {
	log := strings.Repeat("Spoke to the client about the address. ", 210)
	for text, want := range map[string]verdict{
		log + "DO NOT FILE.": holds, "Dissolved 2024. " + log: holds, log: passes,
		log + "DO NOT FILE. " + log + log: warns,
	} {
		if got := noteRemark.judge("Notes", text, 2026); got != want {
			t.Errorf("%d bytes: %d, want %d", len(text), got, want)
		}
	}
}
