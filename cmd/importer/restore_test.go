package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// restoredOrders is how many orders the test below places.
const restoredOrders = 320

// A backup is made in the middle of a run of a real process, which goes on and is
// killed. The ledger of the backup sends nothing: neither a worker's process nor a run
// does. Events, the dashboard and a person say what became of the rows, and then the
// rest is placed: no company is bought twice, and the books of the filing service and
// of the ledger agree to the cent.
func TestRestoredInTheMiddleOfARun(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a test of hundreds of orders in short mode")
	}
	d := newDesk(t)
	d.service.Deposit(100_000_00)
	d.env["WORKER_CONCURRENCY"] = "16"
	list := filepath.Join(d.dir, "roster.csv")
	text := "Company ID,Entity Type,Formation State,Filing State,Filing Year,User Email\n"
	for i := range restoredOrders {
		text += fmt.Sprintf("comp_%d,LLC,DE,FL,2026,ana@harborlight.example\n", i+1)
	}
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.do(exitDone, "deposit", "100000")

	running := d.start("run", list, "--yes")
	d.ordered(60)
	file := filepath.Join(d.dir, "half.db")
	d.do(exitDone, "backup", file)
	d.ordered(160)
	d.do(exitFailed, "restore", file, "--yes") // the process has the ledger open
	if err := running.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = running.Wait()
	d.do(exitDone, "restore", file, "--yes")
	sent := len(d.service.Books().Orders)
	if sent < 160 || sent >= restoredOrders {
		t.Fatalf("%d orders", sent)
	}

	d.do(exitUncertain, "run", list, "--yes") // those that were being sent at the backup
	d.do(exitDone, "resolve", "restored", "--yes")
	d.do(exitUncertain, "run", list, "--yes")
	if n := len(d.service.Books().Orders); n != sent {
		t.Fatalf("%d orders after the restore, and %d before", n, sent)
	}
	all := d.list()
	if len(all) < restoredOrders-160 {
		t.Fatalf("%d rows are uncertain", len(all))
	}
	d.batch = all[0].Batch
	d.resolveEach(all)
	d.do(exitStopped, "run", list, "--yes")
	d.do(exitDone, "resolve", "restored", "--end", "--yes")
	d.do(exitDone, "run", list, "--yes")

	books := d.service.Books()
	if len(books.Duplicates()) > 0 || len(books.Orders) != restoredOrders {
		t.Errorf("%d orders, bought twice: %v", len(books.Orders), books.Duplicates())
	}
	d.sameBooks()
}

// A ledger that was restored, and resolved, goes back in time once more, by a copied
// file: a row that was resolved for the first restore and sent after it is checked again.
func TestARolledBackLedgerIsCheckedAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	d := newDesk(t)
	list := d.roster("roster.csv", "comp_1")
	d.service.Inject(sandbox.Fault{Kind: sandbox.FaultStatus, Status: 402, Times: 1})
	d.do(exitStopped, "run", list, "--yes")
	file := filepath.Join(d.dir, "first.db")
	d.do(exitDone, "backup", file)
	d.do(exitDone, "restore", file, "--yes")
	d.do(exitDone, "resolve", "restored", "--yes")
	d.batch = d.list()[0].Batch
	d.do(exitDone, "resolve", "mark", d.batch+":2", "not-placed", "--yes")
	d.do(exitDone, "resolve", "restored", "--end", "--yes")
	goBack := d.keepLedger()
	d.do(exitDone, "run", list, "--yes")

	goBack()
	d.do(exitStopped, "run", list, "--yes")
	d.do(exitDone, "resolve", "restored", "--yes")
	d.do(exitUncertain, "run", list, "--yes")
	if b := d.service.Books(); len(b.Orders) != 1 {
		t.Errorf("%d orders for one company", len(b.Orders))
	}
}

// A ledger file that was copied back holds not only the rows that are ready in it: a
// rejected row may have been placed since, and so may a spreadsheet that it lacks.
func TestARolledBackLedgerHoldsWhatItLacks(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	d := newDesk(t)
	rejected, lost := d.roster("rejected.csv", "comp_1"), d.roster("lost.csv", "comp_2")
	d.service.Inject(sandbox.Fault{Kind: sandbox.FaultStatus, Status: 422, Times: 1})
	var made struct{ Batch string }
	out := strings.TrimSpace(d.do(exitCorrect, "run", rejected, "--yes", "--json"))
	if err := json.Unmarshal([]byte(out[strings.LastIndex(out, "\n")+1:]), &made); err != nil {
		t.Fatal(err)
	}
	batch := made.Batch
	goBack := d.keepLedger()
	d.do(exitDone, "retry", batch)
	d.do(exitDone, "run", rejected, "--yes")
	d.do(exitDone, "run", lost, "--yes")

	goBack()
	for _, of := range []string{rejected, lost} { // they alone would give it away
		if err := os.Remove(strings.TrimSuffix(of, ".csv") + ".results.xlsx"); err != nil {
			t.Fatal(err)
		}
	}
	d.do(exitStopped, "run", lost, "--yes")
	d.do(exitDone, "retry", batch)
	d.do(exitStopped, "run", rejected, "--yes")
	d.do(exitFailed, "resolve", "restored", "--end", "--yes")
	d.do(exitDone, "resolve", "restored", "--yes")
	d.do(exitUncertain, "run", lost, "--yes")
	d.do(exitUncertain, "run", rejected, "--yes")
	d.do(exitDone, "resolve", "restored", "--end", "--yes")
	d.do(exitDone, "run", d.roster("new.csv", "comp_3"), "--yes")
	if b := d.service.Books(); len(b.Orders) != 3 {
		t.Errorf("%d orders for three companies", len(b.Orders))
	}
}

// roster writes a spreadsheet of one company.
func (d *desk) roster(name, company string) string {
	d.Helper()
	file := filepath.Join(d.dir, name)
	text := "Company ID,Entity Type,Formation State,Filing State,Filing Year,User Email\n" +
		company + ",LLC,DE,FL,2026,ana@harborlight.example\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
	return file
}

// keepLedger reads the ledger's file, while no process has it open. The function that it
// returns puts it back.
func (d *desk) keepLedger() (putBack func()) {
	d.Helper()
	file := filepath.Join(sandboxLedger(d.env["FILING_DATA_DIR"]), "ledger.db")
	before, err := os.ReadFile(file)
	if err != nil {
		d.Fatal(err)
	}
	return func() {
		d.Helper()
		for _, beside := range []string{"-wal", "-shm"} {
			if err := os.Remove(file + beside); err != nil && !errors.Is(err, os.ErrNotExist) {
				d.Fatal(err)
			}
		}
		if err := os.WriteFile(file, before, 0o600); err != nil {
			d.Fatal(err)
		}
	}
}

// start starts a command as a process of its own.
func (d *desk) start(args ...string) *exec.Cmd {
	d.Helper()
	c := exec.CommandContext(d.Context(), "importer", args...)
	c.Env = append(os.Environ(), "XDG_CONFIG_HOME="+d.dir)
	for _, name := range slices.Sorted(maps.Keys(d.env)) {
		c.Env = append(c.Env, name+"="+d.env[name])
	}
	c.Dir = d.dir
	var says bytes.Buffer
	c.Stdout, c.Stderr = &says, &says
	if err := c.Start(); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() {
		_ = c.Process.Kill()
		if d.Failed() {
			d.Logf("importer %s: %s", strings.Join(args, " "), &says)
		}
	})
	return c
}

// ordered waits until the filing service has n orders.
func (d *desk) ordered(n int) {
	d.Helper()
	for end := time.Now().Add(2 * time.Minute); len(d.service.Books().Orders) < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			d.Fatalf("%d orders, want %d", len(d.service.Books().Orders), n)
		}
	}
}

// sameBooks compares the orders of the filing service with those of the ledger.
func (d *desk) sameBooks() {
	d.Helper()
	l, err := ledger.Open(d.Context(), ledger.Config{
		Dir: sandboxLedger(d.env["FILING_DATA_DIR"]),
	})
	if err != nil {
		d.Fatal(err)
	}
	err = func() error {
		defer l.Close()
		if err := l.Audit(d.Context()); err != nil {
			return err
		}
		ours := make(map[string]int)
		for row, err := range l.Rows(d.Context(), d.batch) {
			if err != nil {
				return err
			}
			for _, item := range row.Items {
				ours[item.OrderID]++
			}
		}
		for _, item := range d.service.Books().Items() {
			if ours[item.ID] != 1 {
				d.Errorf("order %s is in %d rows", item.ID, ours[item.ID])
			}
			delete(ours, item.ID)
		}
		if len(ours) > 0 {
			d.Errorf("the filing service has none of %v", ours)
		}
		balance, err := l.Balance(d.Context())
		if charged := money.Cents(d.service.Books().Charged); err == nil &&
			(balance.Posted != charged || balance.Reserved != 0) {
			err = fmt.Errorf("the filing service charged %s, and the balance is %+v", charged, balance)
		}
		return err
	}()
	if err = errors.Join(err); err != nil {
		d.Error(err)
	}
}
