// Package money is exact cents: parsing, printing and checked arithmetic.
//
// A figure that is not known is never zero: Cost says how certain it is.
package money

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Cents is an amount of US dollars in cents. Negative amounts are debits.
type Cents int64

// ErrAmount is returned for text that is not an amount in dollars and cents.
var ErrAmount = errors.New("not an amount in dollars and cents")

// ErrOverflow is returned when a sum leaves the range of 64 bits.
var ErrOverflow = errors.New("amount out of range")

// Parse reads dollars as people write them: "75", "75.5", "$1,234.50", "-3.00".
// More than two decimals are refused unless the rest is zero: money is never rounded.
func Parse(s string) (Cents, error) {
	text := strings.TrimSpace(s)
	negative := strings.HasPrefix(text, "-")
	text = strings.TrimPrefix(text, "-")
	text = strings.TrimSpace(strings.TrimPrefix(text, "$"))
	whole, fraction, _ := strings.Cut(text, ".")
	whole, err := ungroup(whole)
	if err != nil || (whole == "" && fraction == "") {
		return 0, fmt.Errorf("%w: %q", ErrAmount, s)
	}
	for len(fraction) > 2 && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	if len(fraction) > 2 || !digits(fraction) {
		return 0, fmt.Errorf("%w: %q", ErrAmount, s)
	}
	n, err := strconv.ParseInt(whole+(fraction + "00")[:2], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %q", ErrAmount, s)
	}
	if negative {
		n = -n
	}
	return Cents(n), nil
}

// ungroup removes thousands separators, which must stand in their places:
// "1,50" is more likely a decimal comma than 150 dollars.
func ungroup(s string) (string, error) {
	groups := strings.Split(s, ",")
	for i, g := range groups {
		if !digits(g) || (i > 0 && len(g) != 3) || (i == 0 && len(groups) > 1 && (g == "" || len(g) > 3)) {
			return "", ErrAmount
		}
	}
	return strings.Join(groups, ""), nil
}

func digits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// String prints plain dollars, as the JSON and CSV outputs promise: "1234.50".
func (c Cents) String() string {
	sign, n := "", uint64(c)
	if c < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}

// Dollars prints for people: "$1,234.50".
func (c Cents) Dollars() string {
	plain := c.String()
	sign := ""
	if strings.HasPrefix(plain, "-") {
		sign, plain = "-", plain[1:]
	}
	whole, fraction, _ := strings.Cut(plain, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return sign + "$" + whole + "." + fraction
}

// MarshalText writes the plain form, so that JSON carries "1234.50" and never a float.
func (c Cents) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what Parse reads.
func (c *Cents) UnmarshalText(b []byte) error {
	v, err := Parse(string(b))
	if err == nil {
		*c = v
	}
	return err
}

// Add sums amounts and returns ErrOverflow rather than a wrong figure.
func Add(amounts ...Cents) (Cents, error) {
	var sum Cents
	for _, a := range amounts {
		if (a > 0 && sum > math.MaxInt64-a) || (a < 0 && sum < math.MinInt64-a) {
			return 0, ErrOverflow
		}
		sum += a
	}
	return sum, nil
}

// Certainty says how much is known of a cost. The order counts: of several
// costs the least certain speaks for their sum, and the ledger keeps the number,
// so that MAX() is the certainty of a SUM().
type Certainty int

// The certainties, the surest first.
const (
	Known     Certainty = iota // the amount is exact
	Estimated                  // the amount comes from a table that may be out of date
	Unknown                    // a part of it, usually a state fee, is not known: the cost is at least the amount
)

var certaintyNames = [...]string{Known: "known", Estimated: "estimated", Unknown: "unknown"}

// String is the word for JSON and logs: "known", "estimated" or "unknown".
func (c Certainty) String() string {
	if c < 0 || int(c) >= len(certaintyNames) {
		return "unknown" // a later version's: nothing is to be relied on
	}
	return certaintyNames[c]
}

// MarshalText writes the word.
func (c Certainty) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the word; any other counts as unknown.
func (c *Certainty) UnmarshalText(b []byte) error {
	*c = Unknown
	for i, name := range certaintyNames {
		if name == string(b) {
			*c = Certainty(i)
		}
	}
	return nil
}

// Cost is an amount and how certain it is.
type Cost struct {
	Amount    Cents
	Certainty Certainty
}

// Plus adds two costs; the sum is as certain as the less certain of the two.
func (c Cost) Plus(o Cost) (Cost, error) {
	sum, err := Add(c.Amount, o.Amount)
	return Cost{Amount: sum, Certainty: max(c.Certainty, o.Certainty)}, err
}

// IsKnown reports whether the amount is exact.
func (c Cost) IsKnown() bool { return c.Certainty == Known }

// IsUnknown reports whether a part of the cost is not known at all.
func (c Cost) IsUnknown() bool { return c.Certainty >= Unknown }

// IsZero reports whether it is known to cost nothing.
func (c Cost) IsZero() bool { return c == Cost{} }

// String prints for people: "$325.00", "about $325.00", or "at least $25.00".
func (c Cost) String() string {
	switch c.Certainty {
	case Known:
		return c.Amount.Dollars()
	case Estimated:
		return "about " + c.Amount.Dollars()
	}
	return "at least " + c.Amount.Dollars()
}

// Without prints a cost whose missing part has a name: "$25.00 + state fee (not
// known for DE LLC)". A cost that misses nothing prints as ever.
func (c Cost) Without(missing string) string {
	if !c.IsUnknown() || missing == "" {
		return c.String()
	}
	return c.Amount.Dollars() + " + state fee (not known for " + missing + ")"
}
