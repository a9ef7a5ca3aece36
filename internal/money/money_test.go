package money_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want money.Cents
		bad  bool
	}{
		{in: "75", want: 7500},
		{in: "103.75", want: 10375},
		{in: "0.1", want: 10},
		{in: ".5", want: 50},
		{in: "5.", want: 500},
		{in: "$1,234.50", want: 123450},
		{in: " -3.00 ", want: -300},
		{in: "-$3", want: -300},
		{in: "25.000000", want: 2500},
		{in: "1,234,567", want: 123456700},
		{in: "", bad: true},
		{in: "$", bad: true},
		{in: ".", bad: true},
		{in: "1.005", bad: true},
		{in: "1,50", bad: true},
		{in: "1234,567", bad: true},
		{in: ",123", bad: true},
		{in: "1e3", bad: true},
		{in: "--1", bad: true},
		{in: "NaN", bad: true},
		{in: "99999999999999999999", bad: true},
	} {
		got, err := money.Parse(tc.in)
		if tc.bad {
			if !errors.Is(err, money.ErrAmount) {
				t.Errorf("Parse(%q) = %v, %v; want ErrAmount", tc.in, got, err)
			}
			continue
		}
		if err != nil || got != tc.want {
			t.Errorf("Parse(%q) = %d, %v; want %d", tc.in, got, err, tc.want)
		}
	}
}

func TestPrintedAmountsParseBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := money.Cents(rapid.Int64Range(math.MinInt64+1, math.MaxInt64).Draw(t, "cents"))
		for _, text := range []string{c.String(), c.Dollars()} {
			if got, err := money.Parse(text); err != nil || got != c {
				t.Fatalf("Parse(%q) = %d, %v; want %d", text, got, err, c)
			}
		}
	})
}

func TestDollars(t *testing.T) {
	for c, want := range map[money.Cents]string{
		0: "$0.00", 5: "$0.05", 123456789: "$1,234,567.89", -10000: "-$100.00", 99999: "$999.99",
	} {
		if got := c.Dollars(); got != want {
			t.Errorf("%d: got %s, want %s", c, got, want)
		}
	}
}

func TestAddRefusesOverflow(t *testing.T) {
	if _, err := money.Add(math.MaxInt64, 1); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("got %v", err)
	}
	if _, err := money.Add(math.MinInt64, -1); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("got %v", err)
	}
}

func TestTheLessCertainSpeaksForTheSum(t *testing.T) {
	known, estimated, unknown := money.Cost{
		Amount: 5000,
	}, money.Cost{Amount: 30000, Certainty: money.Estimated}, money.Cost{Certainty: money.Unknown}
	for _, tc := range []struct {
		a, b money.Cost
		want string
	}{
		{known, known, "$100.00"},
		{known, estimated, "about $350.00"},
		{estimated, known, "about $350.00"},
		{known, unknown, "at least $50.00"},
		{unknown, estimated, "at least $300.00"},
	} {
		if sum, err := tc.a.Plus(tc.b); err != nil || sum.String() != tc.want {
			t.Errorf("%s and %s: got %s, %v; want %s", tc.a, tc.b, sum, err, tc.want)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	for want, c := range map[string]money.Cost{
		"$25.00 + state fee (not known for TX LLC)": {Amount: 2500, Certainty: money.Unknown},
		"about $325.00": {Amount: 32500, Certainty: money.Estimated},
		"$325.00":       {Amount: 32500},
	} {
		if got := c.Without("TX LLC"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := (money.Cost{Amount: 2500, Certainty: money.Unknown}).Without(""); got != "at least $25.00" {
		t.Errorf("got %s", got)
	}
}

func TestCertaintyReadsItsOwnWords(t *testing.T) {
	for _, c := range []money.Certainty{money.Known, money.Estimated, money.Unknown} {
		text, _ := c.MarshalText()
		var back money.Certainty
		if err := back.UnmarshalText(text); err != nil || back != c {
			t.Errorf("%s: got %s, %v", text, back, err)
		}
	}
	var c money.Certainty
	if _ = c.UnmarshalText([]byte("certain-ish")); c != money.Unknown {
		t.Errorf("a word that nobody knows: got %s", c)
	}
	if got := money.Certainty(7).String(); got != "unknown" {
		t.Errorf("a number that nobody knows: got %s", got)
	}
}
