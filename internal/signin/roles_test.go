package signin

import "testing"

func TestGroupRoles(t *testing.T) {
	roles := []string{"approver", "operator"}
	for text, want := range map[string]GroupRoles{
		"":                                   nil,
		"a=approver, b = operator":           {{"a", "approver"}, {"b", "operator"}},
		"cn=x,dc=y=approver;\n a=operator ;": {{"cn=x,dc=y", "approver"}, {"a", "operator"}},
	} {
		got, err := ParseGroupRoles(text, roles)
		if err != nil || len(got) != len(want) {
			t.Errorf("%q: %v, %v", text, got, err)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: %v", text, got)
			}
		}
	}
	for _, bad := range []string{"a", "a=king", "=approver", "a=approver=", "cn=x,dc=y=approver"} {
		if got, err := ParseGroupRoles(bad, roles); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
	all := GroupRoles{{"a", "approver"}, {"b", "approver"}, {"b", "operator"}}
	if got := all.Of([]string{"b", "a", "z"}); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if got := all.Of([]string{"A", "", "a "}); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
