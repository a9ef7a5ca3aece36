package jobs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
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
	Stop                             boundary // where it halts and says so; empty for a run to the end

	Firing time.Time // fire the seasons due by then instead,
	Quotes int       // and halt at this quote
}

// run places the batch. It says "reached" at its boundary and then waits to be
// killed, and "ended" with the reason when there is nothing left to do.
func (c child) run() error {
	ctx := context.Background()
	l, err := ledger.Open(ctx, ledger.Config{
		Dir:          c.Dir,
		DatabaseURL:  c.Database,
		SealKey:      sealKey(c.Database),
		RepeatAgents: true,
		Timeout:      clientTimeout,
	})
	if err != nil {
		return err
	}
	queue, err := jobs.OpenQueue(c.Redis)
	if err != nil {
		return err
	}
	client, err := newClient(c.URL, clientTimeout)
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
	end, err := w.Await(ctx, c.Batch, patient)
	if err != nil {
		return err
	}
	if c.Stop == afterSettle {
		halt()
	}
	w.Stop()
	fmt.Println("ended", end.Reason)
	return l.Close()
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

// process starts a child on a batch; what it says comes line by line.
func (f *firm) process(batch string, stop boundary) (*exec.Cmd, <-chan string) {
	f.Helper()
	return f.spawn(child{
		Dir:      f.dir,
		Database: f.servers.database,
		Redis:    f.servers.redis,
		URL:      f.url,
		Batch:    batch,
		Stop:     stop,
	})
}

func (f *firm) spawn(c child) (*exec.Cmd, <-chan string) {
	f.Helper()
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
		for s := bufio.NewScanner(io.Reader(out)); s.Scan(); {
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
				f := newFirm(t, on, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
				l := f.openLedger()
				for batch, kind := range map[string]*filing.Request{"a": report(1), "b": agentChange(2)} {
					kind.User = filing.UserRef{Email: batch + "@example.com"} // a look-up before the intent
					f.add(l, batch, kind)
					f.killAt(c.stop, batch, kind.Company.Ref)
					before := f.rows(l, batch)[0]
					switch want := map[boundary]filing.Result{
						beforeIntent: filing.Ready,
						afterSettle:  filing.Placed,
					}[c.stop]; {
					case want == "" && before.Result != filing.Placing, want != "" && before.Result != want:
						t.Errorf("the killed process left the row %s", before.Result)
					}
					if end := f.run(l, batch, patient); end.Reason != jobs.Finished {
						t.Errorf("%+v", end)
					}
				}
				f.want(l, "a", ledger.Counts{c.once: 1})
				f.want(l, "b", ledger.Counts{filing.Placed: 1})
				if r := f.rows(l, "b")[0]; r.Tries != c.tries || r.Uncertain {
					t.Errorf("%+v", r)
				}
				f.agree(l, "a", "b")
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
	cmd, said := f.process(batch, stop)
	if stop == beforeAnswer {
		f.eventually("the order is made", func() bool { return len(f.service.Books().Orders) > orders })
	} else if line := <-said; line != "reached" {
		f.Fatalf("the child said %q", line)
	}
	f.must(cmd.Process.Kill())
	_ = cmd.Wait()
}

// killAtWork kills a process that places batch a, a random moment after it began
// to send. It reports false where the process ended before.
func (f *firm) killAtWork(random *rand.Rand) bool {
	f.Helper()
	sent := len(f.seen("POST", "/v1/orders"))
	cmd, said := f.process("a", "")
	// Let it get to work before its moment comes.
	working := make(chan struct{})
	go func() {
		defer close(working)
		for deadline := time.Now().Add(2 * time.Minute); len(f.seen("POST", "/v1/orders")) == sent &&
			time.Now().Before(deadline); {
			time.Sleep(time.Millisecond) // between two looks
		}
	}()
	select {
	case <-working:
	case line := <-said:
		if !strings.HasPrefix(line, "ended") {
			f.Fatalf("the child said %q", line)
		}
	}
	timer := time.NewTimer(time.Duration(random.IntN(30)) * time.Millisecond)
	<-timer.C
	f.must(cmd.Process.Kill())
	return cmd.Wait() != nil
}

// Fifteen kills at random moments of a batch, then a run to the end: nothing is
// bought twice, every row has its answer, no more rows are uncertain than orders
// were in flight, and the books agree to the cent.
func TestKilledAtRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a test of several processes in short mode")
	}
	t.Parallel()
	const rows, kills = 300, 15
	onBothTransports(t, func(t *testing.T, on servers) {
		seed := uint64(time.Now().UnixNano())
		random := rand.New(rand.NewPCG(seed, 0))
		t.Logf("seed %d", seed)
		f := newFirm(t, on, sandbox.Config{
			OpeningBalance: rich,
			AutoSeed:       true,
			Latency:        10 * time.Millisecond,
			Jitter:         10 * time.Millisecond,
		})
		l := f.openLedger()
		f.add(l, "a", requests(rows, report, reportAndAgent, reportWithAgent, agentChange)...)
		killed := 0
		for killed < kills && f.killAtWork(random) {
			killed++
		}
		if killed < 8 {
			t.Errorf("only %d kills", killed)
		}
		if end := f.run(l, "a", patient); end.Reason != jobs.Finished {
			t.Fatalf("%+v", end)
		}
		counts, err := l.Counts(t.Context(), "a")
		f.must(err)
		t.Logf("%d kills: %v", killed, counts)
		if counts[filing.Placed]+counts[filing.Uncertain] != rows || counts[filing.Uncertain] > killed*flying {
			t.Errorf("%v after %d kills", counts, killed)
		}
		f.agree(l, "a")
		for _, r := range f.rows(l, "a") {
			if r.Result == filing.Uncertain && r.Request.Order.Repeatable(true) && r.Attempts < 8 {
				t.Errorf("row %d may be sent again, and was left to a person", r.Number)
			}
		}
	})
}
