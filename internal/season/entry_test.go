package season

import (
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

func TestCalendarAsCSVHasNoFormulas(t *testing.T) {
	var b strings.Builder
	row := Row{CompanyID: "\t=cmd", LegalName: "=1+1 LLC", Number: 3, Facts: Facts{State: filing.State("FL")}}
	if err := WriteCSV(&b, []Entry{{Row: row, Due: Due{Verdict: NotRequired}}}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(b.String(), "\n"); len(lines) != 3 ||
		!strings.HasPrefix(lines[1], ",false,not required,FL,'\t=cmd,'=1+1 LLC,3,") {
		t.Errorf("%q", b.String())
	}
}
