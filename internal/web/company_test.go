package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/filing"
)

const clientsOfTwo = "Company ID,Legal Name,Filing State,Filing Year,User Email,Client\n" +
	"comp_1,Old Mill LLC,DE,2026,ana@example.com,Harbor Light\n" +
	"comp_2,<b>Birch</b> Inc,DE,2026,ana@example.com,Acme\n"

// A company is found from any page by its name or its id, its order by its id, and
// so are its client and its file; its page has its filings, their cost, and when it
// is due next.
func TestSearchAndCompany(t *testing.T) {
	s, v := visit(t, account.Preparer)
	batch := v.submit(v.sheet("clients.csv", clientsOfTwo))
	s.place()
	s.answered(batch)
	row := need(s.Ledger.RowNumbered(t.Context(), batch, 2))(s)
	if row.Result != filing.Placed {
		t.Fatal(row.Result, row.Message)
	}
	for q, want := range map[string]string{
		"mill":                 `<a href="/companies/comp_1"><bdi>Old Mill LLC</bdi></a>`,
		"comp_2":               `<a href="/companies/comp_2"><bdi>&lt;b&gt;Birch&lt;/b&gt; Inc</bdi></a>`,
		"harbor":               `<a href="/?client=Harbor&#43;Light#batches"><bdi>Harbor Light</bdi></a>`,
		row.Items[0].OrderID:   `<a href="/batches/` + batch + `/rows/2">`,
		"clients.c":            `<a href="/batches/` + batch + `"><bdi>clients.csv</bdi></a>`,
		"nothing of that name": "Nothing matches",
	} {
		v.soon("/search?q="+strings.ReplaceAll(q, " ", "+"), want)
	}
	v.wants(v.page("/companies/comp_1"), "<h1><bdi>Old Mill LLC</bdi></h1>", "clients.csv",
		`href="/batches/`+batch+`/rows/2">Annual report 2026`,
		"Next due dates", "DE Delaware", "about ")
	v.wants(v.page("/companies"), "Old Mill LLC", "Birch")
	v.wants(v.page("/batches/"+batch+"/rows/2"), `<a href="/companies/comp_1">All filings of this company</a>`)
	for client, found := range map[string]bool{"acme": true, "nobody": false} {
		_, body := v.get("/?client=" + client)
		if strings.Contains(body, `href="/batches/`+batch+`"><bdi>clients.csv`) != found {
			t.Errorf("client %s: found is not %t", client, found)
		}
	}
	v.gives(http.StatusNotFound, "/companies/comp_3")
	s.lacks(s.as().gives(http.StatusForbidden, "/search?q=mill"), "Old Mill")
}

// The page of a company shows what its subscriptions cover. An operator records the
// status of a subscription, and the order that renews a covered report.
func TestSubscriptionsOfACompany(t *testing.T) {
	s, v := visit(t, account.Preparer, account.Operator)
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
	s.lacks(s.as(account.Auditor).page("/companies/comp_1"), "Save status")

	v.wants(v.posted("/companies/comp_1/subscription", "order", order, "status", "past_due", "note", "the dashboard"),
		"is past due", "not covered any more: it is past due")
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
