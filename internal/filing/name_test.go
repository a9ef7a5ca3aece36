package filing

import (
	"slices"
	"strings"
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
			rapid.RuneFrom(nil, unicode.Mn, unicode.Pf, unicode.Sk),
		))).Draw(t, "name")
		if once := FoldLegalName(name); FoldLegalName(once) != once {
			t.Fatalf("%q folds to %q and that to %q", name, once, FoldLegalName(once))
		}
	})
}

// However a name is written, it is one name.
func TestFoldKnowsEveryWriting(t *testing.T) {
	words := []string{"Café", "Muñoz", "Straße", "Harbor", "Light", "Łódź", "O'Neill", "Ærø", "Ελλάς", "Москва", "7",
		"23", "日本"}
	dashes := []string{"-", "–", "—", "‑", "−", " ", "\u00a0", "\u2003", "_", "/", ", ", " · ", "\t"}
	respell := func(t *rapid.T, name string) string {
		switch rapid.IntRange(0, 6).Draw(t, "writing") {
		case 0:
			return norm.NFD.String(name)
		case 1:
			return norm.NFKD.String(name)
		case 2:
			return strings.ToUpper(name)
		case 3:
			return strings.ToLower(name)
		case 4: // full width
			return strings.Map(func(r rune) rune {
				if r > ' ' && r < 0x7f {
					return r + 0xfee0
				}
				return r
			}, name)
		case 5: // something invisible within
			runes := []rune(name)
			at := rapid.IntRange(0, len(runes)).Draw(t, "at")
			return string(slices.Insert(runes, at,
				rapid.SampledFrom([]rune{'\u200b', '\u200d', '\ufeff', '\u00ad', '\u2060', '\ufe0f'}).Draw(t,
					"invisible")))
		}
		return strings.ReplaceAll(name, "'", "’")
	}
	rapid.Check(t, func(t *rapid.T) {
		chosen := rapid.SliceOfN(rapid.SampledFrom(words), 1, 4).Draw(t, "words")
		write := func() string {
			var b strings.Builder
			for i, w := range chosen {
				if i > 0 {
					b.WriteString(rapid.SampledFrom(dashes).Draw(t, "between"))
				}
				b.WriteString(w)
			}
			b.WriteString(rapid.SampledFrom([]string{" LLC", ", L.L.C.", " limited liability company"}).Draw(t,
				"ending"))
			name := b.String()
			for range rapid.IntRange(0, 3).Draw(t, "times") {
				name = respell(t, name)
			}
			return name
		}
		a, b := write(), write()
		if FoldLegalName(a) != FoldLegalName(b) {
			t.Fatalf("%q and %q are one name: %q, %q", a, b, FoldLegalName(a), FoldLegalName(b))
		}
		other := slices.Clone(chosen)
		at := rapid.IntRange(0, len(other)-1).Draw(t, "which")
		other[at] = rapid.SampledFrom(append([]string{"8", "24", "Cafes", "Light2"}, words...)).Draw(t, "other")
		if slices.Equal(other, chosen) {
			return
		}
		if c := strings.Join(other, " ") + " LLC"; FoldLegalName(c) == FoldLegalName(a) {
			t.Fatalf("%q and %q are two names: %q", a, c, FoldLegalName(a))
		}
	})
}

func TestFoldLeavesNothingInvisible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := "a" + rapid.String().Draw(t, "name")
		for _, r := range FoldLegalName(name) {
			if unicode.Is(unicode.Cf, r) || unicode.IsPunct(r) || unicode.IsSymbol(r) {
				t.Fatalf("%q folds to %q, with %U in it", name, FoldLegalName(name), r)
			}
		}
	})
}

// Names of a sheet against names on record, as they are met in practice.
func TestCompareNames(t *testing.T) {
	for _, c := range []struct {
		sheet, service string
		want           Likeness
	}{
		{"Harbor Light Bakery LLC", "Harbor Light Bakery LLC", SameName},
		{"HARBOR LIGHT BAKERY", "Harbor Light Bakery, L.L.C.", SameName},
		{"Harbor Light Bakery Inc", "Harbor Light Bakery LLC", SameName},
		{"The Harbor Light Bakery LLC", "Harbor Light Bakery LLC", SameName},
		{"Harbor Light Bakery LLC, The", "Harbor Light Bakery LLC", SameName},
		{"Smith & Sons", "Smith and Sons, Inc.", SameName},
		{"Smith Sons Inc", "Smith & Sons Inc.", SameName},
		{"O'Neill Bros. Co.", "ONeill Brothers Company", SameName},
		{"Cafe Munoz LLC", "Café Muñoz LLC", SameName},
		{"Wilmington Wool & Thread Co. LLC", "Wilmington Wool and Thread Company, LLC", SameName},
		{"St. Georges Bridge Inn LLC", "Saint Georges Bridge Inn LLC", SameName},
		{"Main St. Deli", "Main Street Deli LLC", SameName},
		{"Blue Ridge Mgmt Svcs LLC", "Blue Ridge Management Services LLC", SameName},
		{"Pan-Am Intl. Corp", "Pan Am International Corporation", SameName},
		{"First State Realty LLC", "1st State Realty LLC", SameName},
		{"Acme Fund II LLC", "Acme Fund 2, LLC", SameName},
		{"Smith Enterprises LLC dba Joe's Pizza", "Smith Enterprises LLC", SameName},
		{"Joe's Pizza (Smith Enterprises LLC)", "Joe's Pizza", SameName},
		{"Acme LLC (fka Beta LLC)", "Beta LLC", SameName},
		{"Acme LLC f/k/a Beta LLC", "Beta LLC", SameName},
		{"Data Works LLC", "DataWorks LLC", SameName},
		{"Harbour Light Bakery LLC", "Harbor Light Bakery LLC", SimilarName},
		{"Harbor Ligth Bakery LLC", "Harbor Light Bakery LLC", SimilarName},
		{"Andersen Plumbing LLC", "Anderson Plumbing LLC", SimilarName},
		{"Sunset Blvd Cafe", "Sunset Boulevard Cafe LLC", SameName},
		{"Sunset Prkwy Cafe", "Sunset Parkway Cafe LLC", SimilarName},
		{"Hldngs of Kent LLC", "Holdings of Kent LLC", SimilarName},

		{"Smith & Daughters 702 LLC", "Lakeshore Holdings LLC", DifferentName},
		{"Totally Different Pizza Inc", "Acme Holdings 000006 LLC", DifferentName},
		{"Smith & Daughters 702 LLC", "Smith & Daughters 703 LLC", DifferentName},
		{"Acme Fund II LLC", "Acme Fund III LLC", DifferentName},
		{"Acme Fund LLC", "Acme Fund II LLC", DifferentName},
		{"Property A LLC", "Property B LLC", DifferentName},
		{"Acme LLC", "Acme Holdings LLC", DifferentName},
		{"Acme Holdings LLC", "Acme Holdings Management LLC", DifferentName},
		{"Acme Holdings LLC", "Acme Properties LLC", DifferentName},
		{"Bay Dental LLC", "Bayside Dental LLC", DifferentName},
		{"Red Oak LLC", "Live Oak LLC", DifferentName},
		{"AB LLC", "AC LLC", DifferentName},
		{"1001", "Harbor Light Bakery LLC", DifferentName},
		{"1001 LLC", "1002 LLC", DifferentName},
		{"Cedar Farms LLC", "Cedar Barns LLC", DifferentName},
	} {
		if got := CompareNames(c.sheet, c.service); got != c.want {
			t.Errorf("%q and %q: %d, not %d", c.sheet, c.service, got, c.want)
		}
		if got := CompareNames(c.service, c.sheet); got != c.want {
			t.Errorf("%q and %q: %d, not %d", c.service, c.sheet, got, c.want)
		}
	}
}

func TestNearNames(t *testing.T) {
	names := []string{"Harbor Light Bakery LLC", "Acme Fund 2 LLC", "Café Río Inc", "Data Works LLC", "Abc LLC",
		"Harbor Light Bakery LLC"}
	var near NearNames
	for i, name := range names {
		state := State("DE")
		if i == 5 {
			state = "NV"
		}
		near.Add(name, state, i)
	}
	for _, c := range []struct {
		name string
		want []int
	}{
		{"Harbor Light Bakery", []int{0}},
		{"Harbour Light Bakery LLC", []int{0}},
		{"Harbor Light Bakery Corp", []int{0}},
		{"Harbor Ligth Bakery LLC", []int{0}},
		{"Acme Fund 3 LLC", nil},
		{"Acme Fund LLC", nil},
		{"Acme Fund II LLC", []int{1}},
		{"Cafe Rio LLC", []int{2}},
		{"Dataworks", []int{3}},
		{"Abd LLC", nil},
		{"Lakeshore Holdings LLC", nil},
	} {
		if got := near.Find(c.name, "DE"); !slices.Equal(got, c.want) {
			t.Errorf("%q is close to %v, not %v", c.name, got, c.want)
		}
	}
}
