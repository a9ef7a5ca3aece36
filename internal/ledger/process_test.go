package ledger_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// TestMain lets the test binary be a process that dies.
func TestMain(m *testing.M) {
	if dir := os.Getenv("LEDGER_CHILD_DIR"); dir != "" {
		child(dir)
	}
	os.Exit(m.Run())
}

// child begins the first row of batch a, begins and places the second, and says
// so, each only after the ledger has; then it waits to be killed.
func child(dir string) {
	t := context.Background()
	l, err := ledger.Open(t, ledger.Config{Dir: dir, DatabaseURL: os.Getenv("LEDGER_CHILD_DATABASE")})
	if err != nil {
		panic(err)
	}
	var said []string
	for r, err := range l.Rows(t, "a") {
		if err != nil {
			panic(err)
		}
		begun, err := l.Begin(t, intent(r))
		if err != nil || begun.Attempt == 0 {
			panic(fmt.Sprint(begun, err))
		}
		said = append(said, "began")
		if len(said) > 1 {
			if err := l.RecordOutcome(t, outcome(r, begun.Attempt, filing.Accepted)); err != nil {
				panic(err)
			}
			said = append(said, "placed")
		}
	}
	fmt.Println(strings.Join(said, " "))
	select {}
}

// killed runs child on the store's first batch and kills it.
func (s *suite) killed() {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "LEDGER_CHILD_DIR="+s.config.Dir, "LEDGER_CHILD_DATABASE="+s.config.DatabaseURL)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	s.must(err)
	if line != "began began placed\n" {
		s.Fatalf("the child said %q", line)
	}
	s.must(cmd.Process.Kill())
	_ = cmd.Wait()
}

// A caller is answered only after its commit: what a killed process was told is
// there. And a process killed on this machine is known to be dead at once, by
// every other that looks, however often.
func TestKilledProcess(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		s.config.Clock = nil // the child's clock is the wall's
		l, other := s.open(), s.open()
		rows := s.add(l, "a", reports("a", 2)...)
		s.killed()
		s.want(l, rows[0], filing.Placing, cost)
		s.want(l, rows[1], filing.Placed, 0)
		for range 2 { // the first to look may have died before it changed anything
			for _, l := range []*ledger.Ledger{l, other} {
				orphans, err := l.Fleet().CollectOrphans(s.Context())
				if err != nil || len(orphans) != 1 || orphans[0].ID != rows[0].ID || orphans[0].Request == nil {
					s.Fatalf("%+v, %v", orphans, err)
				}
			}
		}
		if n := s.sweep(other); n != 1 {
			s.Fatalf("%d orphans", n)
		}
		s.want(l, rows[0], filing.Uncertain, cost)
		if n := s.sweep(l) + s.sweep(l); n != 0 {
			s.Fatalf("%d orphans left", n)
		}
		var owners int
		s.must(s.sql().QueryRowContext(s.Context(), `SELECT COUNT(*) FROM processes`).Scan(&owners))
		locks, err := os.ReadDir(s.config.Dir + "/locks")
		if err != nil || owners != 2 ||
			len(locks) > 5 { // the two of the living, that of the migration, and those of the turns
			s.Errorf("%d owners and %d locks are left of the dead, %v", owners, len(locks), err)
		}
	})
}

// A living process on this machine is never robbed, however slow it is: its
// lock says so when its lease no longer does.
func TestSlowProcessIsNotRobbed(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		slow, other := s.open(), s.open()
		rows := s.add(slow, "a", reports("a", 2)...)
		s.send(slow, rows[0])
		s.pass(48 * time.Hour) // twice the lease
		if n := s.sweep(other); n != 0 {
			s.Fatal("robbed")
		}
		if _, err := slow.Begin(s.Context(), intent(rows[1])); err == nil {
			s.Error("a process without a lease began to send")
		}
		s.answer(slow, rows[0], filing.Accepted)
		s.want(slow, rows[0], filing.Placed, 0)
	})
}

// A process on another machine is dead when its lease has run out, not before.
func TestLeaseOfAnotherMachine(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		far, near := s.open(), s.open()
		rows := s.add(far, "a", reports("a", 1)...)
		s.send(far, rows[0])
		s.exec(`UPDATE processes SET host = 'elsewhere' WHERE id = (SELECT owner FROM rows WHERE result = 'placing')`)
		s.pass(24*time.Hour - time.Millisecond)
		if n := s.sweep(near); n != 0 {
			s.Fatal("robbed before its lease ran out")
		}
		s.pass(time.Millisecond)
		if n := s.sweep(near); n != 1 {
			s.Fatal("not settled after its lease ran out")
		}
		s.want(near, rows[0], filing.Uncertain, cost)
	})
}

// The lease is renewed while the process lives.
func TestLeaseIsRenewed(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		s.config.Lease, s.config.Clock = 60*time.Millisecond, nil
		l := s.open()
		var first, now int64
		db := s.sql()
		read := func(to *int64) {
			s.must(db.QueryRowContext(s.Context(), `SELECT MAX(expires_at) FROM processes`).Scan(to))
		}
		read(&first)
		for deadline := time.Now().Add(2 * time.Minute); now <= first+60; read(&now) {
			if time.Now().After(deadline) {
				s.Fatal("the lease is not renewed")
			}
		}
		s.exec(`DELETE FROM processes`) // taken for dead: it comes back to the list by itself
		for deadline := time.Now().Add(2 * time.Minute); ; {
			var n int
			s.must(db.QueryRowContext(s.Context(), `SELECT COUNT(*) FROM processes`).Scan(&n))
			if n == 1 {
				break
			}
			if time.Now().After(deadline) {
				s.Fatal("a living process does not come back")
			}
		}
		s.must(l.Close())
	})
}

// A lease counts from its commit: a renewal that the database did not commit gives no time to send.
func TestMaySend_RenewalThatIsNotCommitted(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		renew := func() error { return l.Fleet().Announce(ctx, "worker", true) }
		s.exec(`DELETE FROM processes`)
		s.exec(`CREATE TABLE absent (id INTEGER PRIMARY KEY)`)
		s.exec(`ALTER TABLE processes ADD COLUMN absent INTEGER DEFAULT 1
			REFERENCES absent (id) DEFERRABLE INITIALLY DEFERRED`)
		s.pass(16 * time.Hour) // a third of the lease is left
		if err := renew(); !errors.Is(err, store.ErrCommit) || l.Fleet().MaySend() {
			s.Errorf("%v, and may send: %t", err, l.Fleet().MaySend())
		}
		s.exec(`INSERT INTO absent (id) VALUES (1)`)
		if err := renew(); err != nil || !l.Fleet().MaySend() {
			s.Errorf("%v, and may send: %t", err, l.Fleet().MaySend())
		}
	})
}

// The true answer of a process that was given up for dead settles what was
// uncertain.
func TestLateAnswer(t *testing.T) {
	for _, c := range []struct {
		class  filing.AnswerKind
		result filing.Result
		held   bool
	}{
		{filing.Accepted, filing.Placed, false},
		{filing.Refused, filing.Rejected, false},
		{filing.NoFunds, filing.Ready, false},
		{filing.NoAnswer, filing.Uncertain, true},
		{filing.ServerError, filing.Uncertain, true},
	} {
		t.Run(string(c.class), func(t *testing.T) {
			onBothDatabases(t, func(s *suite) {
				slow, l := s.open(), s.open()
				row := s.add(l, "a", reports("a", 1)...)[0]
				s.send(slow, row)
				s.exec(`UPDATE processes
					SET host = 'elsewhere', expires_at = 0
					WHERE id = (SELECT owner FROM rows WHERE result = 'placing')`)
				if n := s.sweep(l); n != 1 {
					s.Fatalf("%d orphans", n)
				}
				if _, err := slow.Begin(s.Context(), intent(row)); err == nil {
					s.Error("a process that was struck off began to send")
				}
				s.must(slow.RecordOutcome(s.Context(), outcome(row, 1, c.class)))
				s.want(l, row, c.result, map[bool]money.Cents{true: cost}[c.held])
			})
		})
	}
}

// A late answer outweighs what was decided meanwhile, and what it bought besides
// a repetition is bought, too.
func TestLateAnswerToARowThatWentOn(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		slow, l := s.open(), s.open()
		rows := s.add(l, "a", report("comp_1", "2026"), agentOrder("comp_1"))
		for _, r := range rows {
			s.send(slow, r)
		}
		s.must(slow.RecordOutcome(s.Context(), outcome(rows[0], 1, filing.NoAnswer)))
		s.must(slow.RecordOutcome(s.Context(), outcome(rows[1], 1, filing.NoAnswer)))
		s.must(l.Resolutions().MarkPlaced(s.Context(), rows[0].ID, 0, []string{"order_seen"}, "seen"))
		s.send(l, rows[1]) // in doubt, sent again by another process
		for _, r := range rows {
			s.must(slow.RecordOutcome(s.Context(), outcome(r, 1, filing.Accepted)))
		}
		if r := s.want(l, rows[0], filing.Placed, 0); len(r.Items) != 1 || r.Items[0].OrderID == "order_seen" {
			s.Errorf("the answer names the order, not who guessed: %+v", r.Items)
		}
		s.want(l, rows[1], filing.Placing, cost)
		if r := s.answer(l, rows[1], filing.Accepted); r.Result != filing.Placed || len(r.Items) != 2 ||
			!strings.Contains(r.Message, "bought twice by this row") {
			s.Errorf("%s: %s %+v", r.Result, r.Message, r.Items)
		}
		if b := s.book(l); b.Posted != 3*cost || b.Reserved != 0 {
			s.Errorf("%+v", b)
		}
		// A sweeper that read its orphans long ago changes nothing either.
		stale := outcome(rows[1], 2, filing.NoAnswer)
		s.must(l.RecordOutcome(s.Context(), stale))
		var class string
		s.must(s.sql().QueryRowContext(s.Context(), `SELECT outcome FROM attempts WHERE row = $1 AND number = 2`,
			rows[1].ID).Scan(&class))
		if class != string(filing.Accepted) {
			s.Errorf("the record of the attempt says %s", class)
		}
	})
}

// Any number of processes may open a new ledger at the same moment.
func TestTenProcessesMigrate(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a test of several processes in short mode")
	}
	onBothDatabases(t, func(s *suite) {
		var opening sync.WaitGroup
		ledgers := make([]*ledger.Ledger, 10)
		errs := make([]error, len(ledgers))
		for i := range ledgers {
			opening.Go(func() { ledgers[i], errs[i] = ledger.Open(s.Context(), s.config) })
		}
		opening.Wait()
		s.must(errors.Join(errs...))
		for _, l := range ledgers {
			s.must(l.Close())
		}
	})
}

// Of the other living processes those count that place.
func TestOthers(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		count := func(want int) {
			s.Helper()
			if n, err := l.Fleet().CountOthers(s.Context()); err != nil || n != want {
				s.Errorf("%d others (%v), want %d", n, err, want)
			}
		}
		s.must(l.Fleet().Announce(s.Context(), "run", true))
		count(0)
		other := s.open()
		count(0) // it did not say that it places
		s.must(other.Fleet().Announce(s.Context(), "worker", true))
		count(1)
		s.must(other.Fleet().Announce(s.Context(), "serve", false))
		count(0)
		s.must(other.Fleet().Announce(s.Context(), "serve", true))
		count(1)
		s.must(other.Close())
		count(0)
	})
}

func TestProcesses(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		ctx, worker := s.Context(), s.open()
		s.must(worker.Fleet().Announce(ctx, "worker", true))
		s.pass(time.Second)
		page := s.open()
		s.must(page.Fleet().Announce(ctx, "serve", false))
		rows := s.add(worker, "b", reports("b", 3)...)
		s.send(worker, rows[0])
		s.send(worker, rows[1])
		s.place(worker, rows[2])
		all, err := page.Fleet().Processes(ctx)
		if err != nil || len(all) != 2 {
			s.Fatalf("%+v, %v", all, err)
		}
		w, p := all[0], all[1]
		if w.What != "worker" || !w.Places || !w.Alive || w.Placing != 2 || w.PID != os.Getpid() || w.Host == "" ||
			!w.StartedAt.Equal(s.clock().Add(-time.Second)) || !w.ExpiresAt.After(s.clock()) {
			s.Errorf("%+v", w)
		}
		if p.What != "serve" || p.Places || !p.Alive || p.Placing != 0 || p.ID == w.ID {
			s.Errorf("%+v", p)
		}
		s.exec(`UPDATE processes SET host = 'elsewhere', expires_at = 0 WHERE id = $1`, w.ID)
		if all, err := page.Fleet().Processes(ctx); err != nil || len(all) != 2 || all[0].Alive || all[0].Placing != 2 {
			s.Errorf("%+v, %v", all, err)
		}
		s.must(worker.Fleet().Announce(ctx, "worker", true)) // it was only silent
		if all, err := page.Fleet().Processes(ctx); err != nil || len(all) != 2 || !all[0].ExpiresAt.After(s.clock()) {
			s.Errorf("%+v, %v", all, err)
		}
	})
}

// A repeatable order that a dead process left is not sent before its request has
// ended: the time-out that counts is that of the process that sent it.
func TestRepeatableOrderWaitsForTheTimeOut(t *testing.T) {
	for _, c := range []struct {
		name  string
		ended string // the statement that makes the process a dead one
		after time.Duration
	}{
		{"killed", "", 45 * time.Second},
		{"silent", `UPDATE processes SET host = 'elsewhere', expires_at = expires_at - 86390000 WHERE timeout = 45000`,
			10*time.Second + 45*time.Second},
		{"not on the list", `DELETE FROM processes WHERE timeout = 45000`, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBothDatabases(t, func(s *suite) {
				s.config.Timeout = 5 * time.Second
				l := s.open()
				s.config.Timeout = 45 * time.Second
				dead := s.open()
				row := s.add(l, "a", agentOrder("comp_1"))[0]
				s.send(dead, row)
				began := s.clock()
				s.pass(5 * time.Second)
				if c.ended == "" {
					s.must(dead.Close()) // in the middle of an order
				} else {
					s.exec(c.ended)
				}
				s.pass(5 * time.Second)
				if n := s.sweep(l); n != 1 {
					s.Fatalf("%d orphans", n)
				}
				s.want(l, row, filing.Ready, cost)
				s.pass(began.Add(c.after - time.Millisecond).Sub(s.clock()))
				if begun := s.begin(l, intent(s.row(l, row.ID))); begun.Attempt != 0 || !begun.Lost {
					s.Fatalf("sent while the first request may be at work: %+v", begun)
				}
				s.pass(time.Millisecond)
				s.send(l, row)
				s.answer(l, row, filing.Accepted)
			})
		})
	}
}

// A process that stood still knows that it may have been given up for dead.
func TestProcessThatStoodStillMayNotSend(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		s.config.Lease = 9 * time.Hour
		l := s.open()
		for _, c := range []struct {
			after time.Duration
			may   bool
		}{{0, true}, {6*time.Hour - time.Second, true}, {time.Second, false}, {12 * time.Hour, false}} {
			if s.pass(c.after); l.Fleet().MaySend() != c.may {
				s.Errorf("%s later: %v", c.after, !c.may)
			}
		}
		s.must(l.Fleet().Announce(s.Context(), "worker", true)) // which renews the lease
		if !l.Fleet().MaySend() {
			s.Error("its lease is renewed")
		}
	})
}
