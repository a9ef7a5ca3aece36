package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/balance"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// Plan is the expected effect of a schedule's run. It is stored with the run as JSON. Amounts are
// dollars.
type Plan struct {
	Schedule string `json:"schedule"`
	// Date is the day of the run.
	Date season.Date `json:"date"`
	Late string      `json:"late,omitempty"`
	// Missed counts the earlier times at which no worker was running.
	Missed int    `json:"missed,omitempty"`
	File   string `json:"file"`
	// CompanyList is the hash of the list's version.
	CompanyList string `json:"companyList"`
	// Rows counts the rows of the company list.
	Rows int `json:"rows"`

	// Product is the product of the batch. Stored plans do not have it.
	Product filing.Product `json:"-"`

	// The following fields count the selected rows by their expected result, as far as the ledger
	// knows.
	//
	// Filings counts the orders to place.
	Filings int `json:"filings"`
	// Covered are covered by a subscription bought earlier.
	Covered text.Examples `json:"covered"`
	// Lapsed are filed although a subscription was opened before, because it has lapsed.
	Lapsed text.Examples `json:"lapsed"`
	// Bought are already bought by the very same order.
	Bought  text.Examples `json:"bought"`
	Invalid text.Examples `json:"invalid"`
	// Why are the reasons for Invalid, the most frequent first.
	Why []Why `json:"why,omitempty"`
	// Skipped counts repeated rows, and companies of other states.
	Skipped int `json:"skipped"`
	// Undated are not filed, because no due date is known.
	Undated text.Examples `json:"undated"`
	// NotDue are filed although no report is due under the rules.
	NotDue text.Examples `json:"notDue"`
	// Beyond counts the companies of the list that are not due now.
	Beyond int `json:"beyond,omitempty"`

	// Priced is false if the prices of the filing service are unknown.
	Priced    bool            `json:"priced"`
	Cost      money.Cents     `json:"cost"`
	Certainty money.Certainty `json:"costCertainty,omitempty"`
	// Kinds are the costs by the kind of state fee.
	Kinds []pricing.KindQuote `json:"kinds,omitempty"`

	balance.Forecast

	// Approval is the hash to approve. Empty if no approval is needed.
	Approval string `json:"approval,omitempty"`

	orders []balance.Order
}

// Why is a reason for which rows cannot be filed.
type Why struct {
	Text string `json:"text"`
	Rows int    `json:"rows"`
	// Names are the first of these rows.
	Names []string `json:"names,omitempty"`
}

// namedRows is the number of rows that a reason names.
const namedRows = 5

// maxWhys is the number of reasons that a plan lists.
const maxWhys = 5

// addWhys counts the reasons for which a row cannot be filed.
func (p *Plan) addWhys(name string, faults []ledger.Fault) {
	for _, f := range faults {
		if f.Warning {
			continue
		}
		message := f.Message
		if f.Header != "" {
			message = f.Header + ": " + message
		}
		i := slices.IndexFunc(p.Why, func(w Why) bool { return w.Text == message })
		if i < 0 {
			i = len(p.Why)
			p.Why = append(p.Why, Why{Text: message})
		}
		why := &p.Why[i]
		if why.Rows++; len(why.Names) < namedRows {
			why.Names = append(why.Names, name)
		}
	}
}

// Problem returns the reason for people why rows of the next run cannot be filed. It returns "" if
// all can be filed.
func (p *Plan) Problem() string {
	switch {
	case p.Invalid.Count == 0:
		return ""
	case p.Filings == 0:
		return fmt.Sprintf("The run on %s would file nothing: %s.", p.Date.American(), p.invalidText())
	}
	return fmt.Sprintf("The run on %s would file %s; %s.", p.Date.American(),
		text.Count(p.Filings, "row"), p.invalidText())
}

// invalidText counts the rows that cannot be filed, with the most frequent reason.
func (p *Plan) invalidText() string {
	s := text.Count(p.Invalid.Count, "row") + " cannot be filed"
	if len(p.Why) > 0 {
		s += fmt.Sprintf(" (%s: %s)", text.Number(p.Why[0].Rows), p.Why[0].Text)
	}
	return s
}

// Nothing returns the reason why a run files none of its selected rows. It returns "" if the run
// files some, or if rows are already bought or covered.
func (p *Plan) Nothing() string {
	if p.Filings > 0 || p.Invalid.Count == 0 || p.Covered.Count+p.Bought.Count > 0 {
		return ""
	}
	reason := fmt.Sprintf("%d of the %s on %s cannot be filed", p.Invalid.Count,
		text.Count(p.Invalid.Count+p.Skipped, "row"), p.Date)
	for _, why := range p.Why {
		reason += fmt.Sprintf("; %s: %s (%s)", text.Count(why.Rows, "row"), why.Text, why.namesText())
	}
	return reason
}

// namesText lists the named rows of a reason.
func (w *Why) namesText() string {
	names := strings.Join(w.Names, "; ")
	if more := w.Rows - len(w.Names); more > 0 && len(w.Names) > 0 {
		names += fmt.Sprintf("; and %s more", text.Number(more))
	}
	return names
}

// Total returns the total cost of the filings.
func (p *Plan) Total() money.Cost { return money.Cost{Amount: p.Cost, Certainty: p.Certainty} }

// Quote returns the cost of the plan as a quote.
func (p *Plan) Quote() pricing.BatchQuote {
	return pricing.BatchQuote{Rows: p.Filings, Total: p.Total(), Kinds: p.Kinds}
}

// CompanyNotes returns notes about companies that are not filed as usual.
func (p *Plan) CompanyNotes() []pricing.Note {
	var all []pricing.Note
	for _, r := range []pricing.Note{
		{About: "skipped, covered by a subscription bought earlier", Examples: p.Covered},
		{About: "filed although a subscription was opened before", Examples: p.Lapsed},
		{About: "already ordered, not ordered again", Examples: p.Bought},
		{About: "need attention, not sent", Examples: p.Invalid},
		{About: "filed although no report is due this year", Examples: p.NotDue},
		{
			About: "without a known due date, not filed: upload them in a spreadsheet, or add a schedule that " +
				"runs at a time",
			Examples: p.Undated,
		},
	} {
		if r.Count > 0 {
			all = append(all, r)
		}
	}
	return all
}

// Text returns the plan for people.
func (p *Plan) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s, run of %s: %s, %d to file", p.Schedule, p.Date, text.Count(p.Rows, "row"), p.Filings)
	if p.Late != "" {
		line("late: it was due %s, when no worker was running", p.Late)
	}
	if p.Missed > 0 {
		line("%s missed while no worker was running: this run includes them", text.Count(p.Missed, "earlier run"))
	}
	for _, r := range p.CompanyNotes() {
		line("%d %s", r.Count, r.About)
		lines(line, r.Examples, "")
	}
	for _, why := range p.Why {
		line("  %s cannot be filed: %s", text.Count(why.Rows, "row"), why.Text)
		for _, name := range why.Names {
			line("    %s", name)
		}
	}
	if p.Skipped > 0 {
		line("%d skipped: repeated rows, rows of other states, and rows without a filing", p.Skipped)
	}
	if p.Beyond > 0 {
		line("%d of the company list are not due now, or were filed by an earlier run", p.Beyond)
	}
	if !p.Priced {
		line("cost unknown: the filing service did not give its prices")
		return b.String()
	}
	quote := p.Quote()
	summary := quote.Summary()
	for _, l := range summary.Lines {
		line("%6d x %s: %s, state fee %s", l.Count, l.Title(), l.Total().Without(l.Who()), l.FeeText())
	}
	line("total %s", quote.TotalText())
	for _, note := range summary.Footnotes {
		line("%s", note)
	}
	for _, l := range p.Lines() {
		line("%s", l)
	}
	return b.String()
}

// lines writes a line for each example.
func lines(line func(string, ...any), some text.Examples, prefix string) {
	for _, name := range some.Names {
		line("  %s%s", prefix, name)
	}
	if more := some.Count - len(some.Names); more > 0 {
		line("  … and %d more", more)
	}
}
