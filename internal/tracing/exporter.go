package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// exporter sends spans over HTTP, in the protobuf of OTLP. The SDK calls it from one
// goroutine of its own.
type exporter struct {
	settings settings
	client   *http.Client
	log      *slog.Logger
	counter  *counter
	failing  atomic.Bool // the last export failed, and the log has it
}

func newExporter(s settings, log *slog.Logger, c *counter) *exporter {
	return &exporter{
		settings: s,
		log:      log,
		counter:  c,
		client: &http.Client{
			Timeout: s.timeout,
			// Headers with keys of the receiver go nowhere else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				Proxy:               http.ProxyFromEnvironment,
				TLSClientConfig:     s.tls,
				ForceAttemptHTTP2:   true,
				MaxIdleConnsPerHost: 1,
				IdleConnTimeout:     30 * time.Second,
			},
		},
	}
}

// The waits between the tries to deliver spans. ctx limits them: the SDK's own limit is
// OTEL_BSP_EXPORT_TIMEOUT.
const (
	firstWait = 500 * time.Millisecond
	maxWait   = 8 * time.Second
)

// ExportSpans sends spans, again while the receiver is away or asks for time. It logs
// the first failure and the first success after it, and returns no error: the SDK would
// print each.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body := encode(spans)
	if e.settings.gzip {
		body = zipped(body)
	}
	wait := firstWait
	for {
		after, err := e.send(ctx, body)
		if err == nil {
			e.counter.delivered.Add(int64(len(spans)))
			if e.failing.Swap(false) {
				e.log.Info("traces delivered again")
			}
			return nil
		}
		if !e.failing.Swap(true) {
			e.log.Warn("traces not delivered", "err", err)
		}
		if after < 0 || ctx.Err() != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(wait, after)):
		}
		wait = min(2*wait, maxWait)
	}
}

// send sends a request. With an error, it returns how long to wait at least before it
// is sent again; less than 0 for never.
func (e *exporter) send(ctx context.Context, body []byte) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.settings.endpoint, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	request.Header = e.settings.headers.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("User-Agent", "bulkfiling")
	if e.settings.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := e.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
	switch code := response.StatusCode; {
	case code >= 200 && code < 300:
		return 0, nil
	case code == http.StatusTooManyRequests, code >= 502 && code <= 504:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return time.Duration(seconds) * time.Second, fmt.Errorf("the receiver answers with %s", response.Status)
	default:
		return -1, fmt.Errorf("the receiver answers with %s", response.Status)
	}
}

// Shutdown closes the connections.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

func zipped(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(body); err != nil {
		panic(errors.Join(errors.New("compress in memory"), err))
	}
	_ = w.Close()
	return b.Bytes()
}

// counter counts spans, to say at the end how many were lost. It is a processor of the
// SDK that does no more.
type counter struct{ ended, delivered atomic.Int64 }

func (c *counter) OnStart(context.Context, sdk.ReadWriteSpan) {}
func (c *counter) OnEnd(s sdk.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		c.ended.Add(1)
	}
}
func (c *counter) Shutdown(context.Context) error   { return nil }
func (c *counter) ForceFlush(context.Context) error { return nil }
