package filingapi_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

const testKey = "sk_test_4eC39HqLyjWDarjtT1zdp7dc"

func client(t *testing.T, cfg filingapi.Config) *filingapi.Client {
	t.Helper()
	if cfg.Key == "" {
		cfg.Key = testKey
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	c, err := filingapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func report() *filing.Order {
	return &filing.Order{UserID: "user_1", CompanyID: "comp_1", FilingState: "DE",
		AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}}
}

// listen serves every connection with serve, which gets its number from 0, and
// closes it afterwards.
func listen(t *testing.T, serve func(conn net.Conn, n int)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() { ln.Close(); running.Wait() })
	running.Go(func() {
		for n := 0; ; n++ {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() { defer conn.Close(); serve(conn, n) })
		}
	})
	return ln.Addr().String()
}

func readRequest(t *testing.T, r *bufio.Reader) (*http.Request, string) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil, ""
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, ""
	}
	return req, string(body)
}

// afterReading reads the whole request and then does something else.
func afterReading(t *testing.T, then func(conn net.Conn)) func(*testing.T) string {
	return func(t *testing.T) string {
		return "http://" + listen(t, func(conn net.Conn, _ int) {
			if req, _ := readRequest(t, bufio.NewReader(conn)); req != nil {
				then(conn)
			}
		}) + "/v1"
	}
}

func reset(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

// hang waits until the client has left.
func hang(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func says(text string) func(net.Conn) {
	return func(conn net.Conn) { _, _ = io.WriteString(conn, text) }
}

// accept answers as the service does when it has made the order.
func accept(conn net.Conn) {
	const body = `{"items":[{"orderId":"order_1"}]}`
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func answers(status int, header map[string]string, body string) func(*testing.T) string {
	return func(t *testing.T) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for k, v := range header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(srv.Close)
		return srv.URL + "/v1"
	}
}

// A row per way in which an order can come out.
func TestEveryOutcomeOfAnOrder(t *testing.T) {
	const made = `{"companyId":"comp_1","items":[{"orderType":"annual_report","orderId":"order_1",` +
		`"filingStatus":"submitted","subscriptionStatus":null,"new":{"x":1}}],"more":true}`
	agent := &filing.Order{
		UserID:          "user_1",
		CompanyID:       "comp_1",
		FilingState:     "DE",
		EIN:             &filing.EINItem{},
		RegisteredAgent: &filing.RegisteredAgentItem{},
	}
	qualification := &filing.Order{
		UserID:               "user_1",
		CompanyID:            "comp_1",
		FilingState:          "DE",
		ForeignQualification: &filing.QualificationItem{},
	}
	huge := &filing.Order{
		UserID:      "user_1",
		FilingState: "DE",
		Formation:   &filing.FormationItem{AlternativeNames: []string{strings.Repeat("x", 8<<20)}},
	}

	for _, tc := range []struct {
		name    string
		server  func(*testing.T) string
		order   *filing.Order // nil: an annual report
		timeout time.Duration
		want    filing.Answer // Message and Detail: a part of them
	}{
		{name: "nobody listens", server: func(t *testing.T) string {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ln.Close()
			return "http://" + ln.Addr().String() + "/v1"
		}, want: filing.Answer{
			Kind:    filing.NotSent,
			Message: "the filing service refused the connection",
			Detail:  "connect",
		}},
		{name: "a certificate nobody knows", server: func(t *testing.T) string {
			srv := httptest.NewUnstartedServer(http.NotFoundHandler())
			srv.Config.ErrorLog = discard
			srv.StartTLS()
			t.Cleanup(srv.Close)
			return srv.URL + "/v1"
		}, want: filing.Answer{
			Kind:    filing.NotSent,
			Message: "the certificate of the filing service is not trusted",
			Detail:  "x509",
		}},
		{name: "no TLS on the other side", server: func(t *testing.T) string {
			return "https://" + listen(t, func(conn net.Conn, _ int) { says("SSH-2.0-OpenSSH\r\n")(conn) }) + "/v1"
		}, want: filing.Answer{
			Kind:    filing.NotSent,
			Message: "no secure connection (TLS) to the filing service could be made",
			Detail:  "tls: ",
		}},
		{name: "time-out in the TLS handshake", timeout: 50 * time.Millisecond, server: func(t *testing.T) string {
			return "https://" + listen(t, func(conn net.Conn, _ int) { hang(conn) }) + "/v1"
		}, want: filing.Answer{
			Kind:    filing.NotSent,
			Message: "the connection to the filing service timed out",
			Detail:  "50ms have passed",
		}},

		{name: "reset after the first byte", server: func(t *testing.T) string {
			return "http://" + listen(t, func(conn net.Conn, _ int) {
				_, _ = conn.Read(make([]byte, 1))
				reset(conn)
			}) + "/v1"
		}, want: filing.Answer{
			Kind:    filing.NoAnswer,
			Message: "the connection broke before an answer came",
			Detail:  "read",
		}},
		{
			name:   "reset after the request",
			server: afterReading(t, reset),
			want: filing.Answer{
				Kind:    filing.NoAnswer,
				Message: "the connection broke before an answer came",
				Detail:  "read",
			},
		},
		{
			name:   "closed after the request",
			server: afterReading(t, func(net.Conn) {}),
			want: filing.Answer{
				Kind:    filing.NoAnswer,
				Message: "the connection was closed before an answer came",
				Detail:  "EOF",
			},
		},
		{
			name:   "closed within the status line",
			server: afterReading(t, says("HTTP/1.1 20")),
			want:   filing.Answer{Kind: filing.NoAnswer, Message: "malformed HTTP"},
		},
		{
			name:   "closed within the header",
			server: afterReading(t, says("HTTP/1.1 200 OK\r\nContent-")),
			want: filing.Answer{
				Kind:    filing.NoAnswer,
				Message: "the answer is not valid HTTP or JSON",
				Detail:  "malformed MIME header",
			},
		},
		{
			name:   "an answer that is no HTTP",
			server: afterReading(t, says("what do you want?\r\n\r\n")),
			want:   filing.Answer{Kind: filing.NoAnswer},
		},
		{name: "a header without end", server: afterReading(t, func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("y", 1<<20)+"\r\n\r\n")
		}), want: filing.Answer{Kind: filing.NoAnswer}},
		{
			name:    "time-out while writing",
			order:   huge,
			timeout: 200 * time.Millisecond,
			server: func(t *testing.T) string {
				return "http://" + listen(t, func(conn net.Conn, _ int) {
					_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
					time.Sleep(500 * time.Millisecond)
				}) + "/v1"
			},
			want: filing.Answer{Kind: filing.NoAnswer, Message: "no answer came in time", Detail: "200ms have passed"},
		},
		{
			name:    "time-out while waiting",
			timeout: 50 * time.Millisecond,
			server:  afterReading(t, hang),
			want: filing.Answer{
				Kind:    filing.NoAnswer,
				Message: "no answer came in time",
				Detail:  "50ms have passed",
			},
		},

		{name: "time-out in the body", timeout: 50 * time.Millisecond, server: afterReading(t, func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"companyId\":")
			hang(conn)
		}), want: filing.Answer{
			Kind:    filing.Unreadable,
			Status:  200,
			Message: "the filing service answered 200 OK, but the rest of its answer did not come in time",
			Detail:  "50ms have passed",
		}},
		{
			name:   "half a body",
			server: afterReading(t, says("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{\"companyId\":")),
			want: filing.Answer{
				Kind:    filing.Unreadable,
				Status:  201,
				Message: "the filing service answered 201 Created, but its answer was cut off",
				Detail:  "unexpected EOF",
			},
		},
		{
			name:   "half a body that is whole JSON",
			server: afterReading(t, says("HTTP/1.1 201 Created\r\nContent-Length: 1000\r\n\r\n"+made)),
			want:   filing.Answer{Kind: filing.Unreadable, Status: 201},
		},
		{
			name:   "half a body of a refusal",
			server: afterReading(t, says("HTTP/1.1 422 No\r\nContent-Length: 100\r\n\r\n{\"message\":\"no")),
			want:   filing.Answer{Kind: filing.Refused, Status: 422, Message: "422 Unprocessable Entity"},
		},
		{
			name:   "garbage",
			server: answers(200, nil, "\x00\x01\x02"),
			want: filing.Answer{
				Kind:    filing.Unreadable,
				Status:  200,
				Message: "the filing service answered 200 OK, but its answer is not valid JSON",
				Detail:  "invalid character",
			},
		},
		{
			name:   "nothing",
			server: answers(201, nil, ""),
			want: filing.Answer{
				Kind:    filing.Unreadable,
				Status:  201,
				Message: "the filing service answered 201 Created, but its answer is not valid JSON",
				Detail:  "unexpected end of JSON",
			},
		},
		{name: "204", server: answers(204, nil, ""), want: filing.Answer{Kind: filing.Unreadable, Status: 204}},
		{
			name:   "HTML",
			server: answers(200, map[string]string{"Content-Type": "text/html"}, "<html>Sign in</html>"),
			want:   filing.Answer{Kind: filing.Unreadable, Status: 200},
		},
		{
			name:   "null",
			server: answers(200, nil, "null"),
			want:   filing.Answer{Kind: filing.Unreadable, Status: 200, Message: "without order ids"},
		},
		{name: "a list", server: answers(200, nil, "[]"), want: filing.Answer{Kind: filing.Unreadable, Status: 200}},
		{
			name:   "no items",
			server: answers(200, nil, `{"companyId":"comp_1"}`),
			want:   filing.Answer{Kind: filing.Unreadable, Status: 200, Message: "without order ids"},
		},
		{
			name:   "items without ids",
			server: answers(200, nil, `{"companyId":"comp_1","items":[{"orderType":"ein"}]}`),
			want:   filing.Answer{Kind: filing.Unreadable, Status: 200},
		},
		{
			name:   "two answers in one",
			server: answers(200, nil, made+made),
			want:   filing.Answer{Kind: filing.Unreadable, Status: 200},
		},
		{
			name:   "a body without end",
			server: answers(200, nil, `{"companyId":"`+strings.Repeat("x", 2<<20)+`"}`),
			want:   filing.Answer{Kind: filing.Unreadable, Status: 200, Message: "longer than"},
		},

		{
			name:   "200",
			server: answers(200, nil, made),
			want:   filing.Answer{Kind: filing.Accepted, Status: 200, CompanyID: "comp_1"},
		},
		{
			name:   "201",
			server: answers(201, nil, made),
			want:   filing.Answer{Kind: filing.Accepted, Status: 201, CompanyID: "comp_1"},
		},
		{
			name:   "202 as text",
			server: answers(202, map[string]string{"Content-Type": "text/plain"}, "\n"+made+"\n"),
			want:   filing.Answer{Kind: filing.Accepted, Status: 202, CompanyID: "comp_1"},
		},
		{
			name:   "order ids without a company",
			server: answers(201, nil, `{"items":[{"orderType":"x"},{"orderType":"annualReport","orderId":"order_1"}]}`),
			want:   filing.Answer{Kind: filing.Accepted, Status: 201},
		},
		{
			name: "a field of another type",
			server: answers(
				201, nil, `{"companyId":7,"items":[{"createdAt":12,"orderType":"annualReport","orderId":"order_1",`+
					`"subscriptionStatus":false}]}`),
			want: filing.Answer{Kind: filing.Accepted, Status: 201},
		},

		{
			name:   "another company",
			server: answers(201, nil, strings.Replace(made, "comp_1", "comp_2", 1)),
			want: filing.Answer{
				Kind:    filing.Unreadable,
				Status:  201,
				Message: "answered for the company comp_2 (order_1), but the order was for comp_1",
			},
		},
		{
			name: "101",
			server: afterReading(
				t, says("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")),
			want: filing.Answer{Kind: filing.Unreadable, Status: 101, Message: "101 Switching Protocols"},
		},
		{
			name:   "302",
			server: answers(302, map[string]string{"Location": "/v1/orders"}, ""),
			want:   filing.Answer{Kind: filing.Unreadable, Status: 302},
		},
		{
			name:   "307",
			server: answers(307, map[string]string{"Location": "/v1/orders"}, ""),
			want:   filing.Answer{Kind: filing.Unreadable, Status: 307},
		},
		{
			name:   "400",
			server: answers(400, nil, `{"message":"filingYear must be four digits"}`),
			want:   filing.Answer{Kind: filing.Refused, Status: 400, Message: "filingYear must be four digits"},
		},
		{
			name:   "401",
			server: answers(401, nil, `{"message":"key expired"}`),
			want:   filing.Answer{Kind: filing.KeyRefused, Status: 401, Message: "key expired"},
		},
		{
			name:   "402",
			server: answers(402, nil, `{"error":"Insufficient balance"}`),
			want:   filing.Answer{Kind: filing.NoFunds, Status: 402, Message: "Insufficient balance"},
		},
		{
			name:   "403",
			server: answers(403, nil, ""),
			want:   filing.Answer{Kind: filing.KeyRefused, Status: 403, Message: "403 Forbidden"},
		},
		{
			name:   "404",
			server: answers(404, nil, "nope"),
			want:   filing.Answer{Kind: filing.Refused, Status: 404, Message: "404 Not Found"},
		},
		{name: "408", server: answers(408, nil, ""), want: filing.Answer{Kind: filing.Refused, Status: 408}},
		{
			name:   "409 for the EIN",
			order:  agent,
			server: answers(409, nil, `{"message":"EIN already requested for this company"}`),
			want:   filing.Answer{Kind: filing.HasItem, Status: 409, Has: filing.EIN, Message: "EIN already"},
		},
		{
			name:   "409 for the qualification",
			order:  qualification,
			server: answers(409, nil, `{"error":{"message":"Foreign qualification already purchased for this state"}}`),
			want:   filing.Answer{Kind: filing.HasItem, Status: 409, Has: filing.ForeignQualification},
		},
		{
			name:   "409 for a product that was not ordered",
			server: answers(409, nil, `{"message":"EIN already exists for this company"}`),
			want:   filing.Answer{Kind: filing.Refused, Status: 409},
		},
		{
			name:   "409 for something else",
			server: answers(409, nil, `{"message":"version conflict"}`),
			want:   filing.Answer{Kind: filing.Refused, Status: 409, Message: "version conflict"},
		},
		{
			name: "409 that is cut off",
			server: afterReading(
				t, says("HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: "+
					"90\r\nConnection: close\r\n\r\n{\"message\":\"EIN alr")),
			want: filing.Answer{
				Kind:    filing.NotSent,
				Status:  409,
				Message: "the filing service refused it (409 Conflict), but its answer was cut off",
				Detail:  "unexpected EOF",
			},
		},
		{
			name:   "422",
			server: answers(422, nil, `{"errors":[{"message":"a is wrong"},{"message":"b is wrong"}]}`),
			want:   filing.Answer{Kind: filing.Refused, Status: 422, Message: "a is wrong; b is wrong"},
		},
		{
			name:   "429",
			server: answers(429, map[string]string{"Retry-After": "7"}, ""),
			want: filing.Answer{
				Kind:       filing.Busy,
				Status:     429,
				RetryAfter: 7 * time.Second,
				Message:    "429 Too Many Requests",
			},
		},
		{
			name:   "500",
			server: answers(500, nil, `{"message":"oops"}`),
			want:   filing.Answer{Kind: filing.ServerError, Status: 500, Message: "oops"},
		},
		{name: "501", server: answers(501, nil, ""), want: filing.Answer{Kind: filing.ServerError, Status: 501}},
		{
			name:   "502",
			server: answers(502, nil, "<html>"),
			want:   filing.Answer{Kind: filing.ServerError, Status: 502, Message: "502 Bad Gateway"},
		},
		{
			name:   "503 of a gateway",
			server: answers(503, nil, ""),
			want:   filing.Answer{Kind: filing.ServerError, Status: 503},
		},
		{
			name:   "503",
			server: answers(503, map[string]string{"Retry-After": "2"}, ""),
			want:   filing.Answer{Kind: filing.Busy, Status: 503, RetryAfter: 2 * time.Second},
		},
		{name: "504", server: answers(504, nil, ""), want: filing.Answer{Kind: filing.ServerError, Status: 504}},
		{
			name:   "599",
			server: answers(599, nil, ""),
			want:   filing.Answer{Kind: filing.ServerError, Status: 599, Message: "599"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := client(t, filingapi.Config{BaseURL: tc.server(t), Timeout: tc.timeout})
			order := tc.order
			if order == nil {
				order = report()
			}
			got := c.PlaceOrder(t.Context(), order)
			if got.Kind != tc.want.Kind || got.Status != tc.want.Status || got.RetryAfter != tc.want.RetryAfter ||
				got.Has != tc.want.Has || got.CompanyID != tc.want.CompanyID ||
				!strings.Contains(got.Message, tc.want.Message) || !strings.Contains(got.Detail, tc.want.Detail) ||
				got.Detail != "" && got.Message == got.Detail {
				t.Errorf("got %+v\nwant %+v", got, tc.want)
			}
			if accepted := got.Kind == filing.Accepted; accepted != (len(got.Items) > 0) ||
				accepted != (got.Message == "") {
				t.Errorf("items %v and message %q do not fit %s", got.Items, got.Message, got.Kind)
			}
		})
	}
}

func TestAnOrderOfAContextThatIsOverIsNotSent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := client(t, filingapi.Config{BaseURL: answers(500, nil, "")(t)})
	if got := c.PlaceOrder(ctx, report()); got.Kind != filing.NotSent {
		t.Errorf("got %+v", got)
	}
}

func TestAnOrderCanceledAfterItWasWrittenIsUncertain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	base := afterReading(t, func(conn net.Conn) { cancel(); hang(conn) })(t)
	if got := client(t, filingapi.Config{BaseURL: base}).PlaceOrder(ctx, report()); got.Kind != filing.NoAnswer {
		t.Errorf("got %+v", got)
	}
}

// Of a transport that is not the client's own, nothing is known of what it wrote.
func TestFailuresOfAnotherTransport(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, tc := range []struct {
		name      string
		transport http.RoundTripper
		want      filing.AnswerKind
	}{
		{"that says nothing", transport(func(*http.Request) (*http.Response, error) { return nil, io.EOF }),
			filing.NoAnswer},
		{"that cannot dial", transport(func(*http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("round trip: %w", refused)
		}), filing.NotSent},
		{"that counts no bytes", new(http.Transport), filing.NoAnswer},
	} {
		base := afterReading(t, func(net.Conn) {})(t)
		c := client(t, filingapi.Config{BaseURL: base, Transport: tc.transport})
		if got := c.PlaceOrder(t.Context(), report()); got.Kind != tc.want {
			t.Errorf("%s: got %+v, want %s", tc.name, got, tc.want)
		}
	}
}

type limiter func(context.Context) error

func (l limiter) Wait(ctx context.Context) error { return l(ctx) }

func TestAnOrderWhoseTurnNeverComesIsNotSent(t *testing.T) {
	c := client(t, filingapi.Config{BaseURL: answers(500, nil, "")(t),
		Limiter: limiter(func(context.Context) error { return errors.New("stopped") })})
	if got := c.PlaceOrder(t.Context(), report()); got.Kind != filing.NotSent ||
		!strings.Contains(got.Message, "stopped") {
		t.Errorf("got %+v", got)
	}
}

// acceptOne serves connections that answer one request, and die with the second.
func acceptOne(t *testing.T, received *atomic.Int64, die func(net.Conn)) func(net.Conn, int) {
	return func(conn net.Conn, _ int) {
		r := bufio.NewReader(conn)
		for i := 0; ; i++ {
			req, _ := readRequest(t, r)
			if req == nil {
				return
			}
			received.Add(1)
			if i == 1 {
				die(conn)
				return
			}
			accept(conn)
		}
	}
}

// A connection that answered once and then dies with the second request in its
// hands is the case that tempts the transport to send it again.
func TestTheTransportNeverRepeatsAnOrder(t *testing.T) {
	for name, die := range map[string]func(net.Conn){"reset": reset, "closed": func(c net.Conn) { c.Close() }} {
		t.Run(name, func(t *testing.T) {
			var received atomic.Int64
			addr := listen(t, acceptOne(t, &received, die))
			c := client(t, filingapi.Config{
				BaseURL: "http://" + addr + "/v1",
				Breaker: filingapi.BreakerLimits{Failures: 1000},
			})
			for i := range 40 {
				want := filing.Accepted
				if i%2 == 1 {
					want = filing.NoAnswer
				}
				if got := c.PlaceOrder(t.Context(), report()); got.Kind != want {
					t.Fatalf("order %d: got %+v, want %s", i, got, want)
				}
			}
			if n := received.Load(); n != 40 {
				t.Errorf("40 orders were received %d times", n)
			}
		})
	}
}

// wantTrue checks the answer to an order that the server received n times.
func wantTrue(t *testing.T, user string, a filing.Answer, n int) {
	t.Helper()
	switch {
	case n > 1:
		t.Errorf("%s was received %d times", user, n)
	case a.Kind == filing.Accepted && n != 1, a.Kind == filing.NotSent && n != 0:
		t.Errorf("%s was received %d times, and is said to be %s", user, n, a.Kind)
	case a.Kind != filing.Accepted && a.Kind != filing.NotSent && a.Kind != filing.NoAnswer:
		t.Errorf("%s: %+v", user, a)
	}
}

// hangUp serves connections that end, one way or another, after up to three
// orders. received is called with the user of each.
func hangUp(t *testing.T, received func(user string)) func(net.Conn, int) {
	return func(conn net.Conn, n int) {
		r := bufio.NewReader(conn)
		for i := 0; i <= n%3; i++ {
			req, body := readRequest(t, r)
			if req == nil {
				return
			}
			var order filing.Order
			if err := json.Unmarshal([]byte(body), &order); err != nil {
				t.Error(err)
			}
			received(order.UserID)
			accept(conn)
		}
		time.Sleep(time.Duration(n%4) * 50 * time.Microsecond)
		if tcp, ok := conn.(*net.TCPConn); ok && n%2 == 0 {
			_ = tcp.SetLinger(0)
		}
	}
}

// A server that hangs up on idle connections at the worst moment: whatever the
// client says of an order must be true of the server's books.
func TestWhatIsSaidOfAnOrderIsTrue(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
			var mu sync.Mutex
			received := map[string]int{}
			serve := hangUp(t, func(user string) {
				mu.Lock()
				defer mu.Unlock()
				received[user]++
			})
			cfg := filingapi.Config{
				BaseURL: "http://" + listen(t, serve) + "/v1",
				Breaker: filingapi.BreakerLimits{Failures: 1 << 20},
			}
			var trust *tls.Config
			if secure {
				cfg.BaseURL, trust = listenTLS(t, serve)
			}
			c := client(t, cfg)
			if secure {
				filingapi.Trust(c, trust)
			}

			said := make([]map[string]filing.Answer, 16)
			var workers sync.WaitGroup
			for w := range said {
				said[w] = map[string]filing.Answer{}
				workers.Go(func() {
					for i := range 40 {
						order := report()
						order.UserID = fmt.Sprintf("user_%d_%d", w, i)
						said[w][order.UserID] = c.PlaceOrder(t.Context(), order)
					}
				})
			}
			workers.Wait()

			mu.Lock()
			defer mu.Unlock()
			counts := map[filing.AnswerKind]int{}
			for _, byUser := range said {
				for user, a := range byUser {
					counts[a.Kind]++
					wantTrue(t, user, a, received[user])
				}
			}
			t.Logf("%v", counts)
		})
	}
}

// listenTLS is listen with the certificate that httptest makes.
func listenTLS(t *testing.T, serve func(net.Conn, int)) (base string, trust *tls.Config) {
	borrowed := httptest.NewTLSServer(nil)
	t.Cleanup(borrowed.Close)
	addr := listen(t, func(conn net.Conn, n int) {
		secure := tls.Server(conn, &tls.Config{Certificates: borrowed.TLS.Certificates})
		defer secure.Close()
		serve(secure, n)
	})
	return "https://" + addr + "/v1",
		&tls.Config{RootCAs: borrowed.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
}

// A connection that the other side closed while it lay idle takes no order: it
// must be as if nothing had been sent, or be sent on a fresh connection.
func TestAnIdleConnectionThatDiedIsCertain(t *testing.T) {
	closed := make(chan struct{}, 1)
	addr := listen(t, func(conn net.Conn, n int) {
		if req, _ := readRequest(t, bufio.NewReader(conn)); req != nil {
			accept(conn)
		}
		conn.Close()
		closed <- struct{}{}
	})
	c := client(t, filingapi.Config{BaseURL: "http://" + addr + "/v1"})
	for range 20 {
		if got := c.PlaceOrder(t.Context(), report()); got.Kind != filing.Accepted && got.Kind != filing.NotSent {
			t.Fatalf("got %+v", got)
		}
		<-closed
		time.Sleep(5 * time.Millisecond) // for the news to arrive; real sockets know no fake clock
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	var opened atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"items":[{"orderId":"order_1"}]}`)
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	c := client(t, filingapi.Config{BaseURL: srv.URL + "/v1", Concurrency: 64})
	var workers sync.WaitGroup
	for range 64 {
		workers.Go(func() {
			for range 50 {
				if got := c.PlaceOrder(t.Context(), report()); got.Kind != filing.Accepted {
					t.Errorf("got %+v", got)
				}
			}
		})
	}
	workers.Wait()
	// A request that finds none idle starts to dial, and may be given one that
	// has become idle meanwhile: somewhat more than 64, and never one each.
	if n := opened.Load(); n > 2*64 {
		t.Errorf("3200 orders at 64 in flight opened %d connections", n)
	}
}
