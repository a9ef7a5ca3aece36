package filing

import (
	"strings"
	"testing"
)

func TestParseState(t *testing.T) {
	for text, want := range map[string]State{
		"DE": "DE", "de": "DE", " De ": "DE", "Delaware": "DE", "NEW YORK": "NY", "new york": "NY",
		"State of Ohio": "OH",
		"DC":            "DC", "Washington DC": "DC", "Washington D.C.": "DC", "D.C.": "DC",
		"district of columbia": "DC", "Washington": "WA", "washington": "WA",
		"": "", "ZZ": "", "D": "", "DEL": "", "PR": "", "Ontario": "", "de la": "",
	} {
		s, ok := ParseState(text)
		if ok != (want != "") || ok && s != want {
			t.Errorf("%q: %q, %v", text, s, ok)
		}
	}
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
	for text, want := range map[string]EntityType{
		"LLC": LLC, "llc": LLC, "L.L.C.": LLC, "Limited Liability Company": LLC, "limited liability co.": LLC,
		"CORP": Corp, "Corp.": Corp, "Corporation": Corp, "Inc": Corp, "INC.": Corp, "Incorporated": Corp,
		"C-Corp": Corp, "S Corporation": Corp, "s corp": Corp,
		"": "", "LP": "", "PLLC": "", "Nonprofit Corporation": "", "Sole Proprietorship": "", "LLP": "", "Trust": "",
		"C": "",
	} {
		e, ok := ParseEntityType(text)
		if e != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", text, e, ok)
		}
	}
}
