package web

import (
	"encoding/csv"
	"net/http"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// The page has what was charged, for a month and a client, and so do its files.
func TestChargesPage(t *testing.T) {
	s := newSite(t)
	v, reader := s.as(ledger.Preparer, ledger.Operator), s.as(ledger.Auditor)
	v.wants(v.page("/charges"), "No charges yet")
	path, body := v.sheet("clients.csv", clientsOfTwo+"comp_3,Quay LLC,DE,2026,ana@example.com,\n")
	batch := v.submit(path, body)
	s.place()
	s.answered(batch)
	v.wants(reader.page("/charges"), "Acme", "Harbor Light", "No client", "&lt;b&gt;Birch&lt;/b&gt; Inc", "Annual report 2026",
		"/batches/"+batch+"/rows/2", `about `+s.book().Posted.Dollars())
	_, body = v.get("/charges?client=ACME")
	v.wants(body, "Birch")
	if strings.Contains(body, "Quay LLC") {
		t.Error("the charges of another client are shown")
	}
	v.wants(v.page("/charges?client=Nobody"), "No charges for this client")

	status, body := reader.get("/charges.csv?month=all")
	if status != http.StatusOK {
		t.Fatalf("the file: %d", status)
	}
	lines := need(csv.NewReader(strings.NewReader(body)).ReadAll())(s)
	var total money.Cents
	for _, l := range lines[1:] {
		amount := need(money.Parse(l[14]))(s)
		total += amount
	}
	if len(lines) != 4 || total != s.book().Posted {
		t.Errorf("%d lines of %s, charged %s", len(lines), total, s.book().Posted)
	}
	if status, body := reader.get("/charges.xlsx"); status != http.StatusOK || len(body) < 1000 {
		t.Errorf("the workbook: %d, %d bytes", status, len(body))
	}
	for _, path := range []string{"/charges?month=March", "/charges.csv?month=2020-01", "/charges.pdf"} {
		reader.gives(http.StatusNotFound, path)
	}
}
