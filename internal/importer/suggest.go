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

// suggestionsFor returns texts that a cell with a problem may be meant to hold,
// the likeliest first. Each is read in the cell's column without a problem.
func (c *checker) suggestionsFor(b *binding, rule, value string) []string {
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
	case "cell.ssn", "cell.error", "cell.formula", "text.lost-letters", "row.too-long", "row.refused":
		return nil
	}
	switch b.kind {
	case stateKind, placeKind:
		all = suggestStates(value)
	case yearKind:
		all = suggestYears(value)
	case zipKind:
		all = suggestZIPs(value)
	case dateKind:
		all = c.suggestDates(b, value)
	case boolKind:
		all = suggestBools(value)
	case entityKind:
		all = suggestEntityTypes(value)
	case choiceKind:
		all = suggestChoices(b.column, value)
	case countryKind:
		all = suggestCountries(value)
	case countKind:
		all = []string{strings.ReplaceAll(value, ",", "")}
	case emailKind:
		all = suggestEmails(value)
	case phoneKind:
		all = suggestPhones(value)
	case companyKind:
		all = suggestCompanyIDs(value)
	}
	return slices.DeleteFunc(compactStrings(all), func(text string) bool { return text == value || !c.reads(b, text) })
}

// maxSuggested is the longest value for which there are suggestions: distances
// between texts take time.
const maxSuggested = 100

func compactStrings(all []string) []string {
	var kept []string
	for _, s := range all {
		if s != "" && !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// reads reports whether a column reads a text without a problem.
func (c *checker) reads(b *binding, text string) bool {
	if c.probe == nil {
		c.probe = c.im.newChecker()
	}
	probe := c.probe
	probe.row = &Row{Number: c.row.Number}
	probe.isNew, probe.faulty = true, probe.faulty[:0]
	at := *b
	at.recordOnly, at.officer = false, nil
	value := probe.readCell(&at, sheet.TypedCell(text))
	if len(probe.row.Problems) > 0 || value == "" {
		return false
	}
	switch b.kind {
	case zipKind:
		return isFullZIP(value)
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

// maxReportAge is how many years ago a suggested year is at most.
const maxReportAge = 10

// stateShort are abbreviations of states besides their codes, without dots.
var stateShort = map[string]string{
	"ala": "AL", "ariz": "AZ", "ark": "AR", "calif": "CA", "cal": "CA", "colo": "CO", "conn": "CT", "del": "DE",
	"dela": "DE", "fla": "FL", "ill": "IL", "ind": "IN", "kans": "KS", "mass": "MA", "mich": "MI", "minn": "MN",
	"miss": "MS", "mont": "MT", "neb": "NE", "nebr": "NE", "nev": "NV", "okla": "OK", "ore": "OR", "oreg": "OR",
	"penn": "PA", "penna": "PA", "tenn": "TN", "tex": "TX", "wash": "WA", "wis": "WI", "wisc": "WI", "wyo": "WY",
}

// suggestStates finds the code of the state that a misspelt name or an abbreviation
// means.
func suggestStates(value string) []string {
	folded := strings.ToLower(strings.Join(strings.FieldsFunc(value, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}), " "))
	state, ok := filing.State(stateShort[folded]), true
	if compact := strings.ReplaceAll(folded, " ", ""); state == "" && len(compact) == 2 {
		state = filing.State(strings.ToUpper(compact)) // "D.E."
	} else if state == "" {
		names := make(map[string]filing.State)
		for _, s := range filing.States() {
			names[strings.ToLower(s.Name())] = s
		}
		state, ok = meantBy(folded, names)
	}
	return oneOf(string(state), ok)
}

// maxSlips is how many letters of a text may differ from those of a word that it
// is a misspelling of. Two letters that are swapped are two.
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

// meantBy finds what a text means that is a misspelling of one of the words: all of
// those that are closest to it have to mean the same.
func meantBy[T comparable](text string, words map[string]T) (meaning T, ok bool) {
	best := maxSlips(text) + 1
	for w, m := range words {
		if abs(len(w)-len(text)) > best {
			continue
		}
		switch d := levenshtein.ComputeDistance(text, w); {
		case d < best:
			meaning, best, ok = m, d, true
		case d == best && m != meaning:
			ok = false
		}
	}
	return meaning, ok
}

// suggestYears finds the year that a text means: "25", "2O25", "FY 25" or "2025 AR".
func suggestYears(value string) []string {
	digits := strings.NewReplacer("O", "0", "o", "0", "l", "1", "I", "1").Replace(strings.Map(narrowDigit, value))
	if len(digits) == 4 && isDigits(digits) {
		return []string{digits}
	}
	runs := strings.FieldsFunc(strings.Map(narrowDigit, value), func(r rune) bool { return r < '0' || r > '9' })
	switch {
	case len(runs) == 1 && len(runs[0]) == 2:
		return []string{"20" + runs[0]}
	case len(runs) == 1 && len(runs[0]) == 4:
		return runs
	case len(runs) == 3 && len(runs[0]) == 4: // a date
		return runs[:1]
	case len(runs) == 3 && len(runs[2]) == 4:
		return runs[2:]
	}
	return nil
}

func isFullZIP(s string) bool {
	digits := strings.ReplaceAll(s, "-", "")
	return isDigits(digits) && (len(digits) == 5 || len(digits) == 9)
}

// suggestZIPs adds the leading zeros that a spreadsheet program removed, and
// writes the two parts of a long code with a hyphen.
func suggestZIPs(value string) []string {
	plain := strings.NewReplacer("O", "0", "o", "0", "l", "1", "I", "1", " ", "-").Replace(value)
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

// looseDates are forms of dates that are not read, for their order or their words
// are unusual, and that mean one day.
var looseDates = []string{
	"20060102", "2006.01.02", "2006.1.2", "Jan. 2, 2006", "Jan. 2 2006", "2. Jan 2006", "2 Jan. 2006", "2-January-2006",
	"January 2,2006", "Jan 2,2006", "2006 Jan 2", "2006-Jan-2", "2006-Jan-02", "Jan-2-2006", "Jan/2/2006", "2/Jan/2006",
}

// suggestDates finds the day that a text means. Where the order of day and month
// is not known, both are suggested, the one with the day first before.
func (c *checker) suggestDates(b *binding, value string) []string {
	text := ordinals.Replace(value)
	if isEitherWay(text) {
		var all []string
		for _, form := range []string{"2/1/2006", "2-1-2006", "1/2/2006", "1-2-2006"} {
			if day, err := time.Parse(form, text); err == nil {
				all = append(all, day.Format(time.DateOnly))
			}
		}
		return all
	}
	if day, ok := dayFirst(text); ok {
		return []string{day.Format(time.DateOnly)}
	}
	for _, form := range []string{"2/1/06", "2-1-06", "2.1.06"} {
		if day, err := time.Parse(form, text); err == nil && day.Day() > 12 {
			return []string{day.Format(time.DateOnly)}
		}
	}
	for _, form := range slices.Concat(looseDates, dateForms) {
		if day, err := time.Parse(form, text); err == nil && day.Year() >= 1800 {
			return []string{day.Format(time.DateOnly)}
		}
	}
	// The day of a spreadsheet program as a number, from 1950 to now.
	if n, err := strconv.Atoi(text); err == nil && n > 18_263 {
		if day := time.Date(1899, time.December, 30+n, 0, 0, 0, 0, time.UTC); day.Year() <= c.year {
			return []string{day.Format(time.DateOnly)}
		}
	}
	return nil
}

var ordinals = strings.NewReplacer("1st", "1", "2nd", "2", "3rd", "3", "4th", "4", "5th", "5", "6th", "6", "7th", "7",
	"8th", "8", "9th", "9", "0th", "0", "11th", "11", "12th", "12", "13th", "13", "Sept ", "Sep ", "Sept. ", "Sep ")

// boolWords are words for yes and no.
var boolWords = map[string]string{"yes": yes, "true": yes, "no": no, "false": no}

func suggestBools(value string) []string {
	if folded := filing.FoldName(value); len(folded) > 2 {
		return oneOf(meantBy(folded, boolWords))
	}
	return nil
}

func oneOf(text string, ok bool) []string {
	if !ok {
		return nil
	}
	return []string{text}
}

// entityWords are words for the two entity types, and for others as "".
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

func suggestEntityTypes(value string) []string {
	return oneOf(meantBy(filing.FoldName(value), entityWords()))
}

// suggestChoices finds the choice that a misspelt or shortened text means.
func suggestChoices(c *column, value string) []string {
	folded := filing.FoldName(value)
	if len(folded) < 3 {
		return nil
	}
	var starts []string
	words := make(map[string]string)
	for _, choice := range c.choices {
		word := filing.FoldName(choice)
		if words[word] = choice; strings.HasPrefix(word, folded) {
			starts = append(starts, choice)
		}
	}
	if len(starts) == 1 {
		return starts
	}
	return oneOf(meantBy(folded, words))
}

func suggestCountries(value string) []string {
	folded := filing.FoldName(value)
	switch {
	case len(folded) == 2:
		return []string{strings.ToUpper(folded)} // "U.S."
	case len(folded) < 4:
		return nil
	}
	return oneOf(meantBy(folded, countries))
}

// suggestEmails takes an address out of other text, and corrects what cannot be
// meant: blanks, a comma for a dot, punctuation at its end.
func suggestEmails(value string) []string {
	bare := value
	if hasMailto(bare) {
		bare, _, _ = strings.Cut(bare[len("mailto:"):], "?")
	}
	if open, end := strings.IndexByte(bare, '<'), strings.LastIndexByte(bare, '>'); open >= 0 && end > open {
		bare = bare[open+1 : end]
	}
	if strings.Count(bare, "@") != 1 {
		return nil // which of several, or of none, only a person knows
	}
	bare = strings.Trim(strings.ReplaceAll(bare, " ", ""), ".,;:'\"()[]")
	name, domain, _ := strings.Cut(bare, "@")
	return []string{name + "@" + strings.ReplaceAll(domain, ",", ".")}
}

// suggestPhones leaves an extension out.
func suggestPhones(value string) []string {
	folded := strings.ToLower(value)
	for _, word := range []string{"extension", "ext", "x", "#"} {
		if at := strings.Index(folded, word); at > 0 {
			return []string{strings.TrimRight(value[:at], " ,;.")}
		}
	}
	return nil
}

// suggestCompanyIDs takes the ID out of a web address, and corrects its beginning.
func suggestCompanyIDs(value string) []string {
	if id, ok := idInAddress(value); ok {
		return []string{id}
	}
	if len(value) > 5 && strings.EqualFold(value[:4], "comp") && strings.ContainsRune("_- ", rune(value[4])) {
		return []string{"comp_" + strings.TrimSpace(value[5:])}
	}
	return nil
}
