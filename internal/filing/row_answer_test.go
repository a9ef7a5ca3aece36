package filing

import "testing"

func TestConflictOf(t *testing.T) {
	for _, c := range []struct {
		message string
		has     Product
		ordered bool
	}{
		// Source: spec section 7. A company may have got its EIN elsewhere.
		{"EIN already exists for this company", EIN, false},
		{"EIN already requested for this company", EIN, true},
		{"Foreign qualification already purchased for this state", ForeignQualification, true},
		{"Conflict: FOREIGN QUALIFICATION ALREADY PURCHASED for this state.", ForeignQualification, true},
		{"", "", false},
		{"A user with this email already exists", "", false},
		{"already exists", "", false},
	} {
		has, ordered, ok := ConflictOf(c.message)
		if has != c.has || ordered != c.ordered || ok != (c.has != "") {
			t.Errorf("%q: %q, %v, %v", c.message, has, ordered, ok)
		}
	}
}
