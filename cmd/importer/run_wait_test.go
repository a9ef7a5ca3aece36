package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// A run waits for a database that is down, says so once, without a code, and gives
// up when its time is up. Other errors end it at once.
func TestARunWaitsForTheDatabase(t *testing.T) {
	restarts := &pgconn.PgError{Severity: "FATAL", Code: "57P01",
		Message: "terminating connection due to administrator command"}
	const says = "The database is not responding: terminating connection due to administrator command. Waiting for it."
	for name, c := range map[string]struct {
		opts   runOptions
		errs   []error // of the attempts; then none
		took   time.Duration
		gaveUp bool
		says   int
	}{
		"nothing": {opts: runOptions{giveUpAfter: time.Minute}},
		"a restart": {runOptions{giveUpAfter: time.Minute}, []error{restarts, restarts}, 10 * time.Second,
			false, 1},
		"with --wait":    {runOptions{wait: true}, repeated(1000, restarts), 2 * time.Hour, false, 1},
		"for too long":   {runOptions{giveUpAfter: time.Minute}, repeated(1000, restarts), time.Minute, true, 1},
		"something else": {runOptions{giveUpAfter: time.Minute}, []error{errors.New("no such table")}, 0, true, 0},
		"a file": {runOptions{giveUpAfter: time.Minute}, []error{&fs.PathError{Op: "open", Err: syscall.EROFS}}, 0,
			true, 0},
		"the service":     {runOptions{giveUpAfter: time.Minute}, []error{&filingapi.Error{}}, 0, true, 0},
		"a wrong request": {runOptions{giveUpAfter: time.Minute}, []error{&pgconn.PgError{Code: "42P01"}}, 0, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said bytes.Buffer
				w := waiter{&terminal{err: &said}, c.opts.giveUpAfter, c.opts.wait}
				attempts, began := 0, time.Now()
				err := w.throughOutage(t.Context(), func() error {
					if attempts++; attempts <= len(c.errs) {
						return fmt.Errorf("count the rows: %w", c.errs[attempts-1])
					}
					return nil
				})
				if (err != nil) != c.gaveUp || time.Since(began) > c.took {
					t.Errorf("%v after %s and %d attempts", err, time.Since(began), attempts)
				}
				if n := strings.Count(said.String(), says); n != c.says || strings.Contains(said.String(), "57P01") {
					t.Errorf("it said:\n%s", said.String())
				}
			})
		})
	}
}

func repeated(n int, err error) []error {
	all := make([]error, n)
	for i := range all {
		all[i] = err
	}
	return all
}

// What a database that stays down means is said without its codes.
func TestAnOutageInWords(t *testing.T) {
	var said bytes.Buffer
	(&terminal{err: &said}).printError(fmt.Errorf("count the rows: %w",
		&pgconn.PgError{Code: "57P03", Message: "the database system is starting up"}))
	if got := said.String(); !strings.Contains(got, "the database is not responding: the database system is starting "+
		"up. ") || !strings.Contains(got, "Run the same command again") || strings.Contains(got, "57P03") {
		t.Error(got)
	}
}

// runOn runs a spreadsheet of n companies on a database, and returns what it said.
func runOn(t *testing.T, service, database, dir string, n int, o runOptions) (said string, err error) {
	t.Helper()
	file := filepath.Join(dir, "companies.csv")
	text := "Company ID,User ID,Filing State,Filing Year\n"
	for i := range n {
		text += fmt.Sprintf("comp_%d,user_1,DE,2026\n", i)
	}
	must(t, os.WriteFile(file, []byte(text), 0o600))
	env := map[string]string{
		"FILING_BASE_URL": service + "/v1", "FILING_API_KEY": "sk_test_outage", "FILING_DATA_DIR": dir,
		"DATABASE_URL": database, "WORKER_CONCURRENCY": "2", "FILING_TIMEOUT": "1s",
		"FILING_SEAL_KEY": strings.Repeat("5ea1", 16),
	}
	var messages lockedBuffer
	g := newGlobal(nil, &messages, &messages, func(name string) string { return env[name] })
	if err = runRun(t.Context(), o, g, file); err != nil {
		g.terminal.printError(err)
	}
	return messages.String(), err
}

// relay passes connections on to a server until it is cut.
type relay struct {
	net.Listener
	target string

	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

func newRelay(t *testing.T, at, target string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", at)
	must(t, err)
	r := &relay{Listener: l, target: target}
	t.Cleanup(func() {
		l.Close()
		r.set(true)
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.pass(c)
		}
	}()
	return r
}

func (r *relay) pass(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to, err := net.Dial("tcp", r.target)
	if err != nil || r.down {
		c.Close()
		if err == nil {
			to.Close()
		}
		return
	}
	r.conns = append(r.conns, c, to)
	go func() { _, _ = io.Copy(to, c); to.Close() }()
	go func() { _, _ = io.Copy(c, to); c.Close() }()
}

// set cuts all connections, or lets new ones through.
func (r *relay) set(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down = down; !down {
		return
	}
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

// A process that ends while the database is down has nothing to report: its lease ends
// by itself.
func TestCloseWhileTheDatabaseIsDown(t *testing.T) {
	place, err := url.Parse(ledgertest.Schema(t, ledgertest.Server(t)))
	must(t, err)
	database := newRelay(t, "127.0.0.1:0", place.Host)
	place.Host = database.Addr().String()
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: t.TempDir(), DatabaseURL: place.String()})
	must(t, err)
	database.Close() // connections are refused
	database.set(true)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// A run that gives up on the database names the order IDs of the answers that it holds.
// Their rows are uncertain, and are not sent again.
func TestRun_AnswerNotRecorded(t *testing.T) {
	server := ledgertest.Server(t)
	var database *relay
	// The order is in, and the database goes before its answer is out.
	service := sandbox.New(sandbox.Config{OpeningBalance: 1e9, AutoSeed: true})
	defer service.Close()
	serving := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		service.Handler().ServeHTTP(answer, r)
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/orders") {
			database.set(true)
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	defer serving.Close()
	place, err := url.Parse(ledgertest.Schema(t, server))
	must(t, err)
	database = newRelay(t, "127.0.0.1:0", place.Host)
	place.Host = database.Addr().String()
	dir := t.TempDir()
	run := func() (said string, err error) {
		return runOn(t, serving.URL, place.String(), dir, 1, runOptions{yes: true, giveUpAfter: time.Second})
	}
	said, err := run()
	items := service.Books().Items()
	if err == nil || len(items) != 1 {
		t.Fatalf("%v, %d orders:\n%s", err, len(items), said)
	}
	for _, want := range []string{"The answer for row 2 is not recorded",
		"1 answer of the filing service could not be recorded", "row 2 of batch ",
		items[0].ID, "Everything else that was done is recorded"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}

	database.set(false)
	must(t, ledgertest.Exec(t.Context(), place.String(), `UPDATE processes SET expires_at = 0`))
	if said, _ := run(); !strings.Contains(said, "1  uncertain") || strings.Contains(said, "1  placed") {
		t.Errorf("%s", said)
	}
	if n := len(service.Books().Orders); n != 1 {
		t.Errorf("%d orders", n)
	}
}
