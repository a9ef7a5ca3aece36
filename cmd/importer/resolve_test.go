package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// tell records an event about an order in the ledger:
//
//	tell order_81 annual_report submitted [company=comp_1] [ago=2h]
func tell(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: tell ORDER TYPE STATUS [company=COMPANY] [ago=TIME]")
	}
	given := options(ts, args[3:])
	var ago time.Duration
	if text := given["ago"]; text != "" {
		var err error
		ago, err = time.ParseDuration(text)
		ts.Check(err)
	}
	ts.Check(keepEvent(context.Background(), ts.Getenv("LEDGER"), args[0], args[1], args[2], given["company"],
		time.Now().Add(-ago)))
}

func keepEvent(ctx context.Context, dir, order, orderType, status, company string, at time.Time) error {
	data := map[string]string{"orderId": order, "orderType": orderType, "filingStatus": status}
	if company != "" {
		data["companyId"] = company
	}
	body, err := json.Marshal(map[string]any{
		"id": "evt_" + order + "_" + status, "type": filing.StatusChanged,
		"createdAt": at.UTC().Format(time.RFC3339Nano), "data": data,
	})
	if err != nil {
		return err
	}
	e, err := filing.ParseEvent(body)
	if err != nil {
		return err
	}
	// It came in a while ago: an event that resolves a row waits for others
	// that would make it doubtful.
	l, err := ledger.Open(ctx, ledger.Config{
		Dir: dir,
		Now: func() time.Time { return time.Now().Add(-10 * time.Second) },
	})
	if err != nil {
		return err
	}
	_, err = l.Events().Keep(ctx, e, body)
	return errors.Join(err, l.Close())
}

// desk is a person at the command, with a sandbox for a service.
type desk struct {
	testing.TB
	service *sandbox.Service
	dir     string
	env     map[string]string
	batch   string
}

func newDesk(t *testing.T) *desk {
	return newDeskAt(t, sandbox.Config{
		OpeningBalance: 1_000_000,
		AutoSeed:       true,
		Seed:           1,
		Latency:        150 * time.Millisecond,
	})
}

// newDeskAt is a desk at a sandbox of one's own.
func newDeskAt(t *testing.T, cfg sandbox.Config) *desk {
	d := &desk{TB: t, dir: t.TempDir()}
	cfg.Keys = []string{scriptKey}
	d.service = sandbox.New(cfg)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- d.service.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	d.env = map[string]string{
		"FILING_BASE_URL": "http://" + listener.Addr().String() + "/v1", "FILING_API_KEY": scriptKey,
		"FILING_DATA_DIR":    filepath.Join(d.dir, "data"),
		"WORKER_CONCURRENCY": "32", // all at once: so many lost answers open the breaker
	}
	return d
}

// do runs a command that has to end with a status, and returns what it printed.
func (d *desk) do(want int, args ...string) string {
	d.Helper()
	var out, says bytes.Buffer
	root := newApp(strings.NewReader(""), &out, &says, func(name string) string { return d.env[name] }).command()
	root.SetArgs(args)
	got, err := exitDone, root.ExecuteContext(d.Context())
	var s *status
	switch {
	case errors.As(err, &s):
		got = s.code
	case err != nil:
		got = exitFailed
	}
	if got != want {
		d.Fatalf("importer %q: exit status %d, want %d: %v\n%s%s", args, got, want, err, &out, &says)
	}
	return out.String()
}

// order is the id of a company's order; empty where there is none.
func (d *desk) order(company string) string {
	for _, item := range d.service.Books().Items() {
		if item.CompanyID == company {
			return item.ID
		}
	}
	return ""
}

// tell has the sandbox send events of every order but that of one company.
func (d *desk) tell(but string, naming bool) {
	d.Helper()
	for _, item := range d.service.Books().Items() {
		company := ""
		if naming {
			company = item.CompanyID
		}
		if item.CompanyID == but {
			continue
		}
		if err := keepEvent(d.Context(), sandboxLedger(d.env["FILING_DATA_DIR"]), item.ID, "annual_report",
			"submitted", company, time.Now()); err != nil {
			d.Fatal(err)
		}
	}
}

func (d *desk) book() ledger.Balance {
	d.Helper()
	l, err := ledger.Open(d.Context(), ledger.Config{Dir: sandboxLedger(d.env["FILING_DATA_DIR"])})
	if err != nil {
		d.Fatal(err)
	}
	defer l.Close()
	if err := l.Audit(d.Context()); err != nil {
		d.Error(err)
	}
	book, err := l.Balance(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	return book
}

// oneByOne settles a row by flags, as a person who has looked.
func (d *desk) oneByOne(row int, company string) {
	d.Helper()
	args := []string{"resolve", "mark", d.batch + ":" + strconv.Itoa(row), "not-placed", "--yes"}
	if id := d.order(company); id != "" {
		args = append(args[:3], "placed", "--order", id)
	}
	d.do(exitDone, args...)
}

// lostAnswers is how many answers the test below loses.
const lostAnswers = 20

// Twenty answers are lost: ten of orders that were made, ten of orders that were
// not. However they are resolved, each filing is bought once, and the recorded
// balance agrees with the filing service to the cent.
func TestTwentyUncertainRowsAreResolvedInEachWay(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	for name, resolveAll := range map[string]func(*desk, []uncertainJSON){
		"one by one":                      (*desk).resolveEach,
		"by events that name the company": (*desk).resolveByEvents,
		"by events that a person accepts": (*desk).resolveByAcceptedEvents,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			list := d.loseAnswers()
			d.do(exitDone, "deposit", "10000")
			d.do(exitUncertain, "run", list, "--yes")
			all := d.list()
			if len(all) != lostAnswers || !slices.ContainsFunc(all[0].Attempts,
				func(a attemptJSON) bool { return a.Class == filing.NoAnswer }) || all[0].Dashboard == "" {
				t.Fatalf("%d rows are listed, want %d; the first: %+v", len(all), lostAnswers, all[0])
			}
			d.batch = all[0].Batch
			d.service.ClearFaults()
			resolveAll(d, all)

			if balance := d.book(); balance.Reserved != 0 {
				t.Errorf("%s is still reserved", balance.Reserved)
			}
			d.do(exitDone, "run", list, "--yes")
			books, balance := d.service.Books(), d.book()
			if len(books.Duplicates()) > 0 || len(books.Orders) != lostAnswers+1 {
				t.Errorf("%d orders, bought twice: %v", len(books.Orders), books.Duplicates())
			}
			if charged := money.Cents(books.Charged); balance.Posted != charged || balance.Reserved != 0 ||
				balance.Available() != 1_000_000-charged {
				t.Errorf("the filing service charged %s, and the balance is %+v", charged, balance)
			}
		})
	}
}

// loseAnswers writes a company list, and has the sandbox lose the answers to all
// its orders but the last.
func (d *desk) loseAnswers() (list string) {
	d.Helper()
	list = filepath.Join(d.dir, "roster.csv")
	text := "Company ID,Client No,Entity Type,Formation State,Filing State,Filing Year,User Email\n"
	for i := range lostAnswers + 1 {
		text += fmt.Sprintf("comp_%d,%05d,LLC,DE,FL,2026,ana@harborlight.example\n", i+1, i+1)
		if i < lostAnswers {
			d.service.Inject(sandbox.Fault{Kind: "reset", After: i%2 == 0, Company: fmt.Sprintf("comp_%d", i+1)})
		}
	}
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
	return list
}

// certainCompany is the company whose order was answered.
const certainCompany = "comp_21"

func (d *desk) resolveEach(all []uncertainJSON) {
	for _, row := range all {
		d.oneByOne(row.Row, row.Company)
	}
}

func (d *desk) resolveByEvents(all []uncertainJSON) {
	d.tell(certainCompany, true)
	left := strings.TrimSpace(d.do(exitDone, "resolve", d.batch, "--json", "--no-links"))
	if n := strings.Count(left, "\n") + 1; n != lostAnswers/2 {
		d.Errorf("%d rows are left, want %d", n, lostAnswers/2)
	}
	for _, row := range all {
		if d.order(row.Company) == "" {
			d.oneByOne(row.Row, row.Company)
		}
	}
}

func (d *desk) resolveByAcceptedEvents([]uncertainJSON) {
	d.tell(certainCompany, false)
	for _, row := range d.list() {
		if len(row.Evidence) != lostAnswers/2 || len(row.Evidence[0].Also) != lostAnswers-1 {
			d.Fatalf("evidence for row %d: %+v", row.Row, row.Evidence)
		}
		at := slices.IndexFunc(row.Evidence, func(e candidateJSON) bool { return e.Order == d.order(row.Company) })
		if at >= 0 {
			defer d.do(exitDone, strings.Fields(row.Evidence[at].Accept)[1:]...)
			continue
		}
		mark := []string{"resolve", "mark", fmt.Sprintf("%s:%d", d.batch, row.Row), "not-placed"}
		d.do(exitFailed, mark...) // some evidence contradicts it
		d.do(exitDone, append(mark, "--yes")...)
	}
}

func (d *desk) list() []uncertainJSON {
	d.Helper()
	var all []uncertainJSON
	for dec := json.NewDecoder(strings.NewReader(d.do(exitDone, "resolve", "--json"))); dec.More(); {
		var row uncertainJSON
		if err := dec.Decode(&row); err != nil {
			d.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}
