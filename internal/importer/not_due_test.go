package importer

import (
	"strings"
	"testing"
	"time"
)

// Where the table of the states says that no report is due, not in that year or not yet,
// the row says so at its state and is sent all the same; where it may be due, nothing is said.
func TestAReportThatNoStateAsksFor(t *testing.T) {
	rows := []string{
		"comp_1,A,LLC,OH,OH,2026,user_1,",
		"comp_2,B,LLC,DE,AZ,2026,user_1,",
		"comp_3,C,LLC,MO,MO,2026,user_1,",
		"comp_4,D,,,OH,2026,user_1,", // no company of any kind
		"comp_5,E,,,AZ,2026,user_1,", // a corporation's is due
		"comp_6,F,CORP,AZ,AZ,2026,user_1,",
		"comp_7,G,LLC,DE,DE,2026,user_1,", // a tax is
		"comp_8,H,LLC,NM,NM,2026,user_1,",
		"comp_9,I,LLC,SC,SC,2026,user_1,",
		"comp_10,J,LLC,AL,AL,2026,user_1,",
		"comp_11,K,LLC,IA,IA,2026,user_1,",
		"comp_12,L,LLC,NV,NV,2027,user_1,2019-04-10",
		"comp_13,M,LLC,NV,NV,2026,user_1,2019-04-10",
		"comp_14,N,LLC,NV,NV,2027,user_1,", // nobody knows its month
		"comp_15,O,,IA,IA,2026,user_1,",    // a corporation's is due
		"comp_16,P,LLC,FL,FL,2026,user_1,2026-03-01",
	}
	text := "Company ID,Legal Name,Entity Type,Formation State,Filing State,Filing Year,User ID,Formation Date\n" +
		strings.Join(rows, "\n") + "\n"
	found := rowsOf(t, opened(t, saved(t, "in.csv", text), Options{Now: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}))
	for row, want := range map[int][2]string{
		2:  {"not-required", "Ohio asks no annual report of an LLC"},
		3:  {"not-required", "Arizona asks no annual report of an LLC formed elsewhere"},
		4:  {"not-required", "Missouri asks no annual report of an LLC"},
		5:  {"not-required", "Ohio asks no annual report of any company"},
		9:  {"not-required", "New Mexico asks no annual report of an LLC"},
		10: {"not-required", "South Carolina asks no annual report of an LLC"},
		11: {"not-required", "Alabama asks no annual report of an LLC"},
		12: {"not-this-year",
			"Iowa has no report of 2026: January 1 to April 1 of odd-numbered years; 2026 is not one"},
		13: {"too-early", "Nevada takes the report of 2027 from Jan 30, 2027 on, and it is due by Apr 30, 2027"},
		17: {"not-this-year", "Florida has no report of 2026"},
	} {
		problems := found[row-2].problems
		if len(problems) != 1 {
			t.Errorf("row %d: %+v", row, problems)
			continue
		}
		p := problems[0]
		if !strings.HasPrefix(p.Message, want[1]) || !strings.Contains(p.Message,
			" (source: ") || p.Severity != Warning ||
			p.Column != "Filing State" ||
			p.Rule != "annual-report."+want[0] {
			t.Errorf("row %d: %+v", row, p)
		}
	}
	for _, row := range []int{6, 7, 8, 14, 15, 16} {
		if problems := found[row-2].problems; len(problems) > 0 {
			t.Errorf("row %d: %+v", row, problems)
		}
	}
}
