package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/reconcile"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// Random histories of an account: answers that are lost, prices that rise, orders that
// a person places on the dashboard, refunds and corrections, deposits that are recorded
// or not. After the statement is reconciled, in whatever layout, the recorded balance is
// that of the books to the cent, every uncertain order that the statement shows is
// placed, and every other one is uncertain still. Once more changes nothing.
func TestReconciledBalanceIsThatOfTheBooks(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	ledgertest.OnBoth(t, func(t *testing.T, database string) {
		seeds := uint64(12)
		if database != "" || testing.Short() {
			seeds = 1 // the scheme is one ledger's
		}
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) { newHistory(t, database, seed).run() })
		}
	})
}

// history is a random history of an account.
type history struct {
	*desk
	rand     *rand.Rand
	database string
	list     string
	made     map[string]bool
}

// states have state fees of their own in the sandbox.
var states = []string{"FL", "DE", "CA", "NC", "CO"}

func newHistory(t *testing.T, database string, seed uint64) *history {
	h := &history{rand: rand.New(rand.NewPCG(seed, 7)), database: database, made: make(map[string]bool)}
	cfg := sandbox.Config{OpeningBalance: 50_000_00, AutoSeed: true, Seed: seed}
	var list strings.Builder
	list.WriteString(
		"Company ID,Legal Name,Entity Type,Formation State,Filing State,Filing Year,Order Agent,User Email\n")
	for i := range 6 + h.rand.IntN(10) {
		c := sandbox.Company{
			ID:             fmt.Sprintf("comp_h%d", i),
			LegalName:      fmt.Sprintf("Harbor & Light No. %d, L.L.C.", i),
			EntityType:     "LLC",
			FormationState: "DE",
		}
		state, agent := states[h.rand.IntN(len(states))], "no"
		if h.rand.IntN(3) == 0 {
			agent = "yes"
		} else {
			c.Agents = map[string]sandbox.Agent{state: sandbox.ActiveService}
		}
		cfg.Companies = append(cfg.Companies, c)
		fmt.Fprintf(&list, "%s,\"%s\",LLC,DE,%s,2026,%s,ana@harborlight.example\n", c.ID, c.LegalName, state, agent)
	}
	h.desk = newDeskAt(t, cfg)
	h.env["DATABASE_URL"], h.env["WORKER_CONCURRENCY"] = database, "8"
	h.list = filepath.Join(h.dir, "roster.csv")
	if err := os.WriteFile(h.list, []byte(list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, c := range cfg.Companies {
		switch h.rand.IntN(4) {
		case 0:
			h.service.Inject(sandbox.Fault{Kind: "reset", After: true, Company: c.ID})
		case 1:
			h.service.Inject(sandbox.Fault{Kind: "reset", Company: c.ID})
		}
		if i == 2 && h.rand.IntN(2) == 0 {
			h.service.SetBehavior(sandbox.PriceRise, true)
		}
		if h.rand.IntN(5) == 0 {
			h.service.SetBehavior(sandbox.Surcharge, true)
		}
	}
	return h
}

// any runs a command whose exit status depends on the history.
func (h *history) any(args ...string) (code int, out string) {
	h.Helper()
	var b bytes.Buffer
	root := newApp(strings.NewReader(""), &b, &b, func(name string) string { return h.env[name] }).command()
	root.SetArgs(args)
	err := root.ExecuteContext(h.Context())
	var s *status
	switch {
	case errors.As(err, &s) && s.code != exitFailed:
		return s.code, b.String()
	case err != nil:
		h.Fatalf("importer %q: %v\n%s", args, err, &b)
	}
	return exitDone, b.String()
}

func (h *history) run() {
	if h.rand.IntN(2) == 0 {
		h.do(exitDone, "deposit", "50000")
	}
	h.any("run", h.list, "--yes")
	h.service.ClearFaults()
	h.live()
	first := h.reconcile(sandbox.Layouts[h.rand.IntN(3)])
	for _, layout := range sandbox.Layouts { // the same month in every layout
		h.unchanged(layout)
	}
	h.live()
	second := h.reconcile(sandbox.Layouts[h.rand.IntN(3)]) // it overlaps the first
	if first.Lines > second.Lines {
		h.Errorf("%+v, then %+v", first, second)
	}
	h.unchanged(sandbox.Layouts[h.rand.IntN(3)])
	h.resolveRest()
}

// resolveRest marks what a complete statement lacks as not placed, and sends it again:
// each order is bought once.
func (h *history) resolveRest() {
	h.Helper()
	tomorrow := time.Now().UTC().Add(24 * time.Hour).Format(time.DateOnly)
	_, out := h.any("reconcile", h.statement(sandbox.PlainLayout), "--complete", "--to", tomorrow, "--not-placed",
		"--yes",
		"--json")
	if !strings.Contains(out, `"uncertain":0}`) {
		h.Fatal(out)
	}
	h.service.Deposit(50_000_00)
	h.do(exitDone, "deposit", "50000")
	h.any("run", h.list, "--yes")
	if books := h.service.Books(); len(books.Duplicates()) > 0 {
		h.Errorf("bought twice: %v", books.Duplicates())
	}
	h.reconcile(sandbox.PlainLayout)
}

// live lets things happen at the filing service that the ledger does not see.
func (h *history) live() {
	for _, item := range h.service.Books().Items() {
		switch cents := int64(1 + h.rand.IntN(5_000)); h.rand.IntN(6) {
		case 0:
			h.must(h.service.Correct(item.ID, -min(cents, item.Amount())))
		case 1:
			h.must(h.service.Correct(item.ID, cents))
		}
	}
	for range h.rand.IntN(3) {
		h.service.Charge("", fmt.Sprintf("Foreign %d Corp", h.rand.IntN(9)), "TX", "formation",
			int64(1+h.rand.IntN(9_999)))
	}
	if h.rand.IntN(3) == 0 {
		h.service.Deposit(int64(1 + h.rand.IntN(90_000)))
	}
}

func (h *history) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *history) statement(layout sandbox.Layout) string {
	h.Helper()
	content, err := h.service.Statement(layout)
	h.must(err)
	path := filepath.Join(h.dir, string(layout)+map[sandbox.Layout]string{sandbox.WorkbookLayout: ".xlsx"}[layout])
	h.must(os.WriteFile(path, content, 0o600))
	return path
}

// reconcile reconciles the statement, and holds the ledger to the books.
func (h *history) reconcile(layout sandbox.Layout) reconcile.Counts {
	h.Helper()
	status, out := h.any("reconcile", h.statement(layout), "--complete", "--yes", "--json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var c reconcile.Counts
	h.must(json.Unmarshal([]byte(lines[len(lines)-1]), &c))
	if want := map[bool]int{true: exitUncertain, false: exitDone}[c.Uncertain > 0]; status != want {
		h.Fatalf("%s: exit status %d, want %d\n%s", layout, status, want, out)
	}
	h.agrees(layout, out)
	return c
}

func (h *history) open() *ledger.Ledger {
	h.Helper()
	cfg := ledger.Config{DatabaseURL: h.database}
	if h.database == "" {
		cfg.Dir = sandboxLedger(h.env["FILING_DATA_DIR"])
	} else {
		cfg.Dir = h.TempDir()
	}
	l, err := ledger.Open(h.Context(), cfg)
	h.must(err)
	return l
}

// agrees holds the ledger to the books: the balance, and every order.
func (h *history) agrees(layout sandbox.Layout, out string) {
	h.Helper()
	l := h.open()
	defer l.Close()
	h.must(l.Audit(h.Context()))
	b, err := l.Balance(h.Context())
	h.must(err)
	books := h.service.Books()
	if recorded := b.Deposits + b.Adjustments - b.Posted; recorded != money.Cents(books.Balance) {
		h.Fatalf("%s: the recorded balance is %s, and the books have %s\n%s", layout, recorded,
			money.Cents(books.Balance),
			out)
	}
	made := make(map[string]bool)
	for _, item := range books.Items() {
		made[item.CompanyID] = true
	}
	batches, err := l.Batches(h.Context())
	h.must(err)
	for _, batch := range batches {
		for r, err := range l.Rows(h.Context(), batch.ID) {
			h.must(err)
			want := filing.Uncertain
			if made[r.CompanyRef()] {
				want = filing.Placed
			}
			if r.Result != want {
				h.Fatalf("%s: row %d of %s is %s, want %s: %s\n%s", layout, r.Number, r.CompanyRef(), r.Result, want,
					r.Message,
					out)
			}
			if r.Result != filing.Placed || layout == sandbox.InvoiceLayout {
				continue
			}
			for _, i := range r.Items {
				if !slices.ContainsFunc(books.Items(), func(o sandbox.Item) bool { return o.ID == i.OrderID }) &&
					i.OrderID != "" {
					h.Errorf("%s: row %d has the order %q", layout, r.Number, i.OrderID)
				}
			}
		}
	}
}

// unchanged reconciles the statement once more: nothing of the ledger changes.
func (h *history) unchanged(layout sandbox.Layout) {
	h.Helper()
	entries := func() (all []ledger.Entry) {
		l := h.open()
		defer l.Close()
		for e, err := range l.Entries().All(h.Context()) {
			h.must(err)
			all = append(all, e)
		}
		return all
	}
	before := entries()
	h.reconcile(layout)
	if after := entries(); !slices.Equal(before, after) {
		h.Fatalf("%s once more: %d entries, then %d: %+v", layout, len(before), len(after),
			after[min(len(before), len(after)):])
	}
}

// A client whose name is misspelled is refused, and where there is nothing to bill no
// file is written. The results of a run are no statement.
func TestBillNamesTheClient(t *testing.T) {
	d := newDeskAt(t, sandbox.Config{OpeningBalance: 50_000_00, AutoSeed: true})
	list := filepath.Join(d.dir, "companies.csv")
	content := "Company ID,Filing State,Filing Year,User Email,Client\n" +
		"comp_1,FL,2026,ana@harborlight.example,Quay Group\n"
	if err := os.WriteFile(list, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	d.do(exitDone, "run", list, "--yes")
	d.do(exitFailed, "bill", "--client", "Quai Group")
	out := filepath.Join(d.dir, "bills.csv")
	d.do(exitFailed, "bill", "--client", "Quai Group", "--format", "csv", "-o", out)
	d.do(exitDone, "bill", "--client", "QUAY GROUP")
	d.do(exitDone, "bill", "--month", "2020-01", "--format", "csv", "-o", out)
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file without bills: %v", err)
	}
	d.do(exitFailed, "reconcile", filepath.Join(d.dir, "companies.results.xlsx"), "--yes")
	d.do(exitDone, "bill", "--include-estimated", "--format", "csv", "-o", out)
	d.do(exitFailed, "reconcile", out, "--yes")
}
