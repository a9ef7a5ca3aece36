package billing

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// RuleKind is how a client's service fee follows from what the filing service
// charged.
type RuleKind string

// The kinds of rules.
const (
	AtCost  RuleKind = "none"    // the service fee as it was charged
	Percent RuleKind = "percent" // the service fee and a percentage of it
	Fixed   RuleKind = "fixed"   // a fixed service fee for each order, whatever was charged
	Retail  RuleKind = "retail"  // the filing service's retail price on the day of the order
)

// Rule says what clients pay as the service fee. The zero value bills it as it was
// charged.
type Rule struct {
	Kind  RuleKind
	Value int64 // of Percent, hundredths of a percent; of Fixed, cents
}

// ErrRule is returned for a rule that cannot be read.
var ErrRule = errors.New("a rule is none, retail, a percentage such as 15%, or an amount such as 25.00")

// Bounds of what a rule may say: more is a slip.
const (
	maxPercent = 1000_00
	maxFixed   = money.Cents(100_000_00)
)

// ParseRule reads a rule as people write it: "none", "retail", "15%", "12.5%", "25.00".
func ParseRule(s string) (Rule, error) {
	word := strings.ToLower(strings.TrimSpace(s))
	switch word {
	case "none", "":
		return Rule{Kind: AtCost}, nil
	case "retail":
		return Rule{Kind: Retail}, nil
	}
	number, percent := strings.CutSuffix(word, "%")
	amount, err := money.Parse(strings.TrimSpace(number)) // hundredths either way
	switch {
	case err != nil, amount < 0, percent && amount > maxPercent, !percent && amount > maxFixed:
		return Rule{}, fmt.Errorf("%w: %q", ErrRule, s)
	case percent:
		return Rule{Kind: Percent, Value: int64(amount)}, nil
	}
	return Rule{Kind: Fixed, Value: int64(amount)}, nil
}

// String writes the rule as ParseRule reads it.
func (r Rule) String() string {
	switch r.Kind {
	case Percent:
		text := strings.TrimSuffix(money.Cents(r.Value).String(), ".00")
		if strings.Contains(text, ".") {
			text = strings.TrimSuffix(text, "0")
		}
		return text + "%"
	case Fixed:
		return money.Cents(r.Value).String()
	case Retail:
		return string(Retail)
	}
	return string(AtCost)
}

// Words describe the rule for people.
func (r Rule) Words() string {
	switch r.Kind {
	case Percent:
		return "service fee plus " + r.String()
	case Fixed:
		return "fixed service fee of " + money.Cents(r.Value).Dollars()
	case Retail:
		return "retail price of the filing service"
	}
	return "service fee as charged"
}

// ServiceFee is what the client pays for a service fee. A fee of nothing stays nothing:
// an EIN that a formation includes is not billed beside it. Retail is the retail price
// where it is known; without one, or below what was charged, the fee is billed as
// charged.
func (r Rule) ServiceFee(charged money.Cents, retail money.Cost) money.Cents {
	if charged == 0 {
		return 0
	}
	switch r.Kind {
	case Percent:
		return charged + percentOf(charged, r.Value)
	case Fixed:
		return money.Cents(r.Value)
	case Retail:
		if retail.IsKnown() && retail.Amount > charged {
			return retail.Amount
		}
	}
	return charged
}

// percentOf is a part of an amount in hundredths of a percent, rounded half away from
// zero to a cent.
func percentOf(amount money.Cents, hundredths int64) money.Cents {
	product, half := int64(amount)*hundredths, int64(5000)
	if product < 0 {
		half = -half
	}
	return money.Cents((product + half) / 10_000)
}

// Stored is the rule as two columns of the ledger.
func (r Rule) Stored() (kind string, value int64) {
	if r.Kind == "" {
		return string(AtCost), 0
	}
	return string(r.Kind), r.Value
}

// Month is a calendar month in the firm's time zone: "2026-03".
type Month string

// ErrMonth is returned for a text that is no month.
var ErrMonth = errors.New("a month is written as 2026-03")

// ParseMonth reads a month.
func ParseMonth(s string) (Month, error) {
	year, month, found := strings.Cut(strings.TrimSpace(s), "-")
	y, err1 := strconv.Atoi(year)
	m, err2 := strconv.Atoi(month)
	if !found || err1 != nil || err2 != nil || len(year) != 4 || len(month) != 2 || y < 2000 || m < 1 || m > 12 {
		return "", fmt.Errorf("%w, not %q", ErrMonth, s)
	}
	return Month(year + "-" + month), nil
}
