package web

import (
	"encoding/csv"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/billing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
)

// Filings are billed on the page: estimates wait, drafts can be discarded, an issued
// bill stays, and the file has what the page shows.
func TestBills(t *testing.T) {
	s := newSite(t)
	v, reader := s.as(ledger.Preparer, ledger.Operator), s.as(ledger.Auditor)
	_, body := v.get("/bills")
	v.wants(body, "Not billed yet", "No bills are issued", "Clients pay the service fee as charged")
	path, body := v.sheet("clients.csv", clientsOfTwo)
	batch := v.submit(path, body)
	s.place()
	s.answered(batch)
	_, body = v.get("/bills")
	v.wants(body, "2 filings, about ", "the cost is not known for certain")

	for fields, want := range map[string]string{"rule=twice&terms=30": "a percentage such as 15%",
		"rule=15%25&terms=900": "0 to 365"} {
		status, body := v.post("/bills/settings", splitFields(fields)...)
		if status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", fields, status)
		}
		v.wants(body, want)
	}
	_, body = v.post("/bills/settings", "rule", "20%", "terms", "14", "estimated", "1")
	v.wants(body, "Saved.", "service fee plus 20%", "due in 14 days", "Issue 2 bills")

	_, body = v.post("/bills", "what", "draft", "client", "ACME")
	v.wants(body, "1 draft made", "not issued")
	drafts, err := s.Ledger.Bills().List(t.Context(), ledger.BillQuery{Drafts: true, Lines: true})
	s.must(err)
	if len(drafts) != 1 || drafts[0].Client != "Acme" {
		t.Fatalf("drafts %+v", drafts)
	}
	_, body = v.get("/bills/" + drafts[0].ID)
	v.wants(body, "Discard draft", "&lt;b&gt;Birch&lt;/b&gt; Inc", "State fee", "estimate")
	_, body = reader.get("/bills/" + drafts[0].ID)
	if strings.Contains(body, "Discard draft") {
		t.Error("an auditor is shown the way to discard a draft")
	}
	s.must(s.Ledger.Bills().RecordCost(t.Context(), drafts[0].Lines[0].Purchase, 100_00, "the statement"))
	_, body = v.get("/bills")
	v.wants(body, "1 filing changed since the draft was made", "Issue 1 bill")
	_, body = v.post("/bills/" + drafts[0].ID + "/discard")
	v.wants(body, "The draft is discarded", "Issue 2 bills")

	_, body = v.post("/bills", "what", "issue")
	v.wants(body, "2 bills issued", "INV-00001", "INV-00002")
	_, body = v.post("/bills", "what", "issue")
	v.wants(body, "There was nothing left to bill")
	_, body = v.post("/bills/" + drafts[0].ID + "/discard")
	v.wants(body, "cannot be discarded", "INV-00001")

	status, body := reader.get("/bills/file?format=csv")
	if status != http.StatusOK {
		t.Fatalf("the file: %d", status)
	}
	lines, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	s.must(err)
	var total money.Cents
	for _, l := range lines[1:] {
		amount, err := money.Parse(l[18])
		s.must(err)
		total += amount
	}
	bills, err := s.Ledger.Bills().List(t.Context(), ledger.BillQuery{Issued: true})
	s.must(err)
	if len(lines) != 5 || len(bills) != 2 || total != bills[0].Total+bills[1].Total {
		t.Errorf("%d lines of %s, bills %+v", len(lines), total, bills)
	}
	for _, format := range billing.Formats() {
		if status, body := reader.get("/bills/file?format=" + string(format)); status != http.StatusOK ||
			len(body) < 100 {
			t.Errorf("%s: %d, %d bytes", format, status, len(body))
		}
	}
	for _, path := range []string{"/bills/file?format=pdf", "/bills?month=March", "/bills/none", "/bills?client=%20,"} {
		if status, _ := reader.get(path); status != http.StatusNotFound && path != "/bills?client=%20," {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func splitFields(form string) (fields []string) {
	for _, pair := range strings.Split(strings.ReplaceAll(form, "%25", "%"), "&") {
		name, value, _ := strings.Cut(pair, "=")
		fields = append(fields, name, value)
	}
	return fields
}

// The client of a row is changed on its page and for all rows that a filter shows,
// until the row is on a bill; the search finds it.
func TestChangeOfClient(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Preparer, ledger.Operator)
	path, body := v.sheet("clients.csv", clientsOfTwo+"comp_3,Quay LLC,DE,2026,ana@example.com,\n")
	batch := v.submit(path, body)
	s.place()
	s.answered(batch)
	_, body = v.get("/batches/" + batch + "/rows/2")
	v.wants(body, "Harbor Light", "from the spreadsheet")
	_, body = v.get("/batches/" + batch + "/rows/4")
	v.wants(body, "no client is named: the company itself is billed")
	_, body = v.post("/batches/"+batch+"/client", "row", "4", "client", "  Larkspur   Books ", "matter", "M-7")
	v.wants(body, "1 row changed", "Larkspur Books", "entered on the page", "M-7")
	v.soon("/search?q=larkspur", "client=Larkspur")
	_, body = v.post("/batches/"+batch+"/client", "row", "4")
	v.wants(body, "Nothing changed")
	_, body = v.post("/batches/"+batch+"/client", "show", "placed", "q", "birch", "client", "Quay Group")
	v.wants(body, "1 row changed")
	_, body = v.post("/batches/"+batch+"/client", "show", "", "q", "", "reference", "PO 1")
	v.wants(body, "3 rows changed")

	_, body = v.post("/bills/settings", "rule", "none", "terms", "30", "estimated", "1")
	v.wants(body, "Harbor Light", "Larkspur Books", "Quay Group")
	v.post("/bills", "what", "issue", "client", "larkspur books")
	_, body = v.get("/batches/" + batch + "/rows/4")
	v.wants(body, "INV-00001")
	if regexp.MustCompile(`(?s)Change client</summary>`).MatchString(body) {
		t.Error("the client of a billed row can be changed")
	}
	_, body = v.post("/batches/"+batch+"/client", "row", "4", "client", "Acme")
	v.wants(body, "a bill has each of these rows already")
	_, body = v.post("/batches/"+batch+"/client", "show", "", "q", "", "client", "Acme")
	v.wants(body, "2 rows changed. 1 row is on a bill")

	// The company is proposed for the same client the next time.
	path, body = v.sheet("next.csv", "Company ID,Legal Name,Filing State,Filing Year,User Email\n"+
		"comp_3,Quay LLC,FL,2026,ana@example.com\n")
	next := v.submit(path, body)
	_, body = v.get("/batches/" + next + "/rows/2")
	v.wants(body, "Larkspur Books", "proposed: the company was billed to this client before")
}
