// Package money has exact amounts in cents, with parsing, formatting and checked arithmetic.
//
// An unknown amount is never zero. Cost records how certain it is.
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

// ErrAmount means that a text is not an amount in dollars and cents.
var ErrAmount = errors.New("not an amount in dollars and cents")

// ErrOverflow means that a sum exceeds the range of 64 bits.
var ErrOverflow = errors.New("amount out of range")

// Parse parses dollars as people write them, such as "75", "75.5", "$1,234.50" and "-3.00". It
// returns ErrAmount for more than two decimals unless the rest is zero, because money is never
// rounded.
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

// ungroup removes thousands separators. They must be at the right places, because "1,50" is more
// likely a decimal comma than 150 dollars.
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

// String returns plain dollars, such as "1234.50". The JSON and CSV outputs use this format.
func (c Cents) String() string {
	sign, n := "", uint64(c)
	if c < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}

// Dollars returns the amount for display, such as "$1,234.50".
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

// MarshalText returns the plain format, so that JSON has "1234.50" and never a float.
func (c Cents) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText parses the formats of Parse.
func (c *Cents) UnmarshalText(b []byte) error {
	v, err := Parse(string(b))
	if err == nil {
		*c = v
	}
	return err
}

// Add sums amounts. It returns ErrOverflow if the sum overflows.
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

// Certainty is how certain a cost is. Its values are ordered, because a sum is as certain as its
// least certain cost. The ledger stores the number, so that MAX() is the certainty of a SUM().
type Certainty int

// The certainties, the highest first.
const (
	// Known means that the amount is exact.
	Known Certainty = iota
	// Estimated means that the amount comes from a table that may be out of date.
	Estimated
	// Unknown means that a part of the cost, usually a state fee, is unknown. The cost is at least
	// the amount.
	Unknown
)

var certaintyNames = [...]string{Known: "known", Estimated: "estimated", Unknown: "unknown"}

// String returns the certainty for JSON and logs: "known", "estimated" or "unknown".
func (c Certainty) String() string {
	if c < 0 || int(c) >= len(certaintyNames) {
		return "unknown" // a value of a later version, which must not count as certain
	}
	return certaintyNames[c]
}

// MarshalText returns the word of String.
func (c Certainty) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText parses the word of String. Any other text is unknown.
func (c *Certainty) UnmarshalText(b []byte) error {
	*c = Unknown
	for i, name := range certaintyNames {
		if name == string(b) {
			*c = Certainty(i)
		}
	}
	return nil
}

// Cost is an amount with its certainty.
type Cost struct {
	Amount    Cents
	Certainty Certainty
}

// Plus adds two costs. The sum has the lower certainty of the two.
func (c Cost) Plus(o Cost) (Cost, error) {
	sum, err := Add(c.Amount, o.Amount)
	return Cost{Amount: sum, Certainty: max(c.Certainty, o.Certainty)}, err
}

// IsKnown reports whether the amount is exact.
func (c Cost) IsKnown() bool { return c.Certainty == Known }

// IsUnknown reports whether a part of the cost is unknown.
func (c Cost) IsUnknown() bool { return c.Certainty >= Unknown }

// IsZero reports whether the cost is exactly zero.
func (c Cost) IsZero() bool { return c == Cost{} }

// String returns the cost for display: "$325.00", "about $325.00" or "at least $25.00".
func (c Cost) String() string {
	switch c.Certainty {
	case Known:
		return c.Amount.Dollars()
	case Estimated:
		return "about " + c.Amount.Dollars()
	}
	return "at least " + c.Amount.Dollars()
}

// Without names the missing part of a cost: "$25.00 + state fee (not known for DE LLC)". If no part
// is missing, it returns the same text as String.
func (c Cost) Without(missing string) string {
	if !c.IsUnknown() || missing == "" {
		return c.String()
	}
	return c.Amount.Dollars() + " + state fee (not known for " + missing + ")"
}
