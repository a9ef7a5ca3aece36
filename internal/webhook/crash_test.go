package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/nettest"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

var discard = slog.New(slog.DiscardHandler)

// TestMain lets the test binary be a receiver that is killed.
func TestMain(m *testing.M) {
	if told := os.Getenv("WEBHOOK_CHILD"); told != "" {
		var c child
		err := json.Unmarshal([]byte(told), &c)
		if err == nil {
			err = c.run()
		}
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child is what a receiver's process is told.
type child struct {
	Dir, Database, Address string
	Halt                   bool // instead of applying anything
}

// run receives until it is killed. It says "listening", and "halted" where it
// was about to apply an event.
func (c child) run() error {
	ctx := context.Background()
	l, err := ledger.Open(ctx, ledger.Config{Dir: c.Dir, DatabaseURL: c.Database})
	if err != nil {
		return err
	}
	var s eventStore = l.Events()
	if c.Halt {
		s = halting{l.Events()}
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	rc, applier := webhook.Handler(s, webhook.NewHMAC(webhook.Secrets(l.Endpoints(), nil)), log)
	listener, err := net.Listen("tcp", c.Address)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	go applier.Run(ctx)
	return http.Serve(listener, rc)
}

// eventStore is the part of the ledger that a receiver needs.
type eventStore interface {
	Keep(ctx context.Context, e filing.Event, body []byte) (bool, error)
	KeepUnreadable(ctx context.Context, body []byte, why string) (bool, error)
	Apply(ctx context.Context) (int, error)
}

// halting stores events and never comes to apply them.
type halting struct{ ledger.Events }

func (h halting) Apply(ctx context.Context) (int, error) {
	events, err := h.List(ctx, ledger.EventNew, 1)
	if err == nil && len(events) == 0 {
		return 0, nil
	}
	fmt.Println("halted", err)
	select {}
}

// process starts a receiver at an address and waits until it listens; what it
// says then comes line by line.
func (s *store) process(address string, halt bool) (*exec.Cmd, <-chan string) {
	s.Helper()
	told, err := json.Marshal(child{s.config.Dir, s.config.DatabaseURL, address, halt})
	s.must(err)
	cmd := exec.CommandContext(s.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "WEBHOOK_CHILD="+string(told))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	said := make(chan string, 4)
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			said <- lines.Text()
		}
	}()
	if line := <-said; line != "listening" {
		s.Fatalf("the child said %q", line)
	}
	return cmd, said
}

func (s *store) kill(cmd *exec.Cmd) {
	s.Helper()
	s.must(cmd.Process.Kill())
	_ = cmd.Wait()
}

// post delivers a body once; 0 where there was no answer.
func post(client *http.Client, url, body, signature string) int {
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0
	}
	if signature != "" {
		r.Header.Set(webhook.SignatureHeader, signature)
	}
	got, err := client.Do(r)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, got.Body)
	got.Body.Close()
	return got.StatusCode
}

// An event that was answered with 200 is applied by the next process if the one
// that stored it dies first.
func TestKilledBetweenStoreAndApply(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l := s.open()
		s.must(l.Endpoints().Set(s.Context(), ledger.Endpoint{ID: "we_1"}, secret))
		s.place(l, s.add(l, 1))
		address := nettest.Free()
		cmd, said := s.process(address, true)
		for _, body := range []string{status(2, 9, "filed"), document(2)} {
			if got := post(http.DefaultClient, "http://"+address, body, sign(secret, body)); got != 200 {
				s.Fatalf("%d", got)
			}
		}
		if line := <-said; line != "halted <nil>" {
			s.Fatalf("the child said %q", line)
		}
		s.kill(cmd)
		if r := s.rows(l)[0]; r.Items[0].FilingStatus != "submitted" {
			s.Errorf("applied before its time: %+v", r.Items)
		}
		ctx, stop := context.WithCancel(s.Context())
		defer stop()
		_, applier := webhook.Handler(l.Events(), nil, discard)
		go applier.Run(ctx)
		for deadline := time.Now().Add(2 * time.Minute); s.rows(l)[0].Items[0].FilingStatus != "filed" &&
			time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond) // between two looks
		}
		s.wantFiled(l, 1)
	})
}

// twiceInReverse are three events of each row, twice, the newest first.
func twiceInReverse(rows []ledger.Row) (told []string) {
	for _, say := range []func(int) string{
		func(n int) string { return status(n, 8, "pending") }, func(n int) string { return status(n, 9, "filed") },
		document,
	} {
		for _, r := range rows {
			told = append(told, say(r.Number))
		}
	}
	slices.Reverse(told)
	return append(told, told...)
}

// deliver sends a body until it is answered, as the filing service does, and
// returns the number of repetitions.
func (s *store) deliver(client *http.Client, address, body, signature string, want int) (again int64) {
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		switch got := post(client, address, body, signature); {
		case got == want:
			return again
		case got != 0 && got != 503 || time.Now().After(deadline):
			s.Errorf("%.80s: %d, want %d", body, got, want)
			return again
		}
		again++
	}
}

// wantEvents checks that the events of all orders are stored, beside unreadable
// ones, and no forged one.
func (s *store) wantEvents(l *ledger.Ledger, want int) {
	s.Helper()
	events, err := l.Events().List(s.Context(), "", 4*want)
	s.must(err)
	unreadable := 0
	for _, e := range events {
		if e.State == ledger.EventUnreadable {
			unreadable++
		}
		if strings.Contains(e.ID, "forged") {
			s.Errorf("a forged event is stored: %s", e.ID)
		}
	}
	if len(events)-unreadable != want || unreadable == 0 {
		s.Errorf("%d events and %d unreadable, want %d", len(events)-unreadable, unreadable, want)
	}
}

// 500 orders of which each is told pending, filed and documented, twice, the
// newest first, with rubbish in between; half of them before their own answers;
// and the receiver is killed and started again three times.
func TestEverythingTwiceInReverse(t *testing.T) {
	const kills = 3
	orders := 500
	if racing {
		orders = 100
	}
	onBothDatabases(t, func(s *store) {
		l := s.open()
		s.must(l.Endpoints().Set(s.Context(), ledger.Endpoint{ID: "we_1"}, secret))
		rows := s.add(l, orders)
		s.place(l, rows[:orders/2])

		told := twiceInReverse(rows)
		address := nettest.Free()
		client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
		defer client.CloseIdleConnections()
		huge := string(bytes.Repeat([]byte("x"), 10<<20))
		var done, again atomic.Int64
		deliver := func(body, signature string, want int) {
			again.Add(s.deliver(client, "http://"+address, body, signature, want))
		}
		work := make(chan int)
		var senders sync.WaitGroup
		for range 16 {
			senders.Go(func() {
				for i := range work {
					deliver(told[i], sign(secret, told[i]), 200)
					switch {
					case i%10 == 0:
						deliver(told[i], sign("whsec_other", told[i]), 401)
						deliver(strings.Replace(told[i], "evt_", "evt_forged_", 1), "", 401)
					case i%10 == 5:
						rubbish := told[i][:len(told[i])/2]
						deliver(rubbish, sign(secret, rubbish), 400)
					case i%1000 == 1:
						post(client, "http://"+address, huge,
							sign(secret, huge)) // 413, or cut off before it could be said
					}
					done.Add(1)
				}
			})
		}
		go func() {
			defer close(work)
			for i := range told {
				work <- i
			}
		}()
		for kill := range kills {
			cmd, _ := s.process(address, false)
			for part := int64(len(told) * (kill + 1) / (kills + 1)); done.Load() < part; {
				time.Sleep(time.Millisecond) // between two looks
			}
			s.kill(cmd)
		}
		cmd, _ := s.process(address, false)
		s.place(l, rows[orders/2:]) // answered last
		senders.Wait()
		s.kill(cmd)
		s.drain(l)

		s.wantFiled(l, orders)
		s.wantEvents(l, 3*orders)
		s.Logf("%d deliveries were sent again", again.Load())
	})
}
