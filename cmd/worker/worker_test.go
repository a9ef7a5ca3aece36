package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/nettest"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// asProcess makes the test binary the worker itself.
const asProcess = "WORKER_TEST_PROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) != "" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// secretKey is the API key of the tests. Nothing may show it.
const secretKey = "sk_test_w0rkerKeyThatNobodyMaySee"

// patience bounds every wait.
const patience = 2 * time.Minute

// fleet is a service, and a data folder for the workers of a test.
type fleet struct {
	*testing.T
	service *sandbox.Service
	base    string // the service's address, whether it is there or not
	dir     string
}

func newFleet(t *testing.T, latency time.Duration) *fleet {
	return &fleet{T: t, dir: t.TempDir(), base: "http://" + nettest.Free(), service: sandbox.New(sandbox.Config{
		Keys: []string{secretKey}, OpeningBalance: 1_000_000_00, Latency: latency, AutoSeed: true,
	})}
}

func (f *fleet) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// open lets the service answer, until it is shut or the test ends.
func (f *fleet) open() (shut func()) {
	f.Helper()
	l, err := net.Listen("tcp", strings.TrimPrefix(f.base, "http://"))
	f.must(err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- f.service.Serve(ctx, l) }()
	shut = sync.OnceFunc(func() {
		stop()
		<-served
	})
	f.Cleanup(shut)
	return shut
}

// fill submits a batch to the ledger of the data folder.
func (f *fleet) fill(rows int) {
	f.Helper()
	l := f.ledger()
	defer l.Close()
	f.fillBatch(l, "batch1", rows, request)
}

// fillBatch submits a batch of rows.
func (f *fleet) fillBatch(l *ledger.Ledger, batch string, n int, request func(i int) *filing.Request) {
	f.Helper()
	rows := make([]ledger.Row, n)
	for i := range rows {
		rows[i] = ledger.Row{
			Number:  i + 2,
			Cells:   []byte(`["Acme Widgets LLC"]`),
			Result:  filing.Ready,
			Request: request(i),
		}
	}
	ledgertest.Submit(f, l, ledger.Batch{ID: batch, File: batch + ".csv", Product: filing.AnnualReport}, rows...)
}

// request orders an annual report of company i.
func request(i int) *filing.Request {
	return &filing.Request{
		Product: filing.AnnualReport,
		User:    filing.UserRef{ID: "user_1"},
		Company: filing.CompanyRef{Ref: fmt.Sprintf("comp_acme%d", i)},
		Order:   filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
	}
}

// ledger opens the one of the data folder, which belongs to nobody before a
// worker has recognized the organization.
func (f *fleet) ledger() *ledger.Ledger {
	f.Helper()
	env, err := config.Read(func(name string) string { return map[string]string{"FILING_DATA_DIR": f.dir}[name] })
	if err == nil {
		if _, err = env.UseExisting(); errors.Is(err, config.ErrNoLedger) {
			_, err = env.UseUnassigned(f.Context())
		}
	}
	f.must(err)
	l, err := env.OpenLedger(f.Context())
	f.must(err)
	return l
}

// process is a worker that runs.
type process struct {
	*fleet
	cmd    *exec.Cmd
	listen string
	ended  chan struct{} // closed when it has ended

	mu  sync.Mutex
	log bytes.Buffer
}

// start runs a worker with more variables, and ends it with the test.
func (f *fleet) start(vars []string, args ...string) *process {
	f.Helper()
	p := &process{fleet: f, listen: nettest.Free(), ended: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], append([]string{"--listen", p.listen}, args...)...)
	p.cmd.Env = append([]string{
		asProcess + "=1", "PATH=" + os.Getenv("PATH"), "FILING_BASE_URL=" + f.base + "/v1",
		"FILING_API_KEY=" + secretKey,
		"FILING_DATA_DIR=" + f.dir, "WORKER_CONCURRENCY=4", "FILING_TIMEOUT=15s",
	}, vars...)
	stderr, err := p.cmd.StderrPipe()
	f.must(err)
	f.must(p.cmd.Start())
	go func() {
		for s := bufio.NewScanner(stderr); s.Scan(); {
			p.mu.Lock()
			fmt.Fprintln(&p.log, s.Text())
			p.mu.Unlock()
		}
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	f.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if f.Failed() {
			f.Log(p.said())
		}
		if strings.Contains(p.said(), "NobodyMaySee") {
			f.Error("a secret stands in the log")
		}
	})
	// Before its first line, a signal would end it by default.
	p.await("it says something or ends", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return p.said() != ""
		}
	})
	return p
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// get asks a path; 0 while nobody listens.
func (p *process) get(path string) (int, string) {
	response, err := http.Get("http://" + p.listen + path)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

// await waits until something holds.
func (p *process) await(what string, holds func() bool) {
	p.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("waited %s until %s", patience, what)
		}
	}
}

// ready waits for an answer of /readyz with this status and these words. The
// process lives meanwhile.
func (p *process) ready(status int, words string) {
	p.Helper()
	p.await(fmt.Sprintf("/readyz is %d with %s", status, words), func() bool {
		code, body := p.get("/readyz")
		return code == status && strings.Contains(body, words)
	})
	if code, body := p.get("/healthz"); code != 200 {
		p.Fatalf("/healthz: %d %s", code, body)
	}
}

func (p *process) signal(s syscall.Signal) {
	p.Helper()
	p.must(p.cmd.Process.Signal(s))
}

// exits waits for the end of the process.
func (p *process) exits(want int) {
	p.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.Fatalf("it did not end within %s", patience)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != want {
		p.Fatalf("exit status %d, want %d", got, want)
	}
}

// end asks the process to end, and waits until it has.
func (p *process) end() {
	p.Helper()
	p.signal(syscall.SIGTERM)
	p.exits(exitDone)
}

// metric waits for a line of the metrics.
func (p *process) metric(line string) {
	p.Helper()
	p.await("the metrics have "+line, func() bool {
		_, body := p.get("/metrics")
		return strings.Contains("\n"+body, "\n"+line+"\n")
	})
}

func TestWaitsForTheService(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0)
	p := f.start(nil)
	p.ready(503, `"phase":"waits for the filing service's prices"`)
	p.metric("bulkfiling_worker_placing 0")
	shut := f.open()
	p.ready(200, `"checks":{"lease":"ok","ledger":"ok","queue":"ok"}`)
	p.metric("bulkfiling_worker_placing 1")
	shut() // a worker whose service is down is where it should be
	for range 20 {
		p.ready(200, `"status":"ok"`)
	}
	p.end()
}

// A key that is refused when a worker starts halts the fleet like any other, the
// operator is told, and the worker goes on by itself once it is accepted.
func TestARefusedKeyShowsAtTheStart(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0)
	f.fill(1)
	f.service.SetKeys("sk_test_another")
	f.open()
	told := make(chan string, 10)
	operator := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- string(body)
	}))
	t.Cleanup(operator.Close)
	p := f.start([]string{"FILING_NOTIFY=" + operator.URL, "FILING_NOTIFY_ON=key"})
	p.ready(503, `"phase":"waits for the filing service's prices"`)
	l := f.ledger()
	t.Cleanup(func() { l.Close() })
	halted := func(reason filing.Halt) {
		t.Helper()
		p.await("halted: "+string(reason), func() bool {
			h, err := l.Fleet().Halt(t.Context())
			return err == nil && h.Reason == reason
		})
	}
	halted(filing.HaltKey)
	select {
	case body := <-told:
		if !strings.Contains(body, "key") {
			t.Error(body)
		}
	case <-time.After(patience):
		t.Error("nobody was told")
	}
	f.service.SetKeys(secretKey)
	halted(filing.NoHalt)
	p.ready(200, `"status":"ok"`)
	p.await("its row is placed", func() bool {
		figures, err := l.Figures(t.Context(), "batch1")
		return err == nil && figures.Counts[filing.Placed] == 1
	})
	p.end()
}

func TestWaitsForRedis(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0)
	f.open()
	address := nettest.Free()
	p := f.start([]string{"REDIS_URL=redis://:NobodyMaySee@" + address + "/0"})
	p.ready(503, `"phase":"waits for the queue"`)
	redis := miniredis.NewMiniRedis()
	redis.RequireAuth("NobodyMaySee")
	f.must(redis.StartAddr(address))
	defer func() { redis.Close() }()
	p.ready(200, `"queue":"ok"`)
	p.metric("bulkfiling_queue_up 1")
	redis.Close()
	p.ready(503, `"queue":"failed"`)
	f.must(redis.Restart())
	p.ready(200, `"queue":"ok"`)
	p.signal(os.Interrupt.(syscall.Signal))
	p.exits(exitDone)
}

func TestWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0)
	p := f.start([]string{"DATABASE_URL=postgres://me:NobodyMaySee@" + nettest.Free() + "/ledger"})
	p.ready(503, `"phase":"waits for the ledger"`)
	p.end()
}

func TestConfigurationEndsIt(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	f.must(err)
	defer taken.Close()
	for name, c := range map[string]struct {
		vars []string
		args []string
		says string
	}{
		"no address":         {[]string{"FILING_BASE_URL="}, nil, "FILING_BASE_URL"},
		"no key":             {[]string{"FILING_API_KEY="}, nil, "FILING_API_KEY"},
		"a key file missing": {[]string{"FILING_API_KEY=", "FILING_API_KEY_FILE=/nowhere"}, nil, "FILING_API_KEY_FILE"},
		"no database":        {[]string{"DATABASE_URL=mysql://me:NobodyMaySee@db/ledger"}, nil, "DATABASE_URL"},
		"no Redis":           {[]string{"REDIS_URL=http://:NobodyMaySee@redis"}, nil, "REDIS_URL"},
		"no concurrency":     {[]string{"WORKER_CONCURRENCY=0"}, nil, "WORKER_CONCURRENCY"},
		"a port that is not": {nil, []string{"--listen", taken.Addr().String()}, "listen"},
		"an unknown flag":    {nil, []string{"--fast"}, "--fast"},
	} {
		t.Run(name, func(t *testing.T) {
			f := *f
			f.T, f.dir = t, t.TempDir()
			p := f.start(c.vars, c.args...)
			p.exits(exitFailed)
			if !strings.Contains(p.said(), c.says) {
				t.Errorf("it does not say %s", c.says)
			}
		})
	}
}

// atWork starts a worker with a hundred rows, six of which are in flight.
func (f *fleet) atWork() *process {
	f.Helper()
	f.open()
	f.fill(100)
	p := f.start([]string{"WORKER_CONCURRENCY=6"})
	p.metric("bulkfiling_orders_in_flight 6")
	return p
}

// Asked to end, it begins nothing more, records what is out and ends with 0; what
// it placed is what the service made.
func TestDrainsOnSIGTERM(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 500*time.Millisecond)
	p := f.atWork()
	p.signal(syscall.SIGTERM)
	p.ready(503, `"phase":"drains"`)
	p.exits(exitDone)
	f.settled()
	if !strings.Contains(p.said(), `"msg":"worker stopped"`) {
		t.Error("the log does not say that it has drained")
	}
}

// settled holds the ledger against the service's books and returns how many rows
// were placed.
func (f *fleet) settled() int {
	f.Helper()
	l := f.ledger()
	defer l.Close()
	figures, err := l.Figures(f.Context(), "batch1")
	f.must(err)
	counts := figures.Counts
	books := f.service.Books()
	if counts[filing.Placed] == 0 || counts[filing.Placed] != len(books.Orders) ||
		counts[filing.Placing]+counts[filing.Uncertain] > 0 {
		f.Errorf("%v in the ledger, %d orders in the service's books", counts, len(books.Orders))
	}
	return counts[filing.Placed]
}

// A newer version that migrates the ledger stops a running worker: in-flight orders are
// recorded, nothing more is sent, and the log says what to do.
func TestWorkerStopsForANewerSchema(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 500*time.Millisecond)
	p := f.atWork()
	files, err := filepath.Glob(filepath.Join(f.dir, "accounts", "*", "ledger.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	db, err := sql.Open("sqlite", "file:"+files[0]+"?_pragma=busy_timeout(5000)")
	f.must(err)
	defer db.Close()
	change := func(by string) {
		_, err := db.ExecContext(t.Context(), `UPDATE control SET schema_version = schema_version `+by)
		f.must(err)
	}
	change("+ 1")
	p.exits(exitFailed)
	change("- 1")
	if n := f.settled(); n == 100 {
		t.Error("all rows were placed: the worker did not stop")
	}
	for _, words := range []string{`"msg":"worker outdated"`, `"msg":"worker draining"`, `"msg":"worker stopped"`,
		"the ledger was prepared by a newer version", "use that version or a newer one"} {
		if !strings.Contains(p.said(), words) {
			t.Errorf("the log does not have %s", words)
		}
	}
}

func TestSecondSignalEndsItAtOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0)
	f.open()
	f.fill(20)
	f.service.Inject(sandbox.Fault{Kind: sandbox.FaultTimeout, Endpoint: "POST /orders", Rate: 1, For: time.Hour})
	p := f.start(nil)
	p.metric("bulkfiling_orders_in_flight 4")
	p.signal(syscall.SIGTERM)
	p.ready(503, `"phase":"drains"`)
	p.signal(syscall.SIGTERM)
	p.exits(exitAtOnce)
}

func TestMetricsAndLogOfAPlacedBatch(t *testing.T) {
	t.Parallel()
	const rows = 40
	f := newFleet(t, 10*time.Millisecond)
	f.open()
	f.fill(rows)
	p := f.start(nil)
	p.metric(fmt.Sprintf(`bulkfiling_rows{state="placed"} %d`, rows))
	_, text := p.get("/metrics")
	for _, line := range []string{
		fmt.Sprintf(`bulkfiling_orders_total{class="accepted"} %d`, rows),
		fmt.Sprintf(`bulkfiling_order_items_total{product="annual-report"} %d`, rows),
		fmt.Sprintf(`bulkfiling_order_duration_seconds_count %d`, rows),
		fmt.Sprintf(`bulkfiling_lookups_total{call="company",outcome="ok"} %d`, rows),
		`bulkfiling_rows{state="ready"} 0`, `bulkfiling_batches{state="open"} 0`, `bulkfiling_batches{state="done"} 1`,
		`bulkfiling_ledger_up 1`, `bulkfiling_queue_up 1`,
		`bulkfiling_money_declared 0`, `bulkfiling_halted{reason="funds"} 0`,
		`bulkfiling_breaker_state{state="closed"} 1`,
		`bulkfiling_worker_concurrency 4`, `bulkfiling_worker_placing 1`,
	} {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
	for _, private := range []string{"comp_", "user_", "order_1", "Acme", "acme", "batch1", "127.0.0.1",
		"NobodyMaySee"} {
		for line := range strings.Lines(text) {
			if strings.Contains(line, private) && !strings.HasPrefix(line, "#") {
				t.Errorf("%q stands in the metrics: %s", private, line)
			}
		}
	}
	checkSeriesOfDeploy(t, text)
	checkPlacedInLog(t, f.service, p.said(), rows)
	p.end()
	if f.settled() != rows {
		t.Error("not every row is placed")
	}
}

// checkSeriesOfDeploy checks that the alerts and the dashboards of deploy/ ask for
// series that the metrics have.
func checkSeriesOfDeploy(t *testing.T, text string) {
	t.Helper()
	asked := 0
	for _, file := range []string{"prometheus/rules.yml", "grafana/dashboards/bulkfiling.json"} {
		content, err := os.ReadFile(filepath.Join("../../deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\bbulkfiling_[a-z_]+[a-z]`).FindAllString(string(content), -1) {
			asked++
			family := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
			if !strings.Contains(text, "# TYPE "+name+" ") && !strings.Contains(text, "# TYPE "+family+" histogram") {
				t.Errorf("deploy/%s asks for %s, which is not there", file, name)
			}
		}
	}
	if asked < 40 {
		t.Errorf("deploy/ asks for %d series", asked)
	}
}

// checkPlacedInLog checks that the log names every placed row with its order, and
// no company.
func checkPlacedInLog(t *testing.T, service *sandbox.Service, log string, rows int) {
	t.Helper()
	made := make(map[string]bool)
	for _, item := range service.Books().Items() {
		made[item.ID] = true
	}
	numbers := make(map[int]bool)
	for line := range strings.Lines(log) {
		var entry struct {
			Msg, Batch, Result string
			Row                int
			ID                 int64 `json:"row_id"`
			Attempt            int
			Answer             filing.AnswerKind
			Orders             []string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("not JSON: %s", line)
		}
		if entry.Result != string(filing.Placed) {
			continue
		}
		if entry.Batch != "batch1" || entry.ID == 0 || entry.Attempt != 1 ||
			entry.Answer != filing.Accepted || len(entry.Orders) != 1 || !made[entry.Orders[0]] {
			t.Errorf("%s", line)
		}
		numbers[entry.Row] = true
	}
	if len(numbers) != rows {
		t.Errorf("%d of %d placed rows stand in the log", len(numbers), rows)
	}
	if strings.Contains(log, "Acme") {
		t.Error("a company's name stands in the log")
	}
}

func TestHealthcheckCommand(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0)
	p := f.start(nil)
	p.ready(503, "waits")
	for path, want := range map[string]int{"/healthz": 0, "/readyz": 1, "/nothing": 1} {
		cmd := exec.Command(os.Args[0], "healthcheck", "http://"+p.listen+path)
		cmd.Env = []string{asProcess + "=1"}
		if _ = cmd.Run(); cmd.ProcessState.ExitCode() != want {
			t.Errorf("healthcheck of %s: %d, want %d", path, cmd.ProcessState.ExitCode(), want)
		}
	}
}
