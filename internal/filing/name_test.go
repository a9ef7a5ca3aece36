package filing

import (
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestFoldLegalName(t *testing.T) {
	for _, c := range []struct{ a, b string }{
		{"Acme LLC", "ACME, L.L.C."},
		{"Acme LLC", "  acme   limited liability company "},
		{"Acme LLC", "Acme, Limited Liability Co."},
		{"Acme L L C", "Acme LLC"},
		{"Smith & Sons Inc.", "Smith and Sons, Incorporated"},
		{"Smith & Sons Co.", "Smith and Sons Company"},
		{"O'Neill Corp", "O’Neill Corporation"},
		{"O'Neill Corp", "O´Neill Corporation"},
		{"O'Neill Corp", "OʼNeill Corporation"},
		{"Foo-Bar LLC", "Foo Bar LLC"},
		{"Café LLC", "café llc"},
		{"Café Smith - Jones LLC", norm.NFD.String("Café Smith - Jones LLC")},
		{"Café Smith - Jones LLC", "Café Smith – Jones LLC"},
		{"Smith-Jones LLC", "Smith\u2011Jones LLC"},
		{"Smith-Jones LLC", "Smith\u2212Jones LLC"},
		{"Acme LLC", "Acme\u00a0LLC"},
		{"Acme LLC", "Ac\u200bme LLC"},
		{"Acme LLC", "Ac\u00adme\ufeff LLC\u200e"},
		{"Café LLC", "Cafe\u200d\u0301 LLC"},
		{"Acme LLC", "Ａｃｍｅ\u3000ＬＬＣ"},
		{"Straße LLC", "STRASSE LLC"},
		{"Fine Office LLC", "ﬁne oﬃce llc"},
		{"Acme “Best” LLC", "Acme \"Best\" LLC"},
		{"Acme™ LLC", "Acme LLC"},
		{"Smith ＆ Sons", "Smith and Sons"},
		{"No. 1 Pizza", "No.1 Pizza"},
	} {
		if FoldLegalName(c.a) != FoldLegalName(c.b) {
			t.Errorf("%q and %q: %q, %q", c.a, c.b, FoldLegalName(c.a), FoldLegalName(c.b))
		}
	}
	for _, c := range []struct{ a, b string }{
		{"Acme LLC", "Acme Inc"},
		{"Acme LLC", "Acme 2 LLC"},
		{"Acme Corp", "Acme Inc"},
		{"Acme LLC", "Acme Holdings LLC"},
		{"Café LLC", "Cafe LLC"},
		{"Version 1.5 LLC", "Version 15 LLC"},
		{"+++", "@@@"},
		{"日本 LLC", "日木 LLC"},
	} {
		if FoldLegalName(c.a) == FoldLegalName(c.b) {
			t.Errorf("%q and %q are two companies: %q", c.a, c.b, FoldLegalName(c.a))
		}
	}
}

// A fold of a fold changes nothing: keys of an earlier fold can be folded again.
func TestFoldIsIdempotent(t *testing.T) {
	// Without the apostrophe the accent belongs to the letter before it.
	if a, b := FoldLegalName("A'\u0300"), FoldLegalName("\u00c0"); a != b {
		t.Errorf("folds to %q, want %q", a, b)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.OneOf(
			rapid.RuneFrom([]rune("aAé'’´.& -\u0300\u0301\u200d\u00adıİﬁßΣ")),
			rapid.RuneFrom(nil, unicode.Mn, unicode.Pf, unicode.Sk)))).Draw(t, "name")
		once := FoldLegalName(name)
		if FoldLegalName(once) != once {
			t.Fatalf("%q folds to %q and that to %q", name, once, FoldLegalName(once))
		}
		for _, r := range FoldLegalName("a" + name) {
			if unicode.Is(unicode.Cf, r) || unicode.IsPunct(r) || unicode.IsSymbol(r) {
				t.Fatalf("%q folds to %q, with %U in it", "a"+name, FoldLegalName("a"+name), r)
			}
		}
	})
}

// A name of a sheet against the name on record. Whatever is not the same name is held
// until a person confirms it.
func TestRequest_DifferencesOfNames(t *testing.T) {
	const same, warned, held = "", "record.name-ending", "record.name"
	for _, c := range []struct {
		sheet, record string
		entity        EntityType // in the sheet
		want          string
	}{
		{"Harbor Light Bakery LLC", "HARBOR LIGHT BAKERY, L.L.C.", LLC, same},
		{"Harbor Light Bakery L L C", "Harbor Light Bakery Limited Liability Company", "", same},
		{"Acme Inc.", "Acme Incorporated", "", same},
		{"Acme Corp", "Acme Corporation", Corp, same},
		{"Smith & Sons Co.", "Smith and Sons Company", "", same},
		{"Acme Ltd", "Acme Limited", "", same},
		{"Cafe Munoz LLC", "Café Muñoz LLC", "", same},
		{"Data Works LLC", "DataWorks LLC", "", same},
		{"O’Neill Łódź Inc", "ONeill Lodz, Inc.", "", same},
		{"1001", "1001", "", same},

		{"HARBOR LIGHT BAKERY", "Harbor Light Bakery, L.L.C.", "", warned},
		{"Harbor Light Bakery", "Harbor Light Bakery LLC", LLC, warned},
		{"Acme", "Acme LP", "", warned},

		{"Harbor Light Bakery", "Harbor Light Bakery LLC", Corp, held},
		{"Acme", "Acme LP", LLC, held},
		{"Acme", "Acme LLC LP", "", held},
		{"Acme LLC", "Acme", "", held},
		{"Acme Inc", "Acme LLC", "", held},
		{"Acme Inc", "Acme Corp", "", held},
		{"Acme Partnership", "Acme Partnership LLC", "", held},
		{"The Acme LLC", "Acme LLC", "", held},
		{"Smith Sons Inc", "Smith & Sons Inc", "", held},
		{"Harbor Ligth Bakery LLC", "Harbor Light Bakery LLC", "", held},
		{"Acme Fund II LLC", "Acme Fund 2 LLC", "", held},
		{"Acme Fund LLC", "Acme Fund 0 LLC", "", held},
		{"Acme 1 12 LLC", "Acme 11 2 LLC", "", held},
		{"North Acme LLC", "South Acme LLC", "", held},
		{"Acme LLC dba Joe's Pizza", "Acme LLC", "", held},
		{"1001", "Harbor Light Bakery LLC", "", held},
	} {
		r := report(func(r *Request) { r.Company.Sheet = Company{LegalName: c.sheet, EntityType: c.entity} })
		got := ""
		for i, d := range r.Differences(Company{LegalName: c.record}) {
			if i == 0 {
				got = d.Rule
			}
			if d.Warning != (c.want == warned) {
				t.Errorf("%q and %q: %+v", c.sheet, c.record, d)
			}
		}
		if got != c.want {
			t.Errorf("%q and %q: %q, not %q", c.sheet, c.record, got, c.want)
		}
		r.Company.Confirmed = c.record
		for _, d := range r.Differences(Company{LegalName: c.record}) {
			if !d.Warning {
				t.Errorf("%q and %q: held after the confirmation: %+v", c.sheet, c.record, d)
			}
		}
	}
}
