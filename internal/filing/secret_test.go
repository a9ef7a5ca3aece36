package filing

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestHideSSNs(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"the SSN 078-05-1120 is not his": "the SSN ***-**-1120 is not his",
		"078 05 1120, 078‑05‑1120 and 078051120": "***-**-1120, ***-**-1120 and ***-**-1120",

		// As people write them.
		"SSN#527317107": "SSN#***-**-7107", "528-317108": "***-**-7108", "529/31/7109": "***-**-7109",
		"530_31_7110":  "***-**-7110",
		"531-31-7111x": "***-**-7111x", "x532-31-7112": "x***-**-7112", "533 - 31 - 7113": "***-**-7113",
		"534.31.7114": "***-**-7114",
		"535–31–7115": "***-**-7115", "536—31—7116": "***-**-7116", "537−31−7117": "***-**-7117",
		"538\u00a031\u00a07118": "***-**-7118",
		"539\u202f31\u202f7119": "***-**-7119", "５４０-３１-７１２０": "***-**-7120", "５４１３１７１２１": "***-**-7121",
		"٥٤٢-٣١-٧١٢٢":             "***-**-7122",
		"543\u200b-31\u200b-7123": "***-**-7123", "5\u00ad4431\u00ad7124": "***-**-7124",
		"545\n31\n7125": "***-**-7125", "546\\31\\7126": "***-**-7126",
		"547-31 7127": "***-**-7127", "548 317128": "***-**-7128", "(549-31-7129)": "(***-**-7129)",
		"550-31-7130,551-31-7131": "***-**-7130,***-**-7131",
		"912-70-1234":             "***-**-1234", "ITIN 912701234": "ITIN ***-**-1234", "912701234": "***-**-1234",
		"𝟓𝟓𝟐-𝟑𝟏-𝟕𝟏𝟑𝟐": "***-**-7132", "5 553-31-7133": "5 ***-**-7133",
		"Row 7:554317134;": "Row 7:***-**-7134;", "555317135 2024": "***-**-7135 2024", "556317136.": "***-**-7136.",
		"A556317137": "A***-**-7137", "556317138J": "***-**-7138J",
		"#557317139": "#***-**-7139", "SSN 000-12-3456": "SSN ***-**-3456", "666-31-7141": "***-**-7141",

		strings.Repeat("12 ", 14) + "557-31-7150 " + strings.Repeat("34 ", 20) +
			"558-31-7151": strings.Repeat("12 ", 14) + "***-**-7150 " + strings.Repeat("34 ", 20) + "***-**-7151",
		strings.Repeat("559-31-7152,", 20): strings.Repeat("***-**-7152,", 20),

		// A word says it.
		"SSN: 52-7317142": "SSN: ***-**-7142", "ssn 52731-7143": "ssn ***-**-7143",
		"Social Security No. 5 2 7 3 1 7 1 4 4": "Social Security No. ***-**-7144",
		"SSN 527 317 145":                       "SSN ***-**-7145", "SS# is 12345678": "SS# is ***-**-5678",
		"ssn_527317146": "ssn_***-**-7146", "SSN527317147": "SSN***-**-7147", "s.s.n. 000000148": "s.s.n. ***-**-0148",
		"EIN/SSN 527317149": "EIN/SSN ***-**-7149", "SSN or EIN 527317150": "SSN or EIN ***-**-7150",
		"SSN ends in 4582": "SSN ends in 4582", "SSN ***-**-1120": "SSN ***-**-1120",

		// What is none.
		"order_078051120":                      "order_078051120",
		"2026-03-01T09:00:00.123456789+00:00":  "2026-03-01T09:00:00.123456789+00:00",
		"+13025550199, 19801-1234, 2026-03-01": "+13025550199, 19801-1234, 2026-03-01",
		"(302) 555-0142, 302-555-0142, 302.555.0142, 1-302-555-0142": "(302) 555-0142, 302-555-0142, " +
			"302.555.0142, 1-302-555-0142",
		"12-3456789": "12-3456789", "EIN 123456789": "EIN 123456789", "FEIN: 123456789": "FEIN: 123456789",
		"File No. 527317151": "File No. 527317151", "UBI 603123456": "UBI 603123456",
		"UBI 603 123 456":         "UBI 603 123 456",
		"Entity Number 527317152": "Entity Number 527317152", "$527317153": "$527317153",
		"527317154.50": "527317154.50", "527,317,155": "527,317,155", "123.456789": "123.456789",
		"-104.987654": "-104.987654",
		"000000001":   "000000001", "666123456": "666123456", "900123456": "900123456", "123004567": "123004567",
		"123450000": "123450000", "5273171560": "5273171560", "52731715": "52731715",
		"5a527317157b12": "5a527317157b12", "REF527317158": "REF527317158", "978-0-123-45678-9": "978-0-123-45678-9",
		"4111 1111 1111 1111": "4111 1111 1111 1111", "123-456-7890": "123-456-7890",
		"0,611553068": "0,611553068", "(146.16 3490.5, 148.88 3489.7)": "(146.16 3490.5, 148.88 3489.7)",
		"150-031260-001": "150-031260-001",
		"000 12 3456":    "000 12 3456", "10/31/2026 12:30": "10/31/2026 12:30", "+34612345678": "+34612345678",
		"B20260123456": "B20260123456", "78701-0001": "78701-0001",
	} {
		if got := HideSSNs(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for body, want := range map[string]string{
		`{"b": 1,"a":"x"}`: `{"b": 1,"a":"x"}`,
		`{"z":{"ssn":78051120,"list":[{"n":"078\u002d05-1120"},123456789]},"a":"<&"}`: `{"a":"<&",` +
			`"z":{"list":[{"n":"***-**-1120"},"***-**-6789"],"ssn":"***"}}`,
		`{"ein":"123456789","078-05-1120":1}`: `{"***-**-1120":1,` +
			`"ein":"123456789"}`,
		`{"fileNumber":123456789,"zip":"787010001"}`: `{"fileNumber":123456789,"zip":"787010001"}`,
		`not JSON 078-05-1120`:                       `not JSON ***-**-1120`,
		`{"a":1} 078-05-1120`:                        `{"a":1} ***-**-1120`,
	} {
		if got := string(HideSSNsInBody([]byte(body))); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	for name, want := range map[string]string{
		"clients 527-31-7107.xlsx": "clients xxx-xx-7107.xlsx", "527317107.csv": "xxx-xx-7107.csv",
		"annual 2026-03-01.xlsx": "annual 2026-03-01.xlsx",
	} {
		if got := HideSSNsInName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// The header decides about nine digits that stand together.
func TestHideSSNsUnder(t *testing.T) {
	for _, c := range []struct{ header, text, want string }{
		{"Notes", "527317107", "***-**-7107"}, {"", "527317107", "***-**-7107"},
		{"Client ID", "527317107", "***-**-7107"}, {"TIN", "527317107", "***-**-7107"},
		{"Owner Tax ID", "527317107", "***-**-7107"}, {"Taxpayer ID #", "527317107", "***-**-7107"},
		{"Phone", "527317107", "***-**-7107"},
		{"EIN", "527317107", "527317107"}, {"Federal Tax ID", "527317107", "527317107"},
		{"FEIN #", "527317107", "527317107"}, {"Tax ID", "527317107", "527317107"},
		{"Zip Code", "787010001", "787010001"}, {"File #", "527317107", "527317107"},
		{"stateFileNumber", "527317107", "527317107"}, {"Entity No.", "527317107", "527317107"},
		{"Total Assets", "527317107", "527317107"}, {"DUNS", "527317107", "527317107"},
		{"EIN", "527-31-7107", "***-**-7107"}, {"File #", "527 31 7107", "***-**-7107"},
		{"EIN", "SSN 527317107", "SSN ***-**-7107"}, {"EIN", "12-3456789", "12-3456789"},
		{"SSN", "527317107", "***-**-7107"}, {"SSN", "5273171", "***"}, {"SSN", "", ""},
		{"SSN", "***-**-7107", "***-**-7107"}, {"SSN", "12-3456789", "***-**-6789"},
		{"SSN", "５２７３１７１０７", "***-**-7107"},
		{"SSN / EIN", "12-3456789", "12-3456789"}, {"SSN / EIN", "123456789", "***-**-6789"},
		{"ITIN", "912701234", "***-**-1234"},
	} {
		if got := HideSSNsUnder(c.header, c.text); got != c.want {
			t.Errorf("%q under %q: %q, want %q", c.text, c.header, got, c.want)
		}
	}
}

// A number that is issued is hidden in every way of writing it, whatever stands
// around it, and nothing but the number is.
func TestEverySSNIsHidden(t *testing.T) {
	separators := []string{"-", "‐", "‑", "‒", "–", "—", "―", "−", "－", ".", "/", "_", " ", "\u00a0", "\u2007",
		"\u202f", "\u3000", " - ", " – ", "- ", " -", " / ", ". ", "\t", "\n", "\\", "·"}
	zeros := []rune{'0', '０', '٠', '۰', '०', '𝟎', '𝟘'}
	rapid.Check(t, func(rt *rapid.T) {
		d := []byte(fmt.Sprintf("%03d%02d%04d", rapid.IntRange(1, 665).Draw(rt, "area"),
			rapid.IntRange(1, 99).Draw(rt, "group"), rapid.IntRange(1, 9999).Draw(rt, "serial")))
		zero := rapid.SampledFrom(zeros).Draw(rt, "script")
		written := func(digits []byte) string {
			var b strings.Builder
			for _, c := range digits {
				b.WriteRune(zero + rune(c-'0'))
			}
			return b.String()
		}
		number := written(d)
		if rapid.Bool().Draw(rt, "parted") {
			first, second := rapid.SampledFrom(separators).Draw(rt, "first"), rapid.SampledFrom(separators).Draw(rt,
				"second")
			if first != second && (first == "." && strings.TrimSpace(second) == "" ||
				second == "." && strings.TrimSpace(first) == "") {
				rt.Skip("two decimals")
			}
			number = written(d[:3]) + first + written(d[3:5]) + second + written(d[5:])
		}
		around := rapid.StringOf(rapid.RuneFrom([]rune("abcXYZ ñ()[]'\"!?&<>@é")))
		before, after := around.Draw(rt, "before"), around.Draw(rt, "after")
		if number == written(d) { // letters that touch it would make it an identifier
			before, after = before+" ", " "+after
		}
		got := HideSSNs(before + number + after)
		if want := before + starred + string(d[5:]) + after; got != want {
			rt.Errorf("%q: %q, want %q", before+number+after, got, want)
		}
		if again := HideSSNs(got); again != got {
			rt.Errorf("%q is hidden once more: %q", got, again)
		}
	})
}

// dashed is a number as everybody writes it, found by other means.
var dashed = regexp.MustCompile(`[0-9]{3}-[0-9]{2}-[0-9]{4}`)

func FuzzHideSSNs(f *testing.F) {
	for _, seed := range []string{"078-05-1120", "SSN 527 317 107", "５２７３１７１０７", "a_527317107", "\xff527-31-7107",
		"527-31-7107-31-7107", "1 2 3-45-6789", "***-**-1120"} {
		f.Add(seed, "Notes")
	}
	f.Fuzz(func(t *testing.T, text, header string) {
		shown := HideSSNs(text)
		if HideSSNs(shown) != shown {
			t.Errorf("%q: %q is hidden once more: %q", text, shown, HideSSNs(shown))
		}
		if under := HideSSNsUnder(header, text); HideSSNsUnder(header, under) != under {
			t.Errorf("%q under %q: %q is hidden once more", text, header, under)
		}
		for _, at := range dashed.FindAllStringIndex(norm.NFKC.String(shown), -1) {
			s := norm.NFKC.String(shown)
			if (at[0] == 0 || s[at[0]-1] < '0' || s[at[0]-1] > '9') &&
				(at[1] == len(s) || s[at[1]] < '0' || s[at[1]] > '9') && !strings.ContainsAny(s, "⁄") {
				t.Errorf("%q: %q still holds %s", text, shown, s[at[0]:at[1]])
			}
		}
		if len(plainDigits(text)) < 7 && shown != text {
			t.Errorf("%q: %q, and it has no number", text, shown)
		}
	})
}

func TestIsSSNHeader(t *testing.T) {
	for header, want := range map[string]bool{
		"SSN": true, "ssn": true, "S.S.N.": true, "SS#": true, "SS Number": true,
		"SSN #": true, "Owner's SSN": true, "ssn_number": true,
		"SSN/ITIN":            true,
		"responsiblePartySsn": true, "ein.responsiblePartySsn": true, "SSNs": true, "OwnerSSN": true,
		"SSNNUMBER": true, "TAXPAYERSSN": true,
		"Social Security Number": true, "socialSecurityNumber": true, "Soc. Sec. No.": true, "Social No": true,
		"ITIN": true, "Owner ITINs": true,
		"Business Name": false, "BUSINESS NAME": false, "businessname": false, "BusinessName": false,
		"Business No": false, "Address Number": false,
		"Social Sector": false, "Social Notes": false, "Class Name": false, "classname": false, "Wellness Note": false,
		"Passnumber": false, "EIN": false, "Legal Name": false, "": false,
	} {
		if got := IsSSNHeader(header); got != want {
			t.Errorf("%q: %t", header, got)
		}
	}
}
