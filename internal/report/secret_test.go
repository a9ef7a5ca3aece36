package report

import "testing"

// The field that a column was read as says more than its header, which package filing
// judges.
func TestColumnsOfSocialSecurityNumbers(t *testing.T) {
	for _, c := range []struct {
		header, field string
		want          bool
	}{
		{"SSN", "", true},
		{"Business No", "", false},
		{"Steuernummer", "ein.responsiblePartySsn", true},
		{"Business No", "ein.responsiblePartySsn", true},
		{"SSN", "companyId", false},
	} {
		if got := isSecret(c.header, c.field); got != c.want {
			t.Errorf("%q, read as %q: %v, want %v", c.header, c.field, got, c.want)
		}
	}
}
