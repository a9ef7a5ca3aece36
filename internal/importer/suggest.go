package importer

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agnivade/levenshtein"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// suggestionsFor returns texts that a cell with a problem may be meant to hold, the likeliest
// first. The column of the cell can read each of them without a problem.
func (c *cellReader) suggestionsFor(b *binding, rule, value string) []string {
	if b.kind == ssnKind || b.unsent || len(value) > maxSuggested {
		return nil
	}
	var all []string
	switch rule {
	case "text.mangled":
		if was, ok := repairEncoding(value); ok {
			return []string{was}
		}
		return nil
	case "cell.escape":
		return []string{escapes.Replace(value)}
	case "cell.misread":
		_, typed := misread(b, sheet.TypedCell(value), value)
		all = []string{typed}
	case "cell.placeholder",
		"cell.ssn",
		"cell.error",
		"cell.formula",
		"text.lost-letters",
		"row.too-long",
		remarkRule,
		"company.name-ending":
		return nil
	}
	switch b.kind {
	case nameKind, textKind:
	case yearKind:
		all = suggestYears(value)
	case zipKind:
		all = suggestZIPs(value)
	case dateKind:
		all = c.suggestDates(value)
	case emailKind:
		name, domain, _ := strings.Cut(strings.Trim(strings.ReplaceAll(bareEmail(value), " ", ""), ".,;:'\"()[]"), "@")
		all = []string{name + "@" + strings.ReplaceAll(domain, ",", ".")}
	// An extension may follow the number.
	case phoneKind:
		number, _, _ := strings.Cut(strings.ToLower(value), "ext")
		all = []string{strings.TrimSpace(number)}
	case companyKind:
		id, _ := idInAddress(value)
		all = []string{id}
	default:
		all = []string{meantBy(filing.FoldName(value), wordsOf(b.column))}
	}
	return slices.DeleteFunc(slices.Compact(all), func(text string) bool {
		return text == "" || text == value || !c.reads(b, text)
	})
}

// maxSuggested is the length of the longest value with suggestions. The time for a comparison of
// texts grows with their length.
const maxSuggested = 100

// reads reports whether a column reads a text without a problem.
func (c *cellReader) reads(b *binding, text string) bool {
	if c.probe == nil {
		c.probe = c.im.newCellReader()
	}
	probe := c.probe
	probe.row = &Row{Number: c.row.Number}
	probe.isNew, probe.faulty = true, probe.faulty[:0]
	at := *b
	at.recordOnly = false
	value := probe.readCell(&at, sheet.TypedCell(text))
	if len(probe.row.Problems) > 0 || value == "" {
		return false
	}
	switch b.kind {
	case yearKind:
		year, _ := strconv.Atoi(value)
		return year <= c.year+1 && year >= c.year-maxReportAge
	case companyKind:
		return filing.IsCompanyID(value) || filing.IsSlug(value)
	case placeKind:
		_, ok := filing.ParseUSPlace(value)
		return ok
	}
	return true
}

// maxReportAge is the maximal age of a suggested year, in years.
const maxReportAge = 10

// wordsOf returns the folded words for the values of a column with only a few values. It is empty
// for other columns.
func wordsOf(c *column) map[string]string {
	words := make(map[string]string)
	switch c.kind {
	case stateKind, placeKind:
		for _, s := range filing.States() {
			words[filing.FoldName(s.Name())], words[strings.ToLower(string(s))] = string(s), string(s)
		}
	case boolKind:
		return map[string]string{"yes": yes, "true": yes, "no": no, "false": no}
	case entityKind:
		return entityWords()
	case choiceKind:
		for _, choice := range c.choices {
			words[filing.FoldName(choice)] = choice
		}
	case countryKind:
		return countries
	}
	return words
}

// maxSlips returns how many letters a misspelling may differ from a word. Two swapped letters count
// as two.
func maxSlips(text string) int {
	switch n := len(text); {
	case n < 3:
		return 0
	case n < 5:
		return 1
	case n < 9:
		return 2
	}
	return 3
}

// meantBy returns the meaning of a text that is a misspelling of one of the words. It is empty
// unless all of the closest words have the same meaning.
func meantBy(text string, words map[string]string) (meaning string) {
	best := maxSlips(text) + 1
	for w, m := range words {
		if abs(len(w)-len(text)) > best {
			continue
		}
		switch d := levenshtein.ComputeDistance(text, w); {
		case d < best:
			meaning, best = m, d
		case d == best && m != meaning:
			meaning = ""
		}
	}
	return meaning
}

// suggestYears finds the year in a text such as "25", "2O25", "FY 25" or "2025 AR".
func suggestYears(value string) []string {
	digits := lettersAsDigits.Replace(strings.Map(narrowDigit, value))
	if len(digits) == 4 && isDigits(digits) {
		return []string{digits}
	}
	runs := strings.FieldsFunc(strings.Map(narrowDigit, value), func(r rune) bool { return r < '0' || r > '9' })
	switch {
	case len(runs) == 1 && len(runs[0]) == 2:
		return []string{"20" + runs[0]}
	case len(runs) == 1 && len(runs[0]) == 4:
		return runs
	// The text is a date.
	case len(runs) == 3 && len(runs[0]) == 4:
		return runs[:1]
	case len(runs) == 3 && len(runs[2]) == 4:
		return runs[2:]
	}
	return nil
}

// suggestZIPs adds the leading zeros that a spreadsheet program removed, and writes a hyphen
// between the two parts of a long code.
func suggestZIPs(value string) []string {
	plain := strings.ReplaceAll(lettersAsDigits.Replace(value), " ", "-")
	first, second, long := strings.Cut(strings.Trim(plain, "-."), "-")
	switch {
	case !isDigits(first) || long && (!isDigits(second) || len(second) != 4):
		return nil
	case !long && len(first) == 8:
		return []string{"0" + first[:4] + "-" + first[4:]}
	case len(first) < 3 || len(first) > 5:
		return nil
	}
	first = strings.Repeat("0", 5-len(first)) + first
	if long {
		first += "-" + second
	}
	return []string{first}
}

// suggestedDates are forms of dates that are not read, or not read if day and month are uncertain.
// The forms with the day first come first.
var suggestedDates = []string{
	"2/1/2006", "2-1-2006", "2.1.2006", "2/1/06", "2-1-06", "2.1.06", "1/2/2006", "1-2-2006", "20060102", "2006.1.2",
}

// suggestDates finds the days that a text may mean.
func (c *cellReader) suggestDates(value string) (all []string) {
	for _, form := range suggestedDates {
		if day, err := time.Parse(form, value); err == nil {
			all = append(all, day.Format(time.DateOnly))
		}
	}
	// The text is a day as the number of a spreadsheet program, from 1950 to now.
	if n, err := strconv.Atoi(value); err == nil && n > 18_263 {
		if day := time.Date(1899, time.December, 30+n, 0, 0, 0, 0, time.UTC); day.Year() <= c.year {
			all = append(all, day.Format(time.DateOnly))
		}
	}
	return all
}

// entityWords maps words to the two entity types. Words for other types map to an empty text.
var entityWords = sync.OnceValue(func() map[string]string {
	words := map[string]string{
		"llc": "LLC", "limitedliabilitycompany": "LLC", "limitedliability": "LLC", "limitedliabilityco": "LLC",
		"corp": "CORP", "corporation": "CORP", "incorporated": "CORP", "inc": "CORP", "ccorp": "CORP", "scorp": "CORP",
		"ccorporation": "CORP", "scorporation": "CORP", "domesticllc": "LLC", "foreignllc": "LLC",
		"domesticcorporation": "CORP", "foreigncorporation": "CORP",
	}
	for other := range otherEntityTypes {
		words[other] = ""
	}
	return words
})
