package pricing

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Every column of the table adds up to its sum, and the sums to the total, whatever
// is ordered.
func TestTheSummaryFoots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q BatchQuote
		for range rapid.IntRange(0, 30).Draw(t, "orders") {
			var quote Quote
			for range rapid.IntRange(1, 3).Draw(t, "items") {
				line := Line{
					Product: rapid.SampledFrom(filing.Products).Draw(t, "product"),
					Wholesale: money.Cost{
						Amount:    money.Cents(rapid.IntRange(0, 50_000).Draw(t, "service")),
						Certainty: money.Certainty(rapid.IntRange(0, 2).Draw(t, "known")),
					},
				}
				if rapid.Bool().Draw(t, "has a fee") {
					line.Of = &StateFee{State: rapid.SampledFrom([]filing.State{"DE", "FL", "TX"}).Draw(t, "state")}
					line.StateFee = money.Cost{
						Amount:    money.Cents(rapid.IntRange(0, 90_000).Draw(t, "fee")),
						Certainty: money.Certainty(rapid.IntRange(0, 2).Draw(t, "certain")),
					}
				}
				quote.Lines = append(quote.Lines, line)
				quote.Total = sum(quote.Total, line.Cost())
			}
			must(t, q.Add(quote))
		}
		s := q.Summary()
		var filings int
		var service, fee, total money.Cost
		for _, l := range s.Lines {
			filings += l.Count
			service, fee, total = sum(service, l.Service), sum(fee, l.StateFee), sum(total, l.Total())
		}
		if filings != s.Filings || service != s.Service || fee != s.StateFee || total != s.Total ||
			sum(service, fee) != s.Total || s.Orders != q.Rows {
			t.Errorf("%d filings %v %v %v do not add up to %+v", filings, service, fee, total, s)
		}
	})
}

// Items without a charge say why, beside those of the same product that cost
// something; estimates and unknown fees have a footnote, known fees have none.
func TestTheSummarySaysWhatItRestsOn(t *testing.T) {
	var q BatchQuote
	cost := func(dollars money.Cents, c money.Certainty) money.Cost {
		return money.Cost{Amount: dollars * 100, Certainty: c}
	}
	for _, quote := range []Quote{
		{Lines: []Line{
			{Product: filing.Formation, Wholesale: cost(99, money.Known), StateFee: cost(125, money.Known),
				Of: &StateFee{State: "FL", EntityType: "LLC"}},
			{Product: filing.EIN, Free: "included in the formation"},
		}},
		{Lines: []Line{{Product: filing.EIN, Wholesale: cost(40, money.Known)}}},
		{Lines: []Line{{Product: filing.RegisteredAgent, Wholesale: cost(50, money.Estimated), Free: "Or nothing."}}},
		{Lines: []Line{{Product: filing.AnnualReport, Wholesale: cost(25, money.Known),
			StateFee: cost(300, money.Estimated),
			Of:       &StateFee{State: "DE", EntityType: "LLC", Read: "corp.delaware.gov"}}}},
		{Lines: []Line{{Product: filing.AnnualReport, Wholesale: cost(25, money.Known),
			StateFee: cost(0, money.Unknown), Of: &StateFee{State: "TX", EntityType: "LLC"}}}},
	} {
		for _, line := range quote.Lines {
			quote.Total = sum(quote.Total, line.Cost())
		}
		must(t, q.Add(quote))
	}
	s := q.Summary()
	var lines []string
	for _, l := range s.Lines {
		lines = append(lines, strings.Join([]string{string(l.Product), l.Name, l.ServiceText(), l.FeeText(),
			l.TotalText(),
			strings.Repeat("*", l.Mark)}, " | "))
	}
	want := []string{
		"formation | FL LLC | $99.00 | $125.00 | $224.00 | ",
		"annual-report | DE LLC | $25.00 | $300.00 estimated | $325.00 | *",
		"annual-report | TX LLC | $25.00 | not known | $25.00 + not known | **",
		"registered-agent |  | $50.00 estimated | none | $50.00 | ***",
		"ein |  | $40.00 | none | $40.00 | ",
		"ein |  | $0.00, included in the formation | none | $0.00 | ",
	}
	for _, w := range want {
		if !strings.Contains(strings.Join(lines, "\n")+"\n", w+"\n") {
			t.Errorf("no line %q in\n%s", w, strings.Join(lines, "\n"))
		}
	}
	if len(lines) != len(want) || len(s.Footnotes) != 3 || s.Footnotes[0].Text != "$300.00 each; estimated from "+
		"corp.delaware.gov, checked Nov 2026. The state may have changed it since." ||
		s.Footnotes[1].Text != "The state fee for TX LLC is not known. It is charged in addition." {
		t.Errorf("%q\n%+v", lines, s.Footnotes)
	}
	for want, products := range map[string][]filing.Product{
		"": {filing.EIN},
		"An annual report begins a yearly subscription: later reports are filed and charged until it is canceled.": {
			filing.EIN, filing.AnnualReport},
		"A registered agent begins a yearly subscription: it is charged every year until it is canceled.": {
			filing.AgentChange},
		"An annual report and a registered agent each begin a yearly subscription: later reports are filed, and " +
			"both are charged every year until they are canceled.": {filing.RegisteredAgent, filing.AnnualReport},
	} {
		var s Summary
		for _, p := range products {
			s.Lines = append(s.Lines, SummaryLine{KindQuote: KindQuote{Product: p}})
		}
		if got := s.Subscription(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if s.CountText() != "5 orders with 6 filings" ||
		q.TotalText() != "$664.00 + state fee (not known for TX LLC)" ||
		s.Headline() != "Total without unknown fees" || s.ServiceSum() != "$239.00 estimated" ||
		s.FeeSum() != "$425.00 + not known" {
		t.Errorf("%s, %s, %s, %s, %s", s.CountText(), q.TotalText(), s.Headline(), s.ServiceSum(), s.FeeSum())
	}
}

// Lines of one state and entity type at two fees have names that differ.
func TestLinesAtTwoFees(t *testing.T) {
	var q BatchQuote
	for _, fee := range []money.Cents{300_00, 400_00, 400_00} {
		line := Line{
			Product:   filing.AnnualReport,
			Wholesale: money.Cost{Amount: 25_00},
			StateFee:  money.Cost{Amount: fee, Certainty: money.Estimated},
			Of:        &StateFee{State: "DE", EntityType: "LLC", Read: "corp.delaware.gov"},
		}
		must(t, q.Add(Quote{Lines: []Line{line}, Total: line.Cost()}))
	}
	lines := q.Summary().Lines
	if len(lines) != 2 || lines[0].Name != "DE LLC at $300.00" || lines[1].Name != "DE LLC at $400.00" {
		t.Errorf("%+v", lines)
	}
}
