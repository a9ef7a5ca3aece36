package filingapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/bulkfiling/bulkfiling/internal/network"
)

// Limiter limits the rate of requests, usually for the whole fleet.
type Limiter interface {
	// Wait blocks until a request may be sent, or returns the context's error.
	Wait(ctx context.Context) error
}

// Config configures a client.
type Config struct {
	// BaseURL includes the version, such as https://api.example.com/v1.
	BaseURL string
	// Key begins with sk_test_ or sk_live_.
	Key string
	// Live allows a live key.
	Live bool
	// Timeout limits a whole request, including the reading of its answer. The default is 30 s.
	Timeout time.Duration
	// Concurrency is the number of idle connections kept for parallel requests. The default is 32.
	Concurrency int
	// UserAgent is "bulkfiling" by default.
	UserAgent string
	// Limiter is optional.
	Limiter Limiter
	Breaker BreakerLimits

	// Transport replaces the client's transport in tests. All its errors except failures to dial
	// count as errors of a written request.
	Transport http.RoundTripper
}

const (
	defaultTimeout     = 30 * time.Second
	defaultConcurrency = 32
	maxBody            = 1 << 20
	maxHeader          = 64 << 10

	// idleTimeout is shorter than the idle timeout of common servers, the shortest of which is 5 s.
	// An order written to a connection that the server has just closed is uncertain, so the client
	// closes the connection first.
	idleTimeout = 4 * time.Second
)

// Client sends requests to the filing service. It is safe for concurrent use. A process has one.
type Client struct {
	// base has no trailing slash.
	base      string
	key       string
	userAgent string
	timeout   time.Duration
	limiter   Limiter
	breaker   *orderBreaker
	transport http.RoundTripper
	// customTransport reports whether the transport does not count the bytes that it writes.
	customTransport bool

	// lastError is why the last request was not answered, nil if it was.
	lastError atomic.Pointer[string]
}

// LastError returns why the filing service did not answer the last request, in plain words and with
// the text of the network error. It is empty if the service answered.
func (c *Client) LastError() string {
	if why := c.lastError.Load(); why != nil {
		return *why
	}
	return ""
}

// noteError records why a request was not answered.
func (c *Client) noteError(ctx context.Context, o outcome) {
	switch o.health(ctx) {
	case errUnhealthy:
		why, detail := c.message(o)
		if detail != "" {
			why += " [" + detail + "]"
		}
		c.lastError.Store(&why)
	case nil:
		c.lastError.Store(nil)
	}
}

// String returns the name of the service without the key.
func (c *Client) String() string { return "filing service at " + c.base }

// GoString keeps the key out of %#v.
func (c *Client) GoString() string { return c.String() }

// New validates the configuration and returns a client. It opens no connection. Its errors never
// contain the key.
func New(cfg Config) (*Client, error) {
	base, err := checkBase(cfg.BaseURL, strings.HasPrefix(cfg.Key, livePrefix))
	if err != nil {
		return nil, err
	}
	if err := checkKey(cfg.Key, cfg.Live); err != nil {
		return nil, err
	}
	c := &Client{
		base:            base,
		key:             cfg.Key,
		userAgent:       cmp.Or(cfg.UserAgent, "bulkfiling"),
		timeout:         cmp.Or(cfg.Timeout, defaultTimeout),
		limiter:         cfg.Limiter,
		breaker:         newOrderBreaker(cfg.Breaker),
		transport:       cfg.Transport,
		customTransport: cfg.Transport != nil,
	}
	if c.transport == nil {
		c.transport = newTransport(cfg.Concurrency)
	}
	return c, nil
}

// Close closes idle connections.
func (c *Client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// The prefixes of keys. Keys with livePrefix spend real money.
// Source: spec section 5, rule 2.
const (
	testPrefix = "sk_test_"
	livePrefix = "sk_live_"
)

// checkBase returns the base address without its trailing slash. A live key is sent to another
// machine only over TLS. A test key may be sent over plain HTTP to a sandbox in another container.
// Source: spec section 9 (the version is part of the address).
func checkBase(base string, live bool) (string, error) {
	if base == "" {
		return "", errors.New(
			"the address of the filing service is missing: set FILING_BASE_URL, for example https://api.example.com/v1")
	}
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(base), "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New(
			"the address of the filing service is not a web address: it looks like https://api.example.com/v1")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf(
			"the address of the filing service, %s, must not carry a name, a password, a query or a fragment", u.Host)
	}
	if !strings.HasSuffix(u.Path, "/v1") {
		return "", fmt.Errorf("the address of the filing service, %s, lacks the version: it must end in /v1", u)
	}
	if live && u.Scheme == "http" && !network.IsLoopback(u.Hostname()) {
		return "", fmt.Errorf(
			"the address of the filing service, %s, would carry the live key in the clear: use https", u)
	}
	return u.String(), nil
}

// checkKey rejects an invalid key, and a live key unless live is set.
// Source: spec section 5, rule 2 (the prefixes).
func checkKey(key string, live bool) error {
	switch {
	case key == "":
		return errors.New("the API key is missing: set FILING_API_KEY or FILING_API_KEY_FILE")
	case strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0:
		return errors.New("the API key holds a space, a line break or another character that no key has")
	case !strings.HasPrefix(key, testPrefix) && !strings.HasPrefix(key, livePrefix):
		return errors.New(
			"the API key begins with neither sk_test_ nor sk_live_, so it is not clear whether it spends real " +
				"money: copy the whole key from the filing service")
	case strings.HasPrefix(key, livePrefix) && !live:
		return errors.New("this is a live key, which spends real money: give --live or set FILING_LIVE=1 to use it")
	}
	return nil
}

// newTransport returns a transport that uses only HTTP/1.1. With HTTP/2, all in-flight orders would
// share a connection, and its loss would make all of them uncertain. HTTP/2 also repeats streams by
// rules that this client does not control.
func newTransport(concurrency int) *http.Transport {
	var http1 http.Protocols
	http1.SetHTTP1(true)
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, transport, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, transport, addr)
			if err != nil {
				return nil, err
			}
			return &countedConn{Conn: conn}, nil
		},
		TLSClientConfig:        network.NewTLS(),
		TLSHandshakeTimeout:    10 * time.Second,
		Protocols:              &http1,
		MaxIdleConnsPerHost:    cmp.Or(concurrency, defaultConcurrency),
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true, // answers are small, and maxBody limits their plain size
	}
}

// outcome is the result of one request. It has either err or a status with a body.
type outcome struct {
	// written reports whether a byte of the request may have been sent.
	written bool
	// err is set if no status line was received.
	err    error
	status int
	header http.Header
	body   []byte
	// bodyErr is set if the body is incomplete.
	bodyErr error
}

// do sends one request once. payload is nil if the method is GET. The timeout does not include the
// wait for the limiter.
func (c *Client) do(ctx context.Context, method, path string, payload any) outcome {
	var body []byte
	if payload != nil {
		var err error
		if body, err = json.Marshal(payload); err != nil {
			return outcome{err: fmt.Errorf("encode the request: %w", err)}
		}
	}
	if c.breaker.requests.State() == gobreaker.StateOpen {
		return outcome{err: errOpen} // checked before the limiter, to save a token
	}
	if c.limiter != nil {
		if err := c.limiter.Wait(ctx); err != nil {
			return outcome{err: fmt.Errorf("wait for the rate limit: %w", err)}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return outcome{err: err}
	}
	done, err := c.breaker.requests.Allow()
	if err != nil {
		return outcome{err: errOpen}
	}
	o := outcome{err: errors.New("the request was abandoned")}
	defer func() { done(o.health(ctx)) }()
	o = c.roundTrip(ctx, method, path, body)
	c.noteError(ctx, o)
	return o
}

func (c *Client) roundTrip(ctx context.Context, method, path string, body []byte) outcome {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, timeoutError(c.timeout))
	defer cancel()
	ctx, wire := watchWire(ctx)

	request, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return outcome{err: err}
	}
	if body != nil {
		// Without GetBody the transport has no second copy of the body. It therefore never repeats
		// a request, neither on a lost connection nor, for a request with an idempotency header,
		// after bytes were written.
		request.Body = io.NopCloser(bytes.NewReader(body))
		request.ContentLength = int64(len(body))
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", c.userAgent)
	request.Header.Set("X-Api-Key", c.key)

	// Assumption: the spec does not show how the service uses a redirect for an order, so none is
	// followed. An http.Client is not used, because it would follow redirects and include
	// addresses, which can contain emails, in its errors.
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return outcome{err: causeOf(ctx, err), written: wire.written() || c.customTransport && !failedToDial(err)}
	}
	defer response.Body.Close()
	o := outcome{written: true, status: response.StatusCode, header: response.Header}
	if o.status < 200 {
		return o // status 101, which has no body because the connection is no longer HTTP
	}
	o.body, o.bodyErr = readBody(response.Body)
	o.bodyErr = causeOf(ctx, o.bodyErr)
	return o
}

// timeoutError is the client's timeout. It matches context.DeadlineExceeded.
type timeoutError time.Duration

func (d timeoutError) Error() string   { return fmt.Sprintf("%s have passed", time.Duration(d)) }
func (timeoutError) Is(err error) bool { return err == context.DeadlineExceeded }

// causeOf returns the cause of the context's end, if it has ended, instead of the resulting error
// of the connection.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

func readBody(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err == nil && len(body) > maxBody {
		return nil, fmt.Errorf("longer than %d bytes", maxBody)
	}
	return body, err
}

// decode decodes the JSON body. It leaves a field of an unexpected type empty without an error,
// because the other fields are still valid. It ignores unknown fields.
func (o outcome) decode(v any) error {
	if o.bodyErr != nil {
		return o.bodyErr
	}
	err := json.Unmarshal(o.body, v)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
		return nil
	}
	return err
}

// segment escapes an ID for a path.
func segment(id string) (string, error) {
	if id == "" || id == "." || id == ".." {
		return "", fmt.Errorf("%q is not an id", id)
	}
	return url.PathEscape(id), nil
}
