package report

import "testing"

func TestColumnsOfSocialSecurityNumbers(t *testing.T) {
	for _, c := range []struct {
		header, field string
		want          bool
	}{
		{"SSN", "", true},
		{"ssn", "", true},
		{"SSNs", "", true},
		{"SSN2", "", true},
		{"S.S.N.", "", true},
		{"SSN/ITIN", "", true},
		{"ssn_number", "", true},
		{"ssnNumber", "", true},
		{"SSNNumber", "", true},
		{"Owner's SSN", "", true},
		{"Owner’s SSN (last 4)", "", true},
		{"ownerSSN", "", true},
		{"OWNERSSN", "", true},
		{"officer1ssn", "", true},
		{"responsiblePartySsn", "", true},
		{"responsiblepartyssn", "", true},
		{"ein.responsiblePartySsn", "", true},
		{"Soc. Sec. No.", "", true},
		{"SocSec", "", true},
		{"Social Security Number", "", true},
		{"SocialSecurity", "", true},
		{"SOCIAL-SECURITY #", "", true},
		{"socialsecuritynumber", "", true},
		{"Member 2\nSocial  Security", "", true},

		{"", "", false},
		{"Business Name", "", false},
		{"Business No", "", false},
		{"Business Number", "", false},
		{"BusinessName", "", false},
		{"BUSINESSNAME", "", false},
		{"Address Number", "", false},
		{"addressnumber", "", false},
		{"Mission", "", false},
		{"Wellness Note", "", false},
		{"Class Name", "", false},
		{"classname", "", false},
		{"Passnumber", "", false},
		{"Officer's Number", "", false},
		{"Officer's SN", "", false},
		{"Social Sector", "", false},
		{"Security Number", "", false},
		{"Société Secrète", "", false},

		{"Steuernummer", "ein.responsiblePartySsn", true},
		{"SSN", "companyId", false},
		{"Business No", "ein.responsiblePartySsn", true},
	} {
		if got := isSecret(c.header, c.field); got != c.want {
			t.Errorf("%q, read as %q: %v, want %v", c.header, c.field, got, c.want)
		}
	}
}
