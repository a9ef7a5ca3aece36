package password

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ccojocar/zxcvbn-go"
	"github.com/ccojocar/zxcvbn-go/match"
	"github.com/ccojocar/zxcvbn-go/matching"
)

// The estimate is the library's wherever the library has no known mistake: it finds
// no date at the end of a password and none after 2025, takes a capital at the end of
// a word for any other, and counts bytes.
func TestEstimateAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	withoutDates := []func(match.Matcher) bool{matching.FilterDateSepMatcher, matching.FilterDateWithoutSepMatcher}
	parts := []string{"password", "Dragon", "sunSHINE", "qwerty", "zxcVBN", "p4ssw0rd", "m0nkey", "aaaa", "abcd",
		"4321", "x", "Q", "7", "#", " ", "-", "heron", "noon", "battery", "Zimmer", "vkq", "GRAY", "seven", "l1ght",
		"northwind", "asdf", "LMNOP", "jEnniFer", "9", "Smith", "$tar", "789456"}
	random := rand.New(rand.NewPCG(1, 2))
	weak := 0
	for range 3000 {
		var b strings.Builder
		for range 1 + random.IntN(4) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		text := b.String()
		got, want := estimate(text, []string{"northwind"}),
			zxcvbn.PasswordStrength(text, []string{"northwind"}, withoutDates...).Entropy
		if len(findDates([]rune(text))) > 0 {
			if got > want+0.01 {
				t.Errorf("%q: %.3f bits, more than the library's %.3f without dates", text, got, want)
			}
			continue
		}
		if math.Abs(got-want) > 0.01 {
			t.Errorf("%q: %.3f bits, the library %.3f", text, got, want)
		}
		if got < enough {
			weak++
		}
	}
	if weak < 300 || weak > 2700 {
		t.Errorf("%d of 3000 are weak, want some of both", weak)
	}
}

// A date is found wherever it stands, and costs less than its characters.
func TestEstimateDates(t *testing.T) {
	for text, date := range map[string]string{
		"vkqxw11/23/2026": "11/23/2026", "vkqxw2026-11-23": "2026-11-23", "vkqxw23.1.99w": "23.1.99",
		"vkqxw11232026": "11232026", "20261123vkqxw": "20261123", "11232026vkqxw": "11232026",
	} {
		found := false
		for _, s := range findDates([]rune(text)) {
			found = found || text[s.from:s.to] == date
		}
		if !found {
			t.Errorf("no date %q in %q", date, text)
		}
		other := strings.NewReplacer("1", "7", "2", "5").Replace(text) // no date
		if got, plain := estimate(text, nil), estimate(other, nil); got >= plain {
			t.Errorf("%q: %.1f bits, %q without a date %.1f", text, got, other, plain)
		}
	}
	for _, text := range []string{"vkqx0000xw", "999", "vkqx0077xw"} {
		if found := findDates([]rune(text)); len(found) != 0 {
			t.Errorf("%q: dates %v", text, found)
		}
	}
}
