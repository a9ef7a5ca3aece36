package season

import (
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Fee is the fee of a state. It has one amount, or several with a period each. A period is in
// filing years if the state names its fee after the year of the report. It is in days if the fee
// depends on the day of the filing.
type Fee []period

type period struct {
	amount money.Cents
	// An empty edge is open.
	from, until edge
}

// edge is the first or the last year or day of a period.
type edge struct {
	// year is the year of the report, zero if the edge is a day.
	year int
	// day is the day of the filing.
	day Date
}

func (e edge) isZero() bool { return e == edge{} }

// FeeForms describes the valid forms of a fee in an error.
const FeeForms = "an amount in dollars, such as 138.75, or amounts with the filing years or the days they hold for, " +
	"such as 300 until 2025; 400"

// ParseFee parses a fee such as "138.75", "300 until 2025; 400" or "0 from 2026 until 2027; 20".
// The first matching period applies. An empty text is an unknown fee.
func ParseFee(text string) (fee Fee, ok bool) {
	if strings.TrimSpace(text) == "" {
		return nil, true
	}
	for part := range strings.SplitSeq(text, ";") {
		words := strings.Fields(part)
		if len(words)%2 == 0 {
			return nil, false
		}
		amount, err := money.Parse(words[0])
		if err != nil || amount < 0 || amount > maxFee {
			return nil, false
		}
		p := period{amount: amount}
		for i := 1; i < len(words); i += 2 {
			e, ok := parseEdge(words[i+1])
			switch {
			case ok && words[i] == "from" && p.from.isZero():
				p.from = e
			case ok && words[i] == "until" && p.until.isZero():
				p.until = e
			default:
				return nil, false
			}
		}
		fee = append(fee, p)
	}
	return fee, true
}

func parseEdge(text string) (edge, bool) {
	if year, err := strconv.Atoi(text); err == nil && len(text) == 4 {
		return edge{year: year}, year >= 1000
	}
	day, err := ParseDate(text)
	return edge{day: day}, err == nil
}

// At returns the fee of a report for a year that is filed on a day. A formation or a qualification
// has no report year, so the year of the day applies. At returns false if no period matches.
func (f Fee) At(year int, day Date) (money.Cents, bool) {
	if year == 0 {
		year = day.Year
	}
	for _, p := range f {
		if p.from.compare(year, day) <= 0 && (p.until.isZero() || p.until.compare(year, day) >= 0) {
			return p.amount, true
		}
	}
	return 0, false
}

// compare compares the edge with a year or a day. An empty edge precedes all.
func (e edge) compare(year int, day Date) int {
	if e.year != 0 {
		return e.year - year
	}
	return e.day.Compare(day)
}

// SourceText names the source of a value in the built-in tables. It is the state's own address if
// the sources have one, and otherwise the first source. The tables were read in November 2026.
func SourceText(source, basis string) string {
	address := ""
	for _, word := range strings.FieldsFunc(source, func(r rune) bool { return strings.ContainsRune(" ;,()", r) }) {
		host, found := strings.CutPrefix(word, "https://")
		if !found {
			if host, found = strings.CutPrefix(word, "http://"); !found {
				continue
			}
		}
		host, _, _ = strings.Cut(host, "/")
		host = strings.TrimPrefix(strings.ToLower(host), "www.")
		if ofState := strings.HasSuffix(host, ".gov"); ofState || address == "" {
			if address = host; ofState {
				break
			}
		}
	}
	switch {
	case address == "":
		return "copies of state pages"
	case strings.Contains(basis, "transcription") && strings.HasSuffix(address, ".gov"):
		return "a copy of " + address
	}
	return address
}
