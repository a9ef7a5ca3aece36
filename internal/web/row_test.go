package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// A row is shown with everything that happened to it, its number masked
// wherever the service repeats one.
func TestRowPage(t *testing.T) {
	s, v := visit(t, ledger.Preparer)
	s.place()
	batch := v.submit(v.sheet("clients.csv", someClients))
	s.answered(batch)
	orders := s.orders(batch)
	s.tell(s.service.Advance(t.Context(), orders[0], "filed"))
	s.tell(s.service.Raise(t.Context(), orders[1], 482))
	told := fmt.Appendf(nil, `{"id":"evt_x","type":"filing.status_changed","createdAt":"2026-01-02T03:04:05Z",`+
		`"data":{"orderId":%q,"filingStatus":"<b>odd</b>","note":"of 123-45-6789"}}`, orders[2])
	e := need(filing.ParseEvent(told))(s)
	_, err := s.Ledger.Events().Keep(t.Context(), e, told)
	s.must(err)
	s.tell(nil, nil)

	_, body := v.get("/batches/" + batch + "/rows/2")
	v.wants(body, "Row 2: <bdi>&lt;script&gt;alert(1)&lt;/script&gt; LLC</bdi>", orders[0], "filed", "Accepted",
		"filing.status_changed", "document.uploaded", ">Charged<", ">Reserved<",
		"/batches/"+batch+"/documents/doc_", "annualReport.filingYear", `/rows/3" rel="next"`)
	if strings.Contains(body, `rel="prev"`) {
		t.Error("a row before the first")
	}
	v.wants(v.page("/batches/"+batch+"/rows/3"), "The filing stopped, exception 482",
		"a report of an earlier year has a problem",
		"cure the earlier year", "=cmd|&#39;/c calc&#39;!A1")
	_, body = v.get("/batches/" + batch + "/rows/4")
	v.wants(body, "&lt;b&gt;odd&lt;/b&gt;", "6789")
	if strings.Contains(body, "123-45") {
		t.Error("a Social Security number is shown")
	}
	v.wants(v.page("/batches/"+batch+"/rows/5"), "has two digits", "D5", "not yet", `/rows/4" rel="prev"`)
	for _, number := range []string{"1", "6", "0", "-1", "x", "99999999999999999999"} {
		v.gives(http.StatusNotFound, "/batches/"+batch+"/rows/"+number)
	}
}

// What broke is told in plain words, on the row's page and in the results; what
// the network itself said of it is folded away beside the attempt.
func TestARowTellsWhatBroke(t *testing.T) {
	s, v := visit(t, ledger.Roles...)
	s.place()
	batch, _ := s.inDoubt(v, doubtfulClients)
	const meaning = "sent, but the filing service did not confirm it: the connection broke before an answer came. " +
		"The order may or may not have been placed."
	_, body := v.get("/batches/" + batch + "/rows/2")
	v.wants(body, meaning, "No answer: the connection broke before an answer came", "Network error",
		"connection reset by peer")
	plain, _, _ := strings.Cut(body, "<details><summary>Network error")
	_, results := v.get("/batches/" + batch + "/results.csv")
	v.wants(results, meaning)
	for name, text := range map[string]string{"the row's page": plain, "the results": results} {
		for _, technical := range []string{"read tcp", "reset by peer", "127.0.0.1"} {
			if strings.Contains(text, technical) {
				t.Errorf("%q stands on %s\n%s", technical, name, text)
			}
		}
	}
}

// A row that the filing service refused after a part of it was bought shows what was charged, and
// not what the rest would have cost.
func TestRowPage_BoughtInPart(t *testing.T) {
	s := newSite(t)
	s.place()
	s.service.Inject(sandbox.Fault{Kind: sandbox.FaultStatus, Status: 422, Nth: 2})
	v := s.as(ledger.Roles...)
	batch := v.submit(v.sheet("a.csv", "Company ID,Filing State,User Email,Order Registered Agent,Order EIN,"+
		"Business Category,Business Purpose,Application Reason,Vehicle 55k Pounds,Gambling Wagering,File Form 720,"+
		"Alcohol Tobacco Firearms,File Form 944,Is W2 Expected,Responsible Party First Name,"+
		"Responsible Party Last Name,Responsible Party Title,Responsible Party SSN,Responsible Party Phone Number,"+
		"Responsible Party Is Foreign\n"+
		"comp_1,DE,ana@example.com,yes,yes,Consulting,Bookkeeping for small firms,Started a new business,"+
		"no,no,no,no,no,no,Ana,Silva,Managing Member,078-05-1120,(302) 555-0142,no\n"))
	s.answered(batch)
	row := need(s.Ledger.RowNumbered(t.Context(), batch, 2))(s)
	if row.Result != filing.Rejected || row.Spent.IsZero() || row.Spent == row.Cost {
		t.Fatalf("%+v", row)
	}
	v.wants(v.page("/batches/"+batch+"/rows/2"), "<dt>Charged</dt><dd>"+row.Spent.String()+"</dd>")
	company := need(s.Ledger.CompanyOfRow(t.Context(), row.ID))(s)
	v.wants(v.page(companyPath(company)), `class="money">`+shortCost(row.Spent)+"</td>")
}
