package text

import (
	"strings"
	"testing"
)

func TestPlaceholderOf(t *testing.T) {
	for want, list := range map[Placeholder]string{
		Nothing: "|NULL|\\N|n/a|N.A.|None|nan|<NA>|NaT|-|—|--|.|(blank)|[null]|$ -|0000-00-00|1/0/1900",
		StandIn: "TBD|t.b.d.|To be determined|same|SAME|Same as principal office|same-as-above|As above|ditto|do.|\"|" +
			"?|???|(?)|xxx|XX|see attached|See Document|please see the attached list|Refer to notes|" +
			"''|same addr.|SAME AS COMPANY|as per above|to follow|[Street]|{{city}}|" +
			"Unknown|Not on file|NO INFORMATION AVAILABLE|n/a – none|TBD - ask client|Pending (see mail)|Unchanged|" +
			"to be confirmed w/ client|need address|Address unknown|no suite",
		Value: "x|0|N|no|DE|Do|See's Candies|See Document Solutions LLC|Same Day Couriers LLC|5 Same Day Lane|" +
			"Null Island Surf LLC|Ana Null|Per Olsen|Pending Matters Inc|Nañ|*|#|[solidcore] LLC|<ana@example.com>|" +
			"None of the Above LLC|TBD - Media LLC|Na, Jin|No Name|City Data Inc|#N/A|#NULL!|Café — Bar",
	} {
		for text := range strings.SplitSeq(list, "|") {
			if got := PlaceholderOf(text); got != want {
				t.Errorf("%q is %d, want %d", text, got, want)
			}
		}
	}
}

// What elsewhere matches passes the cheaper test before it.
func TestMayRefer(t *testing.T) {
	for _, before := range []string{"", "(", "**", "please ", "Kindly ", "(PLS "} {
		for text := range strings.SplitSeq("same as x|Same address|as per x|see the above|Per attached|"+
			"refer to the notes|see my docs|to be advised|needs address|need zip|no suite|missing unit|unknown city|"+
			"zip unknown|info needed|Information to come|data missing|street to follow|agent required", "|") {
			if text = before + text; !elsewhere.MatchString(text) || !mayRefer(text) {
				t.Errorf("%q: %v, %v", text, elsewhere.MatchString(text), mayRefer(text))
			}
		}
	}
}

// Every short text of marks and letters is judged.
func TestPlaceholderOf_AnyText(t *testing.T) {
	texts := []string{""}
	for len(texts) < 100_000 {
		text := texts[0]
		texts = texts[1:]
		for _, c := range []string{" ", "-", ":", "(", ")", "#", "?", "x", "0", "n", "a", "\\", "—", "same"} {
			PlaceholderOf(text + c)
			IsZero(text + c)
			texts = append(texts, text+c)
		}
	}
}

func TestIsZero(t *testing.T) {
	for text, want := range map[string]bool{"0": true, "0.00": true, "$0": true, "0%": true, "00:00:00": true,
		"": false, "00000": false, "10": false, ".": false, "-": false} {
		if IsZero(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
