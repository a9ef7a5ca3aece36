package importer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/importer"
)

// A run of a schedule takes the rows that are due, each with its own filing year
// and priority, and makes a batch of its own of them.
func TestScheduleRunTakesTheRowsThatAreDue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "companies.csv")
	content := "Company ID,Entity Type,Formation State,Fiscal End Month,Filing State,User ID\n"
	for i := range 250 { // several chunks
		content += fmt.Sprintf("comp_%d,LLC,DE,June,DE,user_1\n", i)
	}
	content += "comp_9,Club,DE,June,DE,user_1\n" // row 252, invalid
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	ids := make(map[string]bool)
	for _, run := range []string{"de@2027-01-15", "de@2028-01-15"} {
		im, err := importer.Open(path,
			importer.Options{
				FilingYear: "2027",
				Now:        time.Date(2027, 1, 15, 0, 0, 0, 0, time.UTC),
				Run: &importer.ScheduleRun{ID: run, RowOf: func(row int) (importer.RunRow, bool) {
					due := importer.RunRow{Priority: int64(1000 - row)}
					if row == 4 {
						due.FilingYear = "2028"
					}
					return due, row%2 == 0
				}},
			})
		if err != nil {
			t.Fatal(err)
		}
		defer im.Close()
		rows := 0
		err = im.Each(t.Context(), func(r *importer.Row) error {
			rows++
			checkRunRow(t, r)
			return nil
		})
		id, idErr := im.BatchID()
		if err != nil || idErr != nil || rows != 126 || ids[id] {
			t.Error(err, idErr, rows, id)
		}
		ids[id] = true
	}
}

// checkRunRow checks the priority and the filing year of a row of a run.
func checkRunRow(t *testing.T, r *importer.Row) {
	if r.Number%2 != 0 || r.Priority != int64(1000-r.Number) {
		t.Errorf("row %d with the priority %d", r.Number, r.Priority)
	}
	if r.Number == 252 {
		if r.Request != nil || r.Read == nil || r.Read.Company.Ref != "comp_9" {
			t.Errorf("of an invalid row: %+v %+v", r.Request, r.Read)
		}
		return
	}
	want := map[bool]string{true: "2028", false: "2027"}[r.Number == 4]
	if year := r.Request.Order.AnnualReport.FilingYear; year != want ||
		r.Request.Company.Sheet.FiscalEndMonth != "June" {
		t.Errorf("row %d: %s, want %s; %+v", r.Number, year, want, r.Request.Company.Sheet)
	}
}
