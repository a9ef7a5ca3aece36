package filing

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

// TestHideSSNs hides Social Security numbers, and no other numbers, in texts, bodies, file names and
// cells. The header decides about nine digits that stand together.
func TestHideSSNs(t *testing.T) {
	goldentest.Lines(t, "testdata/hide.txt", func(t *testing.T, fields []string) string {
		shown := fields[1]
		switch fields[0] {
		case "text":
			shown = HideSSNs(shown)
		case "body":
			shown = string(HideSSNsInBody([]byte(shown)))
		case "name":
			shown = HideSSNsInName(shown)
		default:
			shown = HideSSNsUnder(strings.TrimPrefix(fields[0], "under "), shown)
		}
		if shown == "" || strings.TrimSpace(shown) != shown || strings.Contains(shown, "\n") {
			return strconv.Quote(shown)
		}
		return shown
	})
}

func TestIsSSNHeader(t *testing.T) {
	goldentest.Lines(t, "testdata/ssn_headers.txt", func(t *testing.T, fields []string) string {
		return strconv.FormatBool(IsSSNHeader(fields[0]))
	})
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
