package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/logs"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
	"github.com/bulkfiling/bulkfiling/internal/tracing"
	"github.com/bulkfiling/bulkfiling/internal/tracing/tracingtest"
)

// importerCommand builds the importer.
func importerCommand(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "importer")
	if out, err := exec.Command("go", "build", "-o", path, "../importer").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// importer runs a command of it, on the data folder of the fleet.
func (f *fleet) importer(path string, want int, vars []string, args ...string) {
	f.Helper()
	cmd := exec.Command(path, args...)
	cmd.Dir = f.dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "FILING_BASE_URL=" + f.base + "/v1",
		"FILING_API_KEY=" + secretKey,
		"FILING_DATA_DIR=" + f.dir, "WORKER_CONCURRENCY=2", "FILING_TIMEOUT=15s",
	}, vars...)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) || cmd.ProcessState.ExitCode() != want {
		f.Fatalf("importer %v: %v, want %d\n%s", args, err, want, out)
	}
}

// A run that loses an answer and runs out of funds, and a worker that goes on, write
// the traces of one batch: every attempt that the ledger has, every request that the
// filing service received, each below what it belongs to.
func TestTracesOfABatch(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a test of several processes in short mode")
	}
	t.Parallel()
	f := newFleet(t, 0)
	f.service = sandbox.New(sandbox.Config{Keys: []string{secretKey}, OpeningBalance: 400_00, AutoSeed: true})
	f.open()
	f.service.Inject(sandbox.Fault{Kind: sandbox.FaultReset, After: true, Company: "comp_1", Times: 1})
	sheet := filepath.Join(f.dir, "harbor.csv")
	var people []string
	text := "Company ID,Filing State,Filing Year,User Email,User Name,User Phone,Client\n"
	for n := range 6 {
		people = append(people, fmt.Sprintf("ana%d@harborlight.example", n), fmt.Sprintf("Ana Silva %c", 'A'+n))
		text += fmt.Sprintf("comp_%d,FL,2026,%s,%s,(302) 555-011%d,Harbor\n", n, people[2*n], people[2*n+1], n)
	}
	if err := os.WriteFile(sheet, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := tracingtest.Start(t)
	vars := []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=50",
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test",
	}
	f.importer(importerCommand(t), 4, vars, "run", sheet, "--yes")

	l := f.ledger()
	defer l.Close()
	f.service.Deposit(10_000_00)
	if err := l.Fleet().ProbeNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := f.start(vars)
	p.metric(`bulkfiling_rows{state="placed"} 5`)
	p.await("the batch has its span", func() bool {
		return slices.ContainsFunc(c.Spans(), func(s tracingtest.Span) bool { return s.Name == "batch" })
	})
	p.signal(syscall.SIGTERM)
	p.exits(exitDone)
	checkLogOfTraces(t, p.said())

	batches, err := l.Batches(t.Context())
	if err != nil || len(batches) != 1 {
		t.Fatal(batches, err)
	}
	tree := newTree(t, c.Spans(), batches[0].ID)
	for row, err := range l.Rows(t.Context(), batches[0].ID) {
		if err != nil {
			t.Fatal(err)
		}
		attempts, err := l.Attempts(t.Context(), row.ID)
		if err != nil {
			t.Fatal(err)
		}
		tree.checkRow(row, attempts)
	}
	tree.checkRequests(f.service.Books().Requests)
	checkNothingPersonal(t, c.Text(), append(people, "Harbor", "harbor.csv", "555-01", "comp_", "user_", secretKey,
		"NobodyMaySee", "163.75"))
}

// tree are the spans of a batch.
type tree struct {
	*testing.T
	batch    tracingtest.Span
	by       map[string]tracingtest.Span   // by id
	below    map[string][]tracingtest.Span // by parent
	rows     map[int64]tracingtest.Span    // by number
	services map[string]int                // spans of rows, by service
}

func newTree(t *testing.T, spans []tracingtest.Span, batch string) *tree {
	t.Helper()
	tr := &tree{
		T:        t,
		by:       make(map[string]tracingtest.Span),
		below:    make(map[string][]tracingtest.Span),
		rows:     make(map[int64]tracingtest.Span),
		services: make(map[string]int),
	}
	for _, s := range spans {
		if _, twice := tr.by[s.ID]; twice {
			t.Errorf("%+v was received twice", s)
		}
		tr.by[s.ID] = s
		tr.below[s.Parent] = append(tr.below[s.Parent], s)
		tr.services[s.Service]++
		switch s.Name {
		case "batch":
			tr.batch = s
		case "row":
			tr.rows[s.Attributes["bulkfiling.row.number"].(int64)] = s
		}
	}
	if tr.batch.Trace != tracing.BatchTrace(batch) || tr.batch.Parent != "" || !tr.batch.Error ||
		tr.batch.Attributes["bulkfiling.batch.result.placed"] != int64(5) ||
		tr.batch.Attributes["bulkfiling.batch.result.uncertain"] != int64(1) {
		t.Errorf("the batch is %+v", tr.batch)
	}
	if len(tr.rows) != 6 || len(tr.below[""]) != 7 {
		t.Errorf("%d rows, %d roots", len(tr.rows), len(tr.below[""]))
	}
	for _, s := range spans {
		if parent, known := tr.by[s.Parent]; s.Parent != "" && (!known || parent.Trace != s.Trace) {
			t.Errorf("%+v has no parent in its trace", s)
		}
	}
	if tr.services["bulkfiling-importer"] == 0 || tr.services["bulkfiling-worker"] == 0 {
		t.Errorf("the spans are of %v", tr.services)
	}
	return tr
}

// checkRow compares the spans of a row with the ledger.
func (t *tree) checkRow(row ledger.Row, attempts []ledger.Attempt) {
	t.Helper()
	s := t.rows[int64(row.Number)]
	if s.Trace != tracing.RowTrace(row.Batch, row.Number) ||
		s.Attributes["bulkfiling.row.result"] != string(row.Result) || s.Error != (row.Result == filing.Uncertain) ||
		s.Attributes["bulkfiling.row.attempts"] != int64(row.Tries) ||
		!slices.Equal(s.Links, []tracingtest.Link{{Trace: t.batch.Trace, ID: t.batch.ID}}) {
		t.Errorf("row %d, %s, has the span %+v", row.Number, row.Result, s)
	}
	var spans []tracingtest.Span
	for _, below := range t.below[s.ID] {
		if below.Name == "attempt" {
			spans = append(spans, below)
		}
	}
	if len(spans) != len(attempts) || len(attempts) == 0 {
		t.Errorf("row %d has %d attempts and the spans %+v", row.Number, len(attempts), spans)
		return
	}
	slices.SortFunc(spans, func(a, b tracingtest.Span) int { return a.Start.Compare(b.Start) })
	for i, a := range attempts {
		span := spans[i]
		accepted := a.Class == filing.Accepted
		if span.Attributes["bulkfiling.attempt"] != int64(a.Try) || span.Error == accepted ||
			span.Attributes["bulkfiling.attempt.answer"] != string(a.Class) ||
			span.Start.Before(s.Start.Add(-time.Second)) {
			t.Errorf("attempt %d of row %d, %s, has the span %+v", a.Try, row.Number, a.Class, span)
		}
		var orders []tracingtest.Span
		for _, below := range t.below[span.ID] {
			if below.Name == "POST /orders" {
				orders = append(orders, below)
			}
		}
		if len(orders) != 1 {
			t.Errorf("attempt %d of row %d has the requests %+v", a.Try, row.Number, orders)
			continue
		}
		status, _ := orders[0].Attributes["http.response.status_code"].(int64)
		if int(status) != a.Status || orders[0].Error == accepted || !orders[0].Client {
			t.Errorf("attempt %d of row %d, status %d, has the request %+v", a.Try, row.Number, a.Status, orders[0])
		}
	}
}

// checkRequests compares the requests with those that the service received.
func (t *tree) checkRequests(received map[string]int) {
	t.Helper()
	sent, answers := make(map[string]int), make(map[any]int)
	for _, s := range t.by {
		if s.Client {
			sent[s.Name]++
		}
		if s.Name == "attempt" {
			answers[s.Attributes["bulkfiling.attempt.answer"]]++
		}
	}
	for _, name := range []string{"POST /orders", "GET /companies/{id}", "GET /users/{id}", "POST /users"} {
		if sent[name] != received[name] || sent[name] == 0 && name != "POST /users" {
			t.Errorf("%s: %d spans of %d requests", name, sent[name], received[name])
		}
	}
	if answers["no-answer"] != 1 || answers["no-funds"] == 0 || answers["accepted"] != 5 {
		t.Errorf("the answers are %v", answers)
	}
}

// checkLogOfTraces checks that the lines about rows have their traces, and that every
// attribute of a line is in the list.
func checkLogOfTraces(t *testing.T, log string) {
	t.Helper()
	known := []string{"time", "level", "msg"}
	for _, n := range logs.Names {
		known = append(known, n.Name)
	}
	rows := 0
	for line := range strings.Lines(log) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err, line)
		}
		for name := range entry {
			if !slices.Contains(known, name) {
				t.Errorf("%s is not in the list of names: %s", name, line)
			}
		}
		if row, ok := entry["row"].(float64); ok {
			rows++
			if entry["trace_id"] != tracing.RowTrace(entry["batch"].(string), int(row)) || entry["row_id"] == nil ||
				entry["attempt"] == nil {
				t.Errorf("the line %s", line)
			}
		}
	}
	if rows < 3 {
		t.Errorf("only %d lines are about rows", rows)
	}
}

func checkNothingPersonal(t *testing.T, text string, private []string) {
	t.Helper()
	for _, p := range private {
		if strings.Contains(text, p) {
			t.Errorf("%q stands in the traces", p)
		}
	}
	if !strings.Contains(text, "deployment.environment.name") {
		t.Error("the resource lacks OTEL_RESOURCE_ATTRIBUTES")
	}
}
