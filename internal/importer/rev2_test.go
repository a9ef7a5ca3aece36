package importer

import (
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

func rev2Rows(t *testing.T, text string) []result {
	all := rowsOf(t, opened(t, saved(t, "in.csv", text), Options{}))
	for _, r := range all {
		t.Log(r.number, r.result, r.message, r.problems)
	}
	return all
}

// Row 2 orders an agent and a report, row 3 the report alone. Each request is sent on its own.
// Row 2 may be refused before its EIN is ordered: then nobody orders the EIN of row 3.
func TestRev2SubsetIsNoRepeat(t *testing.T) {
	all := rev2Rows(t, "Company ID,Legal Name,User ID,Filing State,Filing Year,Order Agent\n"+
		"comp_1,,user_1,DE,2026,yes\n"+
		"comp_1,,user_1,DE,2026,no\n")
	if all[1].result == filing.Skipped {
		t.Errorf("row 3 is skipped: %s", all[1].message)
	}
}

// Row 2 has the ID of another company; row 3 has no name and the right one.
func TestRev2BlankName(t *testing.T) {
	all := rev2Rows(t, "Company ID,Legal Name,User ID,Filing State,Filing Year\n"+
		"comp_1,Wrong Company LLC,user_1,DE,2026\n"+
		"comp_1,,user_1,DE,2026\n")
	if all[1].result == filing.Skipped {
		t.Errorf("row 3 is skipped in favor of a row that the comparison may hold back: %s", all[1].message)
	}
}

// three rows: names A, blank, B
func TestRev2BlankNameFirst(t *testing.T) {
	rev2Rows(t, "Company ID,Legal Name,User ID,Filing State,Filing Year\n"+
		"comp_1,,user_1,DE,2026\n"+
		"comp_1,Wrong Company LLC,user_1,DE,2026\n"+
		"comp_1,Right Company LLC,user_1,DE,2026\n")
}

// Entity type / formation state differ: the row held back because of them.
func TestRev2OtherFacts(t *testing.T) {
	all := rev2Rows(t, "Company ID,Legal Name,User ID,Filing State,Filing Year,Entity Type\n"+
		"comp_1,Acme LLC,user_1,DE,2026,CORP\n"+
		"comp_1,Acme LLC,user_1,DE,2026,LLC\n")
	_ = all
}

// Row 3 confirms the name, row 2 does not: row 2 is held back, and row 3 must not be skipped for it.
func TestRev2Confirmed(t *testing.T) {
	all := rev2Rows(t, "Company ID,Legal Name,User ID,Filing State,Filing Year,Confirmed Name\n"+
		"comp_1,Acme Inc.,user_1,DE,2026,\n"+
		"comp_1,Acme Inc.,user_1,DE,2026,Acme LLC\n")
	if all[1].result == filing.Skipped {
		t.Errorf("row 3 is skipped: %s", all[1].message)
	}
}

// "Acme" passes as an LLC only.
func TestRev2EntityType(t *testing.T) {
	all := rev2Rows(t, "Company ID,Legal Name,User ID,Filing State,Filing Year,Entity Type\n"+
		"comp_1,Acme,user_1,DE,2026,CORP\n"+
		"comp_1,Acme,user_1,DE,2026,LLC\n")
	if all[1].result == filing.Skipped {
		t.Errorf("row 3 is skipped: %s", all[1].message)
	}
}

// The brief: report + EIN beside the EIN.
func TestRev2ReportAndEINBesideEIN(t *testing.T) {
	head := "Company ID,User ID,Filing State,Filing Year,Order Annual Report,Order EIN,Business Category,Business Purpose,Application Reason,Vehicle 55k Pounds,Gambling Wagering,File Form 720,Alcohol Tobacco Firearms,File Form 944,W2 Expected,Agriculture Employees,Other Employees,First Wages Date,Responsible Party First Name,Responsible Party Last Name,Responsible Party Title,Responsible Party SSN,Responsible Party Phone\n"
	tail := "yes,Retail,Selling bread,Banking purposes,no,no,no,no,no,no,0,0,,Grace,Okafor,CEO,078-05-1120,+12125550101\n"
	all := rev2Rows(t, head+"comp_1,user_1,DE,2026,yes,"+tail+"comp_1,user_1,DE,,no,"+tail)
	if all[1].result == filing.Skipped {
		t.Errorf("row 3 is skipped: %s", all[1].message)
	}
}
