package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

const clientsOfTwo = "Company ID,Legal Name,Filing State,Filing Year,User Email,Client\n" +
	"comp_1,Old Mill LLC,DE,2026,ana@example.com,Harbor Light\n" +
	"comp_2,<b>Birch</b> Inc,DE,2026,ana@example.com,Acme\n"

// A company is found from any page by its name or its id, its order by its id, and
// so are its client and its file; its page has its filings, their cost, and when it
// is due next.
func TestSearchAndCompany(t *testing.T) {
	s, v := visit(t, ledger.Preparer)
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
	nobody := s.as()
	if status, body := nobody.get("/search?q=mill"); status != http.StatusForbidden ||
		strings.Contains(body, "Old Mill") {
		t.Errorf("someone without a role: %d", status)
	}
}
