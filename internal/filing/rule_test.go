package filing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

// requestOf returns a request of testdata/requests.json with changes.
func requestOf(t *testing.T, name string, changes ...string) *Request {
	t.Helper()
	var r Request
	if err := json.Unmarshal(goldentest.Object(t, "testdata/requests.json", name, changes...), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// TestViolations has a line for each rule and for each border of it.
func TestViolations(t *testing.T) {
	goldentest.Lines(t, "testdata/rules.txt", func(t *testing.T, fields []string) string {
		var found []string
		for _, v := range requestOf(t, fields[1], fields[2:]...).Violations(2026) {
			severity := map[bool]string{true: "warning", false: "error"}[v.Warning]
			found = append(found, fmt.Sprintf("%s %s at %s: %s", severity, v.Rule, v.Field, v.Message))
		}
		return cmp.Or(strings.Join(found, "; "), "ok")
	})
}

// The number itself is in no violation, whatever is wrong with it.
func TestViolationsKeepTheSecret(t *testing.T) {
	for _, ssn := range []string{"078051120", "078-05-1120", "912701234", "000123456", "12345", "x"} {
		for _, foreign := range []bool{false, true} {
			r := requestOf(t, "ein")
			r.Order.EIN.ResponsiblePartySSN, r.Order.EIN.ResponsiblePartyIsForeign = ssn, foreign
			for _, v := range r.Violations(2026) {
				if v.Value == ssn || strings.Contains(v.Message, ssn) && ssn != "x" {
					t.Errorf("%+v", v)
				}
			}
		}
	}
}

// The groups of ITINs. Source: the tax authority's numbering of them.
func TestITIN(t *testing.T) {
	var got []int
	for group := range 100 {
		if isITIN(fmt.Sprintf("9%02d%02d1234", 12, group)) {
			got = append(got, group)
		}
	}
	var want []int
	for group := 50; group <= 99; group++ {
		if group <= 65 || group >= 70 && group != 89 && group != 93 {
			want = append(want, group)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if isITIN("812701234") {
		t.Error("an ITIN begins with 9")
	}
}

// The excluded keys and the SSN of a foreign party are not on the wire, and the key that
// must be there is.
func TestWireForm(t *testing.T) {
	body, err := json.Marshal(requestOf(t, "formation", "order.ein=@ein-item",
		"order.ein.responsiblePartyIsForeign=true", "order.ein.responsiblePartySsn=null").Order)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"tradeName"`, `"formationDate"`, `"formationState"`, `"companyId"`, `Ssn"`} {
		if strings.Contains(string(body), key) {
			t.Errorf("%s is in %s", key, body)
		}
	}
	if !strings.Contains(string(body), `"firstWagesDate":null`) {
		t.Errorf("%s", body)
	}
}
