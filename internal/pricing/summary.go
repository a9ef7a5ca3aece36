package pricing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// Summary is a quote as a table for its approver: a line for each kind of filing,
// columns that add up to their sums, and footnotes that say what its estimates rest
// on.
type Summary struct {
	Lines     []SummaryLine
	Footnotes []Footnote
	Orders    int
	Filings   int // items of the orders
	Service   money.Cost
	StateFee  money.Cost
	Total     money.Cost
	Missing   string // whose state fee is not known; "" where all are
}

// SummaryLine is the filings of one product, state and kind of company.
type SummaryLine struct {
	KindQuote
	Name string // Who, with the fee if another line has the same; "" if the product has no state fee
	Mark int    // the number of its footnote; 0 for none
}

// Title names the line and refers to its footnote: "annual report, DE LLC [1]".
func (l SummaryLine) Title() string {
	title := strings.TrimSuffix(l.Product.Title()+", "+l.Name, ", ")
	if l.Mark == 0 {
		return title
	}
	return fmt.Sprintf("%s [%d]", title, l.Mark)
}

// Footnote says what an estimate rests on.
type Footnote struct {
	Number int
	Text   string
}

// String is the footnote in one line: "[1] $300.00 each; …".
func (f Footnote) String() string { return fmt.Sprintf("[%d] %s", f.Number, f.Text) }

// feesChecked is when the built-in fees were read.
const feesChecked = "Nov 2026"

// Summary makes the table of a quote.
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

// addFeesToNames adds the fee to the names of lines that would otherwise have the
// same name: the fee of a state may depend on the filing year.
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

// footnote says what the estimate of a kind rests on; "" for a cost that is known.
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

// FeeText is the state's part of a line in words: "$24,000.00 estimated", "not
// known", "none" for a product without a state fee.
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

// ServiceText is the filing service's part of a line in words.
func (k KindQuote) ServiceText() string {
	if k.Free != "" && k.Service.IsZero() {
		return k.Service.Amount.Dollars() + ", " + k.Free
	}
	return feeText(k.Service, false)
}

// TotalText is the known part of the total of a line.
func (k KindQuote) TotalText() string { return totalText(k.Total()) }

func totalText(c money.Cost) string {
	if c.IsUnknown() {
		return c.Amount.Dollars() + " + not known"
	}
	return c.Amount.Dollars()
}

// FeeSum is the sum of the state fees.
func (s Summary) FeeSum() string { return feeText(s.StateFee, false) }

// ServiceSum is the sum of the service fees.
func (s Summary) ServiceSum() string { return feeText(s.Service, false) }

// TotalSum is the sum of both.
func (s Summary) TotalSum() string { return totalText(s.Total) }

// Headline names the total: "Total", "Estimated total", "Total without some fees".
func (s Summary) Headline() string {
	switch {
	case s.Total.IsUnknown():
		return "Total without unknown fees"
	case s.Total.Certainty == money.Estimated:
		return "Estimated total"
	}
	return "Total"
}

// Subscription says what annual reports begin; "" if there is none.
func (s Summary) Subscription() string {
	if !slices.ContainsFunc(s.Lines, func(l SummaryLine) bool { return l.Product == filing.AnnualReport }) {
		return ""
	}
	return "An annual report begins a yearly subscription: later reports are filed and charged until it is canceled."
}

// CountText says how many orders there are, and how many filings where an order has
// several.
func (s Summary) CountText() string {
	orders := text.Count(s.Orders, "order")
	if s.Filings == s.Orders {
		return orders
	}
	return fmt.Sprintf("%s with %s", orders, text.Count(s.Filings, "filing"))
}
