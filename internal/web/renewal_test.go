package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// The page of a company shows what its subscriptions cover. An operator records the
// status of a subscription, and the order that renews a covered report.
func TestSubscriptionsOfACompany(t *testing.T) {
	s, v := visit(t, ledger.Preparer, ledger.Operator)
	s.place()
	var batch string
	for n, year := range []string{"2026", "2027"} {
		path, _ := v.sheet("r"+year+".csv", fmt.Sprintf("Company ID,Entity Type,Formation State,Filing State,"+
			"Filing Year,User Email\ncomp_1,LLC,FL,FL,%[1]s,ana@example.com\n"+
			"comp_%[2]d,LLC,FL,FL,%[1]s,ana@example.com\n",
			year, n+2))
		_, form := v.get(path + "/approve")
		v.post(path+"/submit", "version", hidden(form, "version"), "plan", hidden(form, "plan"), "warnings",
			hidden(form, "warnings"))
		submitted := need(s.Ledger.Batch(t.Context(), ""))(s)
		batch = submitted.ID
		s.answered(batch)
	}
	covered := need(s.Ledger.RowNumbered(t.Context(), batch, 2))(s)
	if covered.Result != filing.Skipped {
		t.Fatal(covered.Result, covered.Message)
	}
	order := s.bought("comp_1")[0]
	v.wants(v.page("/companies/comp_1"), "Annual subscriptions", "FL 2027", order, "Save status", "Record renewal")
	if _, body := s.as(ledger.Auditor).get("/companies/comp_1"); strings.Contains(body, "Save status") {
		t.Error("someone who is no operator has the form")
	}

	v.wants(v.posted("/companies/comp_1/subscription", "order", order, "status", "past_due", "note", "the dashboard"), "is past due", "not covered any more: it is past due")
	v.wants(v.page("/renewals"), "FL 2027", `href="/companies/comp_1#subscriptions"`, "it is past due")
	for _, wrong := range [][]string{
		{"order", order, "status", "lapsed"}, {"order", "order_none", "status", "active"},
	} {
		v.answers(http.StatusUnprocessableEntity, "/companies/comp_1/subscription", wrong...)
	}

	renewal := []string{"row", fmt.Sprint(covered.ID), "order", "order_renewed"}
	v.answers(http.StatusUnprocessableEntity, "/companies/comp_1/renewal", "row", renewal[1], "order", order)
	v.wants(v.posted("/companies/comp_1/renewal", renewal...), "Order order_renewed is recorded as the renewal.")
	s.becomes(covered.ID, filing.Exists)
	v.answers(http.StatusUnprocessableEntity, "/companies/comp_1/renewal", renewal...)
	v.wants(v.page("/renewals"), "No renewals need attention")
}
