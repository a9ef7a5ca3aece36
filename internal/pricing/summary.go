package pricing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// Summary is the table of a quote for its approver. It has a line for each kind of filing, columns
// that add up to their sums, and footnotes that explain the estimates.
type Summary struct {
	Lines     []SummaryLine
	Footnotes []Footnote
	Orders    int
	// Filings counts the items of the orders.
	Filings  int
	Service  money.Cost
	StateFee money.Cost
	Total    money.Cost
	// Missing names the companies whose state fee is unknown. It is empty if all fees are known.
	Missing string
}

// SummaryLine is the filings of one product, state and type of company.
type SummaryLine struct {
	KindQuote
	// Name is Who, with the fee if another line has the same name. It is empty if the product has
	// no state fee.
	Name string
	// Mark is the number of the footnote, zero if the line has none.
	Mark int
}

// Title returns the name of the line with its footnote, such as "annual report, DE LLC [1]".
func (l SummaryLine) Title() string {
	title := strings.TrimSuffix(l.Product.Title()+", "+l.Name, ", ")
	if l.Mark == 0 {
		return title
	}
	return fmt.Sprintf("%s [%d]", title, l.Mark)
}

// Footnote explains the basis of an estimate.
type Footnote struct {
	Number int
	Text   string
}

// String returns the footnote in one line, such as "[1] $300.00 each".
func (f Footnote) String() string { return fmt.Sprintf("[%d] %s", f.Number, f.Text) }

// feesChecked is the month in which the built-in fees were read.
const feesChecked = "Nov 2026"

// Summary returns the table of a quote.
func (q BatchQuote) Summary() Summary {
	s := Summary{Orders: q.Rows, Total: q.Total, Missing: q.Missing()}
	numbers := make(map[string]int)
	for _, k := range q.Kinds {
		line := SummaryLine{KindQuote: k, Name: k.Who()}
		if note := k.footnote(); note != "" {
			if numbers[note] == 0 {
				numbers[note] = len(numbers) + 1
				s.Footnotes = append(s.Footnotes, Footnote{numbers[note], note})
			}
			line.Mark = numbers[note]
		}
		s.Lines = append(s.Lines, line)
		s.Filings += k.Count
		s.Service, s.StateFee = sum(s.Service, k.Service), sum(s.StateFee, k.StateFee)
	}
	s.addFeesToNames()
	return s
}

// addFeesToNames adds the fee to the names of lines that would otherwise have the same name. Two
// lines can have the same name because the fee of a state may depend on the filing year.
func (s *Summary) addFeesToNames() {
	for i := range s.Lines {
		l := &s.Lines[i]
		if l.HasFee() && !l.Each.IsUnknown() && slices.ContainsFunc(s.Lines, func(other SummaryLine) bool {
			return l.Product == other.Product && l.Who() == other.Who() && l.Free == other.Free && l.Each != other.Each
		}) {
			l.Name += " at " + l.Each.Amount.Dollars()
		}
	}
}

// footnote explains the estimate of a kind. It is empty if the cost is known.
func (k KindQuote) footnote() string {
	var parts []string
	switch {
	case k.Service.Certainty == money.Estimated:
		return k.Free
	case !k.HasFee():
		return ""
	case k.Each.IsUnknown():
		return fmt.Sprintf("The state fee for %s is not known. It is charged in addition.", k.Who())
	case k.Of.Largest:
		parts = append(parts, k.Each.Amount.Dollars()+" each, the largest fee that can apply: the entity type or the "+
			"state of formation is not known")
	case k.Of.NoReport:
		parts = append(parts, "The state asks for no such report, as far as known. Check whether one is due")
	case k.Of.Minimum:
		parts = append(parts, k.Each.Amount.Dollars()+" each is the minimum")
		if k.Of.Note != "" {
			parts[0] += " (" + k.Of.Note + ")"
		}
	case k.Of.Read != "":
		parts = append(parts, k.Each.Amount.Dollars()+" each")
	default:
		return ""
	}
	if k.Of.Read != "" {
		parts = append(parts, "estimated from "+k.Of.Read+", checked "+feesChecked+
			". The state may have changed it since")
	}
	return strings.Join(parts, "; ") + "."
}

// FeeText returns the state's part of a line in words: "$24,000.00 estimated", "not known", or
// "none" for a product without a state fee.
func (k KindQuote) FeeText() string {
	if !k.HasFee() {
		return "none"
	}
	return feeText(k.StateFee, k.Of.Minimum)
}

// HasFee reports whether the state charges for the product.
func (k KindQuote) HasFee() bool { return k.Of.State != "" }

func feeText(c money.Cost, minimum bool) string {
	switch {
	case c.IsUnknown() && c.Amount == 0:
		return "not known"
	case c.IsUnknown():
		return c.Amount.Dollars() + " + not known"
	case c.Certainty == money.Estimated && minimum:
		return c.Amount.Dollars() + " estimated, minimum"
	case c.Certainty == money.Estimated:
		return c.Amount.Dollars() + " estimated"
	}
	return c.Amount.Dollars()
}

// ServiceText returns the filing service's part of a line in words.
func (k KindQuote) ServiceText() string {
	if k.Free != "" && k.Service.IsZero() {
		return k.Service.Amount.Dollars() + ", " + k.Free
	}
	return feeText(k.Service, false)
}

// TotalText returns the known part of a line's total.
func (k KindQuote) TotalText() string { return totalText(k.Total()) }

func totalText(c money.Cost) string {
	if c.IsUnknown() {
		return c.Amount.Dollars() + " + not known"
	}
	return c.Amount.Dollars()
}

// FeeSum returns the sum of the state fees.
func (s Summary) FeeSum() string { return feeText(s.StateFee, false) }

// ServiceSum returns the sum of the service fees.
func (s Summary) ServiceSum() string { return feeText(s.Service, false) }

// TotalSum returns the sum of the service fees and the state fees.
func (s Summary) TotalSum() string { return totalText(s.Total) }

// Headline returns the name of the total, such as "Total" or "Estimated total".
func (s Summary) Headline() string {
	switch {
	case s.Total.IsUnknown():
		return "Total without unknown fees"
	case s.Total.Certainty == money.Estimated:
		return "Estimated total"
	}
	return "Total"
}

// Subscription describes the subscriptions that annual reports and registered agents begin. It is
// empty if the batch has neither. Source: spec section 4, rule 9, and the billing rules.
func (s Summary) Subscription() string {
	has := func(products ...filing.Product) bool {
		return slices.ContainsFunc(s.Lines, func(l SummaryLine) bool { return slices.Contains(products, l.Product) })
	}
	reports, agents := has(filing.AnnualReport), has(filing.RegisteredAgent, filing.AgentChange)
	switch {
	case reports && agents:
		return "An annual report and a registered agent each begin a yearly subscription: later reports are filed, " +
			"and both are charged every year until they are canceled."
	case reports:
		return "An annual report begins a yearly subscription: later reports are filed and charged until it is " +
			"canceled."
	case agents:
		return "A registered agent begins a yearly subscription: it is charged every year until it is canceled."
	}
	return ""
}

// CountText returns the number of orders, and the number of filings if an order has several.
func (s Summary) CountText() string {
	orders := text.Count(s.Orders, "order")
	if s.Filings == s.Orders {
		return orders
	}
	return fmt.Sprintf("%s with %s", orders, text.Count(s.Filings, "filing"))
}
