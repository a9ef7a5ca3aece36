package tracing

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracer writes the spans of a process. A nil *Tracer writes none.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	counter  *counter
	log      *slog.Logger

	mu      sync.Mutex
	rows    map[int64]*RowSpan  // that this process works on
	batches map[string]int      // how many of these rows each batch has
	began   map[int64]time.Time // of rows that it worked on and that have no result yet
}

// maxBegan limits what is remembered of rows that wait.
const maxBegan = 10_000

// scopeKey is the key of a scope.
type scopeKey struct{}

// scope is what a context knows of traces: the tracer, and the attempt that a request
// belongs to.
type scope struct {
	tracer *Tracer
	before int // attempts of the row before the one that sends the request
}

// With returns a context that carries the tracer to the code that it is passed to.
func With(ctx context.Context, t *Tracer) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, scopeKey{}, &scope{tracer: t})
}

// From returns the tracer of a context; nil for none.
func From(ctx context.Context) *Tracer {
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		return s.tracer
	}
	return nil
}

// root starts a root span with the ids of its name.
func (t *Tracer) root(ctx context.Context, name string, of ids, options ...trace.SpanStartOption) (
	context.Context, trace.Span) {
	return t.tracer.Start(context.WithValue(ctx, rootIDsKey{}, of), name, append(options, trace.WithNewRoot())...)
}

// InBatch returns a context whose requests belong to the batch: the look-ups before its
// approval.
func (t *Tracer) InBatch(ctx context.Context, batch string) context.Context {
	if t == nil {
		return ctx
	}
	// The span itself is written at the batch's end. This one has its ids, and the
	// sampler's decision, and never ends.
	ctx, _ = t.root(With(ctx, t), "batch", batchIDs(batch))
	return ctx
}

// Batch is a batch at its end.
type Batch struct {
	ID      string
	Product string
	Rows    int
	Began   time.Time
	Results map[string]int // rows by result
}

// EndBatch writes the span of a batch of which no row is left to place.
func (t *Tracer) EndBatch(b Batch) {
	if t == nil {
		return
	}
	about := []attribute.KeyValue{keyBatch.String(b.ID), keyProduct.String(b.Product), keyRows.Int(b.Rows)}
	for result, rows := range b.Results {
		about = append(about, attribute.Int(string(keyResults)+result, rows))
	}
	_, span := t.root(context.Background(), "batch", batchIDs(b.ID), trace.WithTimestamp(b.Began),
		trace.WithAttributes(about...))
	if b.Results["uncertain"] > 0 {
		span.SetStatus(codes.Error, "uncertain rows")
	}
	span.End()
}

// Row is a row that is about to be placed.
type Row struct {
	Batch   string
	Number  int
	ID      int64
	Product string
	Tries   int // attempts before
}

func (r Row) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{keyBatch.String(r.Batch), keyRow.Int(r.Number), keyRowID.Int64(r.ID)}
}

// RowSpan is the span of a row while this process works on it. A nil *RowSpan does
// nothing.
type RowSpan struct {
	tracer  *Tracer
	row     Row
	span    trace.Span
	holders int    // goroutines that work on the row at once
	result  string // "" while it has none
	tries   int
}

// StartRow begins the span of a row. began asks when its first attempt was, and is
// called for a row with attempts that this process does not know.
func (t *Tracer) StartRow(ctx context.Context, r Row, began func() time.Time) (context.Context, *RowSpan) {
	if t == nil {
		return ctx, nil
	}
	t.mu.Lock()
	since, known := t.began[r.ID]
	t.mu.Unlock()
	if !known {
		since = time.Now()
		if r.Tries > 0 {
			since = began()
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx = context.WithValue(ctx, scopeKey{}, &scope{tracer: t})
	if s := t.rows[r.ID]; s != nil {
		s.holders++
		return trace.ContextWithSpan(ctx, s.span), s
	}
	ctx, span := t.root(ctx, "row", rowIDs(r.Batch, r.Number),
		trace.WithTimestamp(since),
		trace.WithLinks(trace.Link{SpanContext: batchIDs(r.Batch).context()}),
		trace.WithAttributes(append(r.attributes(), keyProduct.String(r.Product))...))
	s := &RowSpan{tracer: t, row: r, span: span, holders: 1, tries: r.Tries}
	t.rows[r.ID] = s
	t.batches[r.Batch]++
	if _, known := t.began[r.ID]; !known && len(t.began) < maxBegan {
		t.began[r.ID] = since
	}
	return ctx, s
}

// SetResult notes the result that was recorded for a row that this process works on, and
// its attempts. An empty result is that nothing new was recorded.
func (t *Tracer) SetResult(row int64, result string, tries int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.rows[row]; s != nil && result != "" {
		s.result, s.tries = result, max(s.tries, tries)
	}
}

// End ends the work on the row. It writes the span if the row has a result that lasts,
// and then reports whether this process works on no other row of the batch.
func (s *RowSpan) End() (last bool) {
	if s == nil {
		return false
	}
	t := s.tracer
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.holders--; s.holders > 0 {
		return false
	}
	delete(t.rows, s.row.ID)
	if t.batches[s.row.Batch]--; t.batches[s.row.Batch] == 0 {
		delete(t.batches, s.row.Batch)
		last = true
	}
	switch s.result {
	case "", "ready", "placing":
		return false
	}
	delete(t.began, s.row.ID)
	s.span.SetAttributes(keyResult.String(s.result), keyAttempts.Int(s.tries))
	switch s.result {
	case "uncertain", "rejected":
		s.span.SetStatus(codes.Error, s.result)
	}
	s.span.End()
	return last
}

// AttemptSpan is the span of an attempt. A nil *AttemptSpan does nothing.
type AttemptSpan struct{ span trace.Span }

// StartAttempt begins the span of an attempt of the row of ctx.
func (t *Tracer) StartAttempt(ctx context.Context, row int64, try int, began time.Time) (context.Context,
	*AttemptSpan) {
	if t == nil {
		return ctx, nil
	}
	about := []attribute.KeyValue{keyAttempt.Int(try)}
	t.mu.Lock()
	if s := t.rows[row]; s != nil {
		about = append(about, s.row.attributes()...)
	}
	t.mu.Unlock()
	ctx, span := t.tracer.Start(ctx, "attempt", trace.WithTimestamp(began), trace.WithAttributes(about...))
	span.AddEvent("intent recorded")
	return context.WithValue(ctx, scopeKey{}, &scope{tracer: t, before: try - 1}), &AttemptSpan{span}
}

// SetAnswer notes the answer, before it is recorded.
func (s *AttemptSpan) SetAnswer(answer string, accepted bool) {
	if s == nil {
		return
	}
	s.span.SetAttributes(keyAnswer.String(answer))
	if !accepted {
		s.span.SetAttributes(keyErrorType.String(answer))
		s.span.SetStatus(codes.Error, answer)
	}
	s.span.AddEvent("answered")
}

// End writes the span, once the answer is recorded.
func (s *AttemptSpan) End() {
	if s != nil {
		s.span.End()
	}
}

// WriteSwept writes the spans of an attempt, and of its row, whose process ended before it
// recorded an answer.
func (t *Tracer) WriteSwept(r Row, began time.Time, try int, answer, result string) {
	if t == nil {
		return
	}
	ctx, row := t.StartRow(context.Background(), r, func() time.Time { return began })
	_, attempt := t.StartAttempt(ctx, r.ID, try, began)
	attempt.SetAnswer(answer, false)
	attempt.End()
	t.SetResult(r.ID, result, try)
	row.End()
}

// RequestSpan is the span of a request. A nil *RequestSpan does nothing.
type RequestSpan struct{ span trace.Span }

// StartRequest begins the span of a request, where ctx has a row or a batch that it
// belongs to. route returns the template of its path.
func StartRequest(ctx context.Context, method, path string, route func(path string) string) *RequestSpan {
	s, ok := ctx.Value(scopeKey{}).(*scope)
	if !ok || !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	template := route(path)
	about := []attribute.KeyValue{keyMethod.String(method), keyTemplate.String(template)}
	if s.before > 0 {
		about = append(about, keyResend.Int(s.before))
	}
	_, span := s.tracer.tracer.Start(ctx, method+" "+template, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(about...))
	return &RequestSpan{span}
}

// End writes the span with the status of the answer. Without an answer, status is 0,
// class says why, and written whether the request may have been sent.
func (s *RequestSpan) End(status int, class string, written bool) {
	if s == nil {
		return
	}
	if status > 0 {
		s.span.SetAttributes(keyStatus.Int(status))
		if status >= 400 && class == "" {
			class = strconv.Itoa(status)
		}
	} else {
		s.span.SetAttributes(keyWritten.Bool(written))
	}
	if class != "" {
		s.span.SetAttributes(keyErrorType.String(class))
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// BatchTrace is the trace id of a batch, in the form that viewers take.
func BatchTrace(batch string) string { return batchIDs(batch).trace.String() }

// RowTrace is the trace id of a row.
func RowTrace(batch string, number int) string { return rowIDs(batch, number).trace.String() }
