package season

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

// ParseSpan parses the first and the last day of a calendar. The defaults are today and a year
// after the first day.
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

// WriteCSV writes entries with all their known fields.
func WriteCSV(w io.Writer, entries []Entry) error {
	table := csv.NewWriter(w)
	lines := [][]string{
		{"Due", "Estimate", "Verdict", "State", "Company ID", "Legal Name", "Row", "What", "Opens", "Fee", "Why",
			"Source", "Confidence"},
	}
	for _, e := range entries {
		row, due := e.Row, e.Due
		line := []string{due.Date.String(), strconv.FormatBool(due.Estimate), string(due.Verdict),
			string(row.Facts.State), row.CompanyID, row.LegalName, strconv.Itoa(row.Number), due.What,
			due.Opens.String(), due.Price(), due.Why, due.Source, due.Confidence}
		for i := range line {
			line[i] = sheet.Guard(line[i])
		}
		lines = append(lines, line)
	}
	return table.WriteAll(lines)
}
