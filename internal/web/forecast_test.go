package web

import (
	"net/http"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// The forecast names what to have available and when, and the runs that need it.
func TestForecast(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Operator)
	_, body := v.get("/balance/forecast")
	v.wants(body, "The schedules place no order until", "Nothing to pay for")
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
	_, body = v.get("/balance")
	v.wants(body, `href="/balance/forecast"`)
	_, body = v.get("/balance/forecast?days=365")
	v.wants(body, "Have about $327.50 available by", "$227.50 more than now", ">florida</bdi>",
		`href="/seasons/florida"`, `<option value="365" selected>`)
	for _, days := range []string{"0", "367", "x"} {
		if status, _ := v.get("/balance/forecast?days=" + days); status != http.StatusUnprocessableEntity {
			t.Errorf("%s days: %d", days, status)
		}
	}
}
