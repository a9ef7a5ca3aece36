package filing

import (
	"strings"
	"testing"
)

// A text after the ending of a name is found, and what belongs to a name is not.
func TestCutAfterEnding(t *testing.T) {
	for name, want := range map[string]string{
		"TENMILE TOOL LLC, Noncompliant April 1, 2026":               "Noncompliant April 1, 2026",
		"COLUMBINE CANNING CO., INC., Delinquent May 1, 2026":        "Delinquent May 1, 2026",
		"PIKE STREET BAKERY LLC, Dissolved (Term Expired) March 6":   "Dissolved (Term Expired) March 6",
		"SILT RIVER PARTNERS LP, Voluntarily Dissolved July 9, 2025": "Voluntarily Dissolved July 9, 2025",
		"Quay L.L.C. (inactive)":                                     "inactive",
		"Acme Corp - Merged 2024":                                    "Merged 2024",
		"Acme Corporation (dissolved)":                               "dissolved",
		"Knot Row Company, Void":                                     "Void",
		"Acme LLC dba Acme Foods":                                    "dba Acme Foods",
		"Acme LLC, a Delaware limited liability company":             "a Delaware limited liability company",
		"Sandpiper LLC Inc.":                                         "Inc.",
		"Curlew Lane LLC LLC":                                        "LLC",
		"Acme Incorporated: good standing":                           "good standing",
		"Acme Limited Liability Company Active":                      "Active",
		"Tern Lane Series Holdings LLC - Series A":                   "",
		"Tern Lane LLC, Series B":                                    "",
		"Acme, Inc. of Ohio":                                         "",
		"Housing Corp. No. 2":                                        "",
		"Acme Fund LLC II":                                           "",
		"Smith & Co., Inc.":                                          "",
		"Acme Corp Holdings LLC":                                     "",
		"The Corporation Trust Company":                              "",
		"Mesa Trail Outfitters, LLC":                                 "",
		"The Company Store":                                          "",
		"Limited Editions LLC":                                       "",
		"Inc Magazine LLC":                                           "",
		"LP Building Products, Inc.":                                 "",
		"Acme L.L.C.":                                                "",
		"Acme Ltd. Co.":                                              "",
		"Avocet Court Limited Liability Company":                     "",
		"Acme Company, LLC":                                          "",
		"Plc Systems Partners L.P.":                                  "",
		"Smith Company of New York":                                  "",
		"Lincoln Incorporators Guild":                                "",
	} {
		whole, got := CutAfterEnding(name)
		if got != want || !strings.HasPrefix(name, whole) || (whole == name) != (want == "") {
			t.Errorf("%s: %q and %q, want %q", name, whole, got, want)
		}
	}
}

// The name of a new company is warned of where a state may refuse it, and only there.
func TestNewNames(t *testing.T) {
	for _, c := range []struct {
		name string
		of   EntityType
		says string // "" for no warning
	}{
		{"Larkspur Lane Books", LLC, "no ending such as LLC"}, {"Kestrel Row", Corp, "no ending such as Inc."},
		{"Quay Exteriors Inc.", LLC, `ends in "inc", but`}, {"Tern Lane Foods LLC", Corp, `ends in "llc", but`},
		{"Quay Partners LP", LLC, `ends in "lp", but`}, {"Paciﬁc Quay LLC", LLC, "character 'ﬁ'"},
		{"Plover Bakery 🥐 LLC", LLC, "character '🥐'"}, {"Кафе LLC", LLC, "character 'К'"},
		{"First Quay Bank LLC", LLC, `with "bank"`}, {"Knot Row Company", LLC, `ends in "co", but`},
		{"Dunlin Row L.L.C.", LLC, ""}, {"Avocet Court Limited Liability Company", LLC, ""},
		{"Godwit Lane, Incorporated", Corp, ""}, {"Knot Row Company", Corp, ""}, {"O’Neill Café & Sons, LLC", LLC, ""},
		{"Quay Limited Company", LLC, ""}, {"Quay Ltd.", Corp, ""}, {"Dr. Silva, P.C.", Corp, ""},
		{"Cafe\u0301 No. 1, PLLC", LLC, ""}, {"", LLC, ""}, {"Quay", "", ""},
	} {
		var vs violations
		checkName(&vs, "company.legalName", c.name, c.of)
		if (len(vs) == 0) != (c.says == "") || len(vs) > 0 && !strings.Contains(vs[0].Message, c.says) {
			t.Errorf("%s as %s: %+v", c.name, c.of, vs)
		}
	}
}
