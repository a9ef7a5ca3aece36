package jobs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
)

// TestMain lets the test binary be a process that places a batch and is killed.
func TestMain(m *testing.M) {
	if told := os.Getenv("JOBS_CHILD"); told != "" {
		var c child
		err := json.Unmarshal([]byte(told), &c)
		if err == nil {
			err = c.run()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The tests wait for answers and leases more than they compute.
	_ = flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	os.Exit(m.Run())
}

// boundary is a moment of the placer at which a process dies.
type boundary string

const (
	beforeIntent boundary = "before the intent is committed"
	beforeSend   boundary = "after the intent, before the order is sent"
	beforeAnswer boundary = "after the order is made, before its answer"
	beforeSettle boundary = "after the answer, before it is committed"
	afterSettle  boundary = "after the answer is committed"
)

// child is what a process is told.
type child struct {
	Dir, Database, Redis, URL, Batch string
	Stop                             boundary // where it halts and says so

	Firing time.Time // fire the seasons due by then instead,
	Quotes int       // and halt at this quote
}

// run places the batch. It says "reached" at its boundary, or when there is nothing
// left to do, and then waits to be killed.
func (c child) run() error {
	ctx := context.Background()
	l, err := ledger.Open(ctx, ledgerConfig(c.Dir, servers{database: c.Database}))
	if err != nil {
		return err
	}
	queue, err := jobs.OpenQueue(c.Redis)
	if err != nil {
		return err
	}
	client, err := newClient(c.URL, time.Minute)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.Dir, "fees")
	if err != nil {
		return err
	}
	quoter, err := newQuoter(dir)
	if err != nil {
		return err
	}
	if !c.Firing.IsZero() {
		return schedule.New(schedule.Config{
			Ledger: l, Now: func() time.Time { return c.Firing },
			Quoter: func(context.Context) (pricing.Quoter, error) { return &halting{quoter, c.Quotes}, nil },
		}).RunDue(ctx)
	}
	w, err := jobs.Start(ctx, jobs.Config{
		Service:      &doomed{Service: client, stop: c.Stop},
		Ledger:       l,
		Queue:        queue,
		Quoter:       quoter,
		Concurrency:  flying,
		Batch:        c.Batch,
		DrainTimeout: 10 * time.Second,
	})
	if err != nil {
		return err
	}
	if _, err = w.Await(ctx, c.Batch, patient); err == nil {
		halt()
	}
	return err
}

// doomed halts at a boundary that lies within the service's reach.
type doomed struct {
	jobs.Service
	stop boundary
}

func halt() {
	fmt.Println("reached")
	select {}
}

func (s *doomed) Company(ctx context.Context, ref string) (filing.Company, error) {
	if s.stop == beforeIntent {
		halt()
	}
	return s.Service.Company(ctx, ref)
}

func (s *doomed) User(ctx context.Context, ref string) (filing.User, error) {
	if s.stop == beforeIntent {
		halt()
	}
	return s.Service.User(ctx, ref)
}

func (s *doomed) PlaceOrder(ctx context.Context, o *filing.Order) filing.Answer {
	if s.stop == beforeSend {
		halt()
	}
	a := s.Service.PlaceOrder(ctx, o)
	if s.stop == beforeSettle {
		halt()
	}
	return a
}

// spawn starts a child over the firm's ledger; what it says comes line by line.
func (f *firm) spawn(c child) (*exec.Cmd, <-chan string) {
	f.Helper()
	c.Dir, c.Database, c.Redis, c.URL = f.dir, f.servers.database, f.servers.redis, f.url
	told, err := json.Marshal(c)
	f.must(err)
	cmd := exec.CommandContext(f.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "JOBS_CHILD="+string(told))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	f.must(err)
	f.must(cmd.Start())
	lines := make(chan string, 8)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return cmd, lines
}

// A process that is killed at each boundary of the placer: what was not sent is
// sent, what may have been is sent again only where that is harmless, and
// nothing is bought twice.
func TestKilledAtEachBoundary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stop  boundary
		once  filing.Result // what becomes of an annual report
		tries int           // of the order that may be sent again
	}{
		{beforeIntent, filing.Placed, 1},
		{beforeSend, filing.Uncertain, 2},
		{beforeAnswer, filing.Uncertain, 2},
		{beforeSettle, filing.Uncertain, 2},
		{afterSettle, filing.Placed, 1},
	} {
		t.Run(string(c.stop), func(t *testing.T) {
			t.Parallel()
			onBothTransports(t, func(t *testing.T, on servers) {
				f := newFirm(t, on, sandbox.Config{AutoSeed: true})
				for batch, kind := range map[string]*filing.Request{"a": report(1), "b": agentChange(2)} {
					kind.User = filing.UserRef{Email: batch + "@example.com"} // a look-up before the intent
					f.add(batch, kind)
					f.killAt(c.stop, batch, kind.Company.Ref)
					before := f.rows(batch)[0]
					switch want := map[boundary]filing.Result{
						beforeIntent: filing.Ready,
						afterSettle:  filing.Placed,
					}[c.stop]; {
					case want == "" && before.Result != filing.Placing, want != "" && before.Result != want:
						t.Errorf("the killed process left the row %s", before.Result)
					}
					f.finish(batch)
				}
				f.want("a", ledger.Counts{c.once: 1})
				f.want("b", ledger.Counts{filing.Placed: 1})
				if r := f.rows("b")[0]; r.Tries != c.tries || r.Uncertain {
					t.Errorf("%+v", r)
				}
				f.agree("a", "b")
			})
		})
	}
}

// killAt kills a process that places a batch of one row, at a boundary.
func (f *firm) killAt(stop boundary, batch, company string) {
	f.Helper()
	orders := len(f.service.Books().Orders)
	if stop == beforeAnswer {
		f.service.Inject(sandbox.Fault{
			Kind:    sandbox.FaultTimeout,
			After:   true,
			Company: company,
			Times:   1,
		})
	}
	cmd, said := f.spawn(child{Batch: batch, Stop: stop})
	if stop == beforeAnswer {
		f.eventually("the order is made", func() bool { return len(f.service.Books().Orders) > orders })
	} else if line := <-said; line != "reached" {
		f.Fatalf("the child said %q", line)
	}
	f.must(cmd.Process.Kill())
	_ = cmd.Wait()
}
