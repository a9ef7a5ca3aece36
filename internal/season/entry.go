package season

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// ParseSpan reads the first and the last day of a calendar: without a first it
// is today, without a last a year after the first.
func ParseSpan(from, to string, today Date) (first, last Date, err error) {
	first = today
	if from != "" {
		if first, err = ParseDate(from); err != nil {
			return first, last, err
		}
	}
	last = first.AddMonths(12)
	if to != "" {
		if last, err = ParseDate(to); err != nil {
			return first, last, err
		}
	}
	if last.Before(first) {
		err = fmt.Errorf("the last day, %s, is before the first, %s", last, first)
	}
	return first, last, err
}

// CalendarLine is an entry as programs read it.
type CalendarLine struct {
	Due        Date   `json:"due"` // "" where nothing falls due
	Estimate   bool   `json:"estimate"`
	Verdict    string `json:"verdict"`
	State      string `json:"state"`
	CompanyID  string `json:"companyId"`
	Company    string `json:"company"`
	Row        int    `json:"row"`
	What       string `json:"what"`
	Opens      Date   `json:"opens"`
	Fee        string `json:"fee"`
	Why        string `json:"why"`
	Source     string `json:"source"`
	Confidence string `json:"confidence"`
}

// Line is the entry as programs read it.
func (e Entry) Line() CalendarLine {
	return CalendarLine{
		Due:        e.Due.Date,
		Estimate:   e.Due.Estimate,
		Verdict:    string(e.Due.Verdict),
		State:      string(e.Row.Facts.State),
		CompanyID:  e.Row.CompanyID,
		Company:    e.Row.LegalName,
		Row:        e.Row.Number,
		What:       e.Due.What,
		Opens:      e.Due.Opens,
		Fee:        e.Due.Price(),
		Why:        e.Due.Why,
		Source:     e.Due.Source,
		Confidence: e.Due.Confidence,
	}
}

// WriteCSV writes entries with everything that is known of them.
func WriteCSV(w io.Writer, entries []Entry) error {
	table := csv.NewWriter(w)
	lines := [][]string{
		{"Due", "Estimate", "Verdict", "State", "Company ID", "Legal Name", "Row", "What", "Opens", "Fee", "Why",
			"Source", "Confidence"},
	}
	for _, e := range entries {
		l := e.Line()
		line := []string{l.Due.String(), strconv.FormatBool(l.Estimate), l.Verdict, l.State, l.CompanyID, l.Company,
			strconv.Itoa(l.Row), l.What, l.Opens.String(), l.Fee, l.Why, l.Source, l.Confidence}
		for i := range line {
			line[i] = sheet.Guard(line[i])
		}
		lines = append(lines, line)
	}
	return table.WriteAll(lines)
}
