package tracing_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/tracing"
	"github.com/bulkfiling/bulkfiling/internal/tracing/tracingtest"
)

// start starts a tracer on variables, and returns its log.
func start(t *testing.T, vars map[string]string) (*tracing.Tracer, *log) {
	t.Helper()
	written := new(log)
	tracer, err := tracing.Start(t.Context(), tracing.Config{
		Getenv:  func(name string) string { return vars[name] },
		Service: "bulkfiling-test",
		Version: "v1",
		Log:     slog.New(slog.NewTextHandler(written, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return tracer, written
}

type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var row = tracing.Row{Batch: "b7k2", Number: 4, ID: 1004, Product: "annual-report"}

func never() time.Time { panic("a row without attempts has no first one") }

// place writes the spans of a row that is placed.
func place(ctx context.Context, t *tracing.Tracer, r tracing.Row) {
	ctx, span := t.StartRow(ctx, r, never)
	request := tracing.StartRequest(ctx, "GET", "/companies/comp_1", func(string) string { return "/companies/{id}" })
	request.End(200, "", true)
	ctx, attempt := t.StartAttempt(ctx, r.ID, 1, time.Now())
	request = tracing.StartRequest(ctx, "POST", "/orders", func(string) string { return "/orders" })
	request.End(201, "", true)
	attempt.SetAnswer("accepted", true)
	t.SetResult(r.ID, "placed", 1)
	attempt.End()
	span.End()
}

// Without the variables there is no tracer, and placing a row allocates nothing for
// traces.
func TestOffCostsNothing(t *testing.T) {
	for _, vars := range []map[string]string{
		nil,
		{"OTEL_SERVICE_NAME": "filings"},
		{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"},
		{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"},
	} {
		if tracer, _ := start(t, vars); tracer != nil {
			t.Errorf("%v start traces", vars)
		}
	}
	var off *tracing.Tracer
	ctx := tracing.With(t.Context(), off)
	if allocations := testing.AllocsPerRun(1000, func() { place(ctx, off, row) }); allocations != 0 {
		t.Errorf("a row allocates %.0f times without traces", allocations)
	}
	off.EndBatch(tracing.Batch{})
	off.WriteSwept(row, time.Now(), 1, "no-answer", "uncertain")
	off.Shutdown()
}

func BenchmarkOff(b *testing.B) {
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		place(ctx, nil, row)
	}
}

// One trace per row, with its look-up, its attempt and the attempt's request; and the
// batch, to which the row links.
func TestSpans(t *testing.T) {
	c := tracingtest.Start(t)
	tracer, said := start(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT":    c.URL + "/",
		"OTEL_EXPORTER_OTLP_HEADERS":     "authorization=Bearer%20abc , x-tenant = 7, ",
		"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
	})
	place(t.Context(), tracer, row)
	tracer.EndBatch(tracing.Batch{ID: "b7k2", Product: "annual-report", Rows: 1, Began: time.Now(),
		Results: map[string]int{"placed": 1}})
	tracer.Shutdown()
	spans := make(map[string]tracingtest.Span)
	for _, s := range c.Spans() {
		spans[s.Name] = s
		if s.Service != "bulkfiling-test" || s.Error || s.Start.IsZero() || s.End.Before(s.Start) {
			t.Errorf("%+v", s)
		}
	}
	batch, root, attempt := spans["batch"], spans["row"], spans["attempt"]
	if len(spans) != 5 || batch.Parent != "" || root.Parent != "" || attempt.Parent != root.ID ||
		spans["GET /companies/{id}"].Parent != root.ID || spans["POST /orders"].Parent != attempt.ID {
		t.Errorf("%+v", spans)
	}
	if want := []tracingtest.Link{{Trace: batch.Trace, ID: batch.ID}}; !slices.Equal(root.Links, want) {
		t.Errorf("the row links to %v, want %v", root.Links, want)
	}
	if batch.Trace != tracing.BatchTrace("b7k2") || root.Trace != tracing.RowTrace("b7k2", 4) ||
		attempt.Trace != root.Trace {
		t.Errorf("the traces %s, %s and %s", batch.Trace, root.Trace, attempt.Trace)
	}
	if a := root.Attributes; a["bulkfiling.row.number"] != int64(4) || a["bulkfiling.row.result"] != "placed" ||
		a["bulkfiling.batch.id"] != "b7k2" || a["bulkfiling.row.attempts"] != int64(1) {
		t.Errorf("%v", a)
	}
	if a := spans["POST /orders"].Attributes; a["http.response.status_code"] != int64(201) || a["http.request."+
		"resend_count"] != nil || !spans["POST /orders"].Client {
		t.Errorf("%v", a)
	}
	if batch.Attributes["bulkfiling.batch.result.placed"] != int64(1) {
		t.Errorf("%v", batch.Attributes)
	}
	if h := c.Headers()[0]; h.Get("Authorization") != "Bearer abc" || h.Get("X-Tenant") != "7" {
		t.Errorf("%v", h)
	}
	known := make(map[string]bool)
	for _, a := range tracing.Attributes {
		known[strings.TrimSuffix(a.Name, "…")] = true
	}
	for _, s := range spans {
		for name := range s.Attributes {
			if !known[name] && !strings.HasPrefix(name, "bulkfiling.batch.result.") {
				t.Errorf("%s is not in the list of attributes", name)
			}
		}
	}
	if said.String() != "" {
		t.Errorf("the log has %s", said)
	}
}

// A row that waits has no span yet. The process that ends it writes the one span of the
// row, from its first attempt on, and its attempts have it above them.
func TestARowThatWaits(t *testing.T) {
	c := tracingtest.Start(t)
	vars := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL}
	first, _ := start(t, vars)
	began := time.Now()
	ctx, span := first.StartRow(t.Context(), row, never)
	ctx, attempt := first.StartAttempt(ctx, row.ID, 1, began)
	tracing.StartRequest(ctx, "POST", "/orders", func(string) string { return "/orders" }).End(402, "", true)
	attempt.SetAnswer("no-funds", false)
	first.SetResult(row.ID, "ready", 1)
	attempt.End()
	span.End()
	first.Shutdown()

	second, _ := start(t, vars)
	again := row
	again.Tries = 1
	ctx, span = second.StartRow(t.Context(), again, func() time.Time { return began })
	ctx, attempt = second.StartAttempt(ctx, row.ID, 2, time.Now())
	tracing.StartRequest(ctx, "POST", "/orders", func(string) string { return "/orders" }).End(0, "connection", true)
	attempt.SetAnswer("no-answer", false)
	second.SetResult(row.ID, "uncertain", 2)
	attempt.End()
	// The same row twice in hand is one span.
	_, twice := second.StartRow(t.Context(), again, never)
	twice.End()
	if !span.End() {
		t.Error("the last row was not the last")
	}
	second.Shutdown()

	count := make(map[string]int)
	var root tracingtest.Span
	for _, s := range c.Spans() {
		count[s.Name]++
		if s.Name == "row" {
			root = s
		}
	}
	if count["row"] != 1 || count["attempt"] != 2 || count["POST /orders"] != 2 {
		t.Fatalf("%v", count)
	}
	if !root.Error || !root.Start.Equal(began.Truncate(0)) || root.Attributes["bulkfiling.row.attempts"] != int64(2) {
		t.Errorf("%+v, began %s", root, began)
	}
	for _, s := range c.Spans() {
		switch a := s.Attributes; {
		case s.Trace != root.Trace:
			t.Errorf("%+v is in another trace", s)
		case s.Name == "attempt" && (s.Parent != root.ID || !s.Error):
			t.Errorf("%+v", s)
		case s.Name == "POST /orders" && a["http.response.status_code"] == nil &&
			(a["bulkfiling.request.written"] != true || a["error.type"] != "connection" ||
				a["http.request.resend_count"] != int64(1) || !s.Error):
			t.Errorf("%+v", s)
		case s.Name == "POST /orders" && a["http.response.status_code"] != nil &&
			(a["error.type"] != "402" || !s.Error):
			t.Errorf("%+v", s)
		}
	}
}

// The look-ups before an approval belong to the batch.
func TestRequestsOfABatch(t *testing.T) {
	c := tracingtest.Start(t)
	tracer, _ := start(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL})
	route := func(string) string { return "/companies/{id}" }
	tracing.StartRequest(tracing.With(t.Context(), tracer), "GET", "/companies/comp_0", route).End(200, "", true)
	ctx := tracer.InBatch(t.Context(), "b7k2")
	tracing.StartRequest(ctx, "GET", "/companies/comp_1", route).End(200, "", true)
	place(ctx, tracer, row)
	tracer.EndBatch(tracing.Batch{ID: "b7k2"})
	tracer.Shutdown()
	var batch tracingtest.Span
	for _, s := range c.Spans() {
		if s.Name == "batch" {
			batch = s
		}
	}
	below := 0
	for _, s := range c.Spans() {
		if s.Parent == batch.ID {
			below++
		}
	}
	if len(c.Spans()) != 6 || below != 1 {
		t.Errorf("%d spans, %d below the batch: %+v", len(c.Spans()), below, c.Spans())
	}
}

// A sampler decides about a row as a whole, in every process alike.
func TestSampler(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.25")
	var kept [2]map[string]int
	for i := range kept {
		c := tracingtest.Start(t)
		tracer, _ := start(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL})
		for n := range 200 {
			r := row
			r.Number, r.ID = n, int64(n)
			place(t.Context(), tracer, r)
		}
		tracer.Shutdown()
		kept[i] = make(map[string]int)
		for _, s := range c.Spans() {
			kept[i][s.Trace]++
		}
	}
	if n := len(kept[0]); n < 20 || n > 80 {
		t.Errorf("%d of 200 rows are kept", n)
	}
	for trace, spans := range kept[0] {
		if spans != 4 || kept[1][trace] != 4 {
			t.Errorf("the trace %s has %d spans here and %d there", trace, spans, kept[1][trace])
		}
	}
	if len(kept[1]) != len(kept[0]) {
		t.Error("two processes keep different rows")
	}
}

// A receiver that hangs, is away, or refuses delays no row; the end waits for it for a
// limited time, and the log says what is lost.
func TestReceiverThatDoesNotAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	for name, make := range map[string]func(*tracingtest.Collector) string{
		"hangs":   func(c *tracingtest.Collector) string { c.Hang(); return c.URL },
		"away":    func(*tracingtest.Collector) string { return "http://127.0.0.1:1" },
		"busy":    func(c *tracingtest.Collector) string { c.Answer(503); return c.URL },
		"refuses": func(c *tracingtest.Collector) string { c.Answer(401); return c.URL },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracer, said := start(t, map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": make(tracingtest.Start(t)),
				"OTEL_EXPORTER_OTLP_HEADERS":  "authorization=hidden-token",
			})
			// More than fit the queue: a queue that blocked would never end.
			for n := range 3000 {
				r := row
				r.Number, r.ID = n, int64(n)
				place(t.Context(), tracer, r)
			}
			done := awaitEnd(tracer.Shutdown)
			select {
			case <-done:
			case <-time.After(2 * time.Minute):
				t.Fatal("the end waits for the receiver")
			}
			if text := said.String(); !strings.Contains(text, `msg="spans lost" spans=12000`) ||
				strings.Contains(text, "hidden-token") || strings.Count(text, "traces not delivered") > 1 {
				t.Errorf("the log has %s", text)
			}
		})
	}
}

// An empty variable is the same as none, and a sampler that nobody knows leaves the
// default, with a line of the log.
func TestEmptyVariables(t *testing.T) {
	for sampler, warns := range map[string]bool{"": false, "sometimes": true} {
		t.Setenv("OTEL_TRACES_SAMPLER", sampler)
		t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "")
		c := tracingtest.Start(t)
		tracer, said := start(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.URL + "/v1/traces"})
		place(t.Context(), tracer, row)
		tracer.Shutdown()
		if len(c.Spans()) != 4 || strings.Contains(said.String(), "sometimes") != warns {
			t.Errorf("sampler %q: %d spans, and the log has %q", sampler, len(c.Spans()), said)
		}
	}
}

// A line about a row has the row's trace, and one about a batch the batch's. Without
// traces no line has one.
func TestLogger(t *testing.T) {
	tracer, _ := start(t, map[string]string{"OTEL_TRACES_EXPORTER": "otlp"})
	for _, of := range []*tracing.Tracer{tracer, nil} {
		written := new(log)
		l := of.Logger(slog.New(slog.NewTextHandler(written, nil)))
		l.Info("order answered", "batch", "b7k2", "row", 4)
		l.Info("batch held", "batch", "b7k2")
		l.Info("worker started", "row", 4)
		lines := strings.Split(written.String(), "\n")
		for i, want := range []string{tracing.RowTrace("b7k2", 4), tracing.BatchTrace("b7k2"), ""} {
			if want = "trace_id=" + want; strings.Contains(lines[i], want) != (of != nil && want != "trace_id=") {
				t.Errorf("%s, want %s", lines[i], want)
			}
		}
	}
}

func awaitEnd(do func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		do()
		close(done)
	}()
	return done
}

// What the variables have wrong is an error that names the variable and no value of a
// header.
func TestSettings(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"OTEL_TRACES_EXPORTER", "zipkin", "OTEL_TRACES_EXPORTER must be otlp or none"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf"},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL must be"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "OTEL_EXPORTER_OTLP_ENDPOINT must be an address"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "x", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an address"},
		{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "OTEL_EXPORTER_OTLP_COMPRESSION must be gzip or none"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "hidden-token", "OTEL_EXPORTER_OTLP_HEADERS must be headers"},
		{"OTEL_EXPORTER_OTLP_HEADERS_FILE", "nowhere", "OTEL_EXPORTER_OTLP_HEADERS_FILE"},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE", "nowhere.pem", "OTEL_EXPORTER_OTLP_CERTIFICATE"},
		{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "nowhere.pem", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
	} {
		vars := map[string]string{"OTEL_TRACES_EXPORTER": "otlp", c.name: c.value}
		tracer, err := tracing.Start(t.Context(), tracing.Config{
			Getenv: func(name string) string { return vars[name] },
			Log:    slog.New(slog.DiscardHandler),
		})
		if tracer != nil || err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "hidden-token") {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
	}
}
