package web

import (
	"net/http"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// The forecast names what to have available and when, and the runs that need it.
func TestForecast(t *testing.T) {
	s, v := visit(t, ledger.Operator)
	v.wants(v.page("/balance/forecast"), "The schedules place no order until", "Nothing to pay for")
	_, err := schedule.Add(t.Context(), s.Ledger, schedule.NewSchedule{
		Name: "florida",
		File: "list.csv",
		Content: []byte("Company ID,Legal Name,Filing State,User ID,Entity Type,Formation State\n" +
			"comp_1,Ada LLC,FL,user_1,LLC,DE\ncomp_2,Bea LLC,FL,user_1,LLC,DE\n"),
		By:      "Ana",
		Options: schedule.Options{Due: "60 days before", Zone: "America/New_York", FilingYear: "this"},
	})
	s.must(err)
	s.must(s.Ledger.RecordDeposit(t.Context(), 100_00, ""))
	v.wants(v.page("/balance"), `href="/balance/forecast"`)
	v.wants(v.page("/balance/forecast?days=365"), "Have about $327.50 available by", "$227.50 more than now", ">florida</bdi>",
		`href="/seasons/florida"`, `<option value="365" selected>`)
	for _, days := range []string{"0", "367", "x"} {
		v.gives(http.StatusUnprocessableEntity, "/balance/forecast?days="+days)
	}
}
