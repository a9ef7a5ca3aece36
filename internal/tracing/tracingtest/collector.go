// Package tracingtest has a receiver of traces for tests: what an OpenTelemetry
// collector is to the program.
package tracingtest

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Collector receives OTLP over HTTP.
type Collector struct {
	URL string // for OTEL_EXPORTER_OTLP_ENDPOINT

	t testing.TB

	mu       sync.Mutex
	received []*trace.TracesData
	headers  []http.Header
	status   int
	hang     chan struct{} // nil while it answers
}

// Span is a span as a viewer of traces shows it.
type Span struct {
	Service    string
	Name       string
	Trace, ID  string
	Parent     string // "" for a root
	Links      []Link
	Attributes map[string]any // string, int64, bool
	Events     []string
	Error      bool
	Status     string
	Client     bool
	Start, End time.Time
}

// Link is a link to a span of another trace.
type Link struct{ Trace, ID string }

// Start starts a receiver that ends with the test.
func Start(t testing.TB) *Collector {
	c := &Collector{t: t}
	server := httptest.NewServer(c)
	c.URL = server.URL
	t.Cleanup(func() {
		c.Answer(0)
		server.Close()
	})
	return c
}

// Hang keeps the receiver from answering.
func (c *Collector) Hang() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hang == nil {
		c.hang = make(chan struct{})
	}
}

// Answer has the receiver answer with a status, and keep nothing; with 0, it accepts.
func (c *Collector) Answer(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hang != nil {
		close(c.hang)
		c.hang = nil
	}
	c.status = status
}

func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	hang, status := c.hang, c.status
	c.headers = append(c.headers, r.Header)
	c.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
		return
	}
	if status != 0 {
		http.Error(w, "not now", status)
		return
	}
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(z)
		}
	}
	// A request to export has the fields of TracesData.
	data := new(trace.TracesData)
	if err == nil {
		err = proto.Unmarshal(body, data)
	}
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" ||
		r.Header.Get("Content-Type") != "application/x-protobuf" || len(data.ProtoReflect().GetUnknown()) > 0 {
		c.t.Errorf("%s %s of %q: %v", r.Method, r.URL, r.Header.Get("Content-Type"), err)
		http.Error(w, "not a request to export", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received = append(c.received, data)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Headers are those of the requests.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header(nil), c.headers...)
}

// Text is all that was received, as text.
func (c *Collector) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var text bytes.Buffer
	for _, data := range c.received {
		text.WriteString(protojson.Format(data))
	}
	return text.String()
}

// Spans are the spans that were received.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Span
	for _, data := range c.received {
		for _, of := range data.GetResourceSpans() {
			service, _ := values(of.GetResource().GetAttributes())["service.name"].(string)
			for _, scope := range of.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					all = append(all, spanOf(service, s))
				}
			}
		}
	}
	return all
}

func spanOf(service string, s *trace.Span) Span {
	span := Span{
		Service:    service,
		Name:       s.GetName(),
		Trace:      hex.EncodeToString(s.GetTraceId()),
		ID:         hex.EncodeToString(s.GetSpanId()),
		Parent:     hex.EncodeToString(s.GetParentSpanId()),
		Attributes: values(s.GetAttributes()),
		Error:      s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR,
		Status:     s.GetStatus().GetMessage(),
		Client:     s.GetKind() == trace.Span_SPAN_KIND_CLIENT,
		Start:      time.Unix(0, int64(s.GetStartTimeUnixNano())),
		End:        time.Unix(0, int64(s.GetEndTimeUnixNano())),
	}
	for _, l := range s.GetLinks() {
		span.Links = append(span.Links,
			Link{hex.EncodeToString(l.GetTraceId()), hex.EncodeToString(l.GetSpanId())})
	}
	for _, e := range s.GetEvents() {
		span.Events = append(span.Events, e.GetName())
	}
	return span
}

func values(attributes []*common.KeyValue) map[string]any {
	all := make(map[string]any)
	for _, a := range attributes {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			all[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			all[a.GetKey()] = v.IntValue
		case *common.AnyValue_BoolValue:
			all[a.GetKey()] = v.BoolValue
		default:
			all[a.GetKey()] = a.GetValue().String()
		}
	}
	return all
}
