package season

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/sheet"
)

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
