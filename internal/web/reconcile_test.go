package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// A statement is compared first, and recorded once it is confirmed: the order whose
// answer was lost is placed, and the balance is that of the books.
func TestReconciliation(t *testing.T) {
	s := newSite(t)
	s.place()
	v := s.as(ledger.Roles...)
	_, rows := s.inDoubt(v, "Company ID,Filing State,Filing Year,User Email\ncomp_lost,DE,2026,ana@example.com\n")
	s.service.Charge("", "Somebody <Else> LLC", "TX", "annual_report", 99_50)
	content, err := s.service.Statement(sandbox.WorkbookLayout)
	s.must(err)

	_, body := v.get("/reconciliation")
	v.wants(body, "No statement is reconciled yet.", "Compare statement")
	status, body, at := v.upload("/reconciliation", "march.xlsx", content)
	if status != http.StatusOK || !strings.HasPrefix(at, "/reconciliation/") {
		t.Fatalf("%d at %s\n%s", status, at, body)
	}
	v.wants(body, "Resolves an uncertain order", "Charged and not ours", "Somebody &lt;Else&gt; LLC",
		"mark 1 uncertain order as placed", "agree to the cent", "Reconcile statement")
	s.want(rows[0].ID, filing.Uncertain)

	// Whoever saw another plan has it shown again.
	_, body = v.post(at+"/reconcile", "plan", "another")
	v.wants(body, "Nothing was changed")
	s.want(rows[0].ID, filing.Uncertain)

	plan := between(t, body, `name="plan" value="`, `"`)
	_, body = v.post(at+"/reconcile", "plan", plan)
	v.wants(body, "march.xlsx is reconciled. 1 uncertain order resolved, 2 adjustments recorded",
		"Nothing is left to record")
	s.want(rows[0].ID, filing.Placed)
	b, err := s.Ledger.Balance(t.Context())
	s.must(err)
	if recorded, books := b.Deposits+b.Adjustments-b.Posted, money.Cents(s.service.Books().Balance); recorded != books {
		t.Errorf("%s is recorded, and the books have %s", recorded, books)
	}
	acts, err := s.Ledger.AuditLog().List(t.Context(), ledger.AuditQuery{What: "reconcile"})
	if err != nil || len(acts) != 1 || acts[0].By == "" || !strings.Contains(acts[0].Note, "2 lines") {
		t.Errorf("%+v, %v", acts, err)
	}

	// The same file again changes nothing.
	_, body, _ = v.upload("/reconciliation", "march.xlsx", content)
	v.wants(body, "Nothing is left to record")
	if strings.Contains(body, "Reconcile statement</button>") {
		t.Error("it can be recorded once more")
	}
	_, body = v.get("/reconciliation")
	v.wants(body, "march.xlsx", "+$999,900.50")
}

// A statement that cannot be trusted is refused, and says where.
func TestReconciliationRefuses(t *testing.T) {
	s := newSite(t)
	s.place()
	v := s.as(ledger.Roles...)
	s.inDoubt(v, "Company ID,Filing State,Filing Year,User Email\ncomp_lost,DE,2026,ana@example.com\n")
	for name, test := range map[string]struct{ content, want string }{
		"another account": {"Order ID,Company ID,Amount\norder_9,comp_9,-25.00\n", "another account"},
		"euros":           {"Order ID,Company ID,Amount\norder_9,comp_lost,€25.00\n", "C2"},
		"no statement":    {"Color,Size\nred,5\n", "no header of a statement"},
	} {
		status, body, at := v.upload("/reconciliation", "march.csv", []byte(test.content))
		if status != http.StatusUnprocessableEntity || at != "/reconciliation" {
			t.Errorf("%s: %d at %s", name, status, at)
		}
		v.wants(body, test.want)
	}
	if all, err := s.Ledger.Statements().ListStatements(t.Context(), 9); err != nil || len(all) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, from)
	value, _, closed := strings.Cut(rest, to)
	if !found || !closed {
		t.Fatalf("no %s in\n%s", from, text)
	}
	return value
}

func (s *testSite) want(row int64, want filing.Result) {
	s.Helper()
	if got := s.row(row).Result; got != want {
		s.Fatalf("the row is %s, want %s", got, want)
	}
}
