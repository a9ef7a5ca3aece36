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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/goldentest"
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

// made is the answer to an order that the service has made.
const made = `{"items":[{"orderId":"order_1"}]}`

func accept(conn net.Conn) {
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(made), made)
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

// TestEveryOutcomeOfAnOrder has the ways in which an order comes out without a whole answer.
func TestEveryOutcomeOfAnOrder(t *testing.T) {
	huge := &filing.Order{
		UserID:      "user_1",
		FilingState: "DE",
		Formation:   &filing.FormationItem{AlternativeNames: []string{strings.Repeat("x", 8<<20)}},
	}

	unsent := func(message, detail string) filing.Answer {
		return filing.Answer{Kind: filing.NotSent, Message: message, Detail: detail}
	}
	lost := func(message, detail string) filing.Answer {
		return filing.Answer{Kind: filing.NoAnswer, Message: message, Detail: detail}
	}
	unreadable := func(message, detail string) filing.Answer {
		return filing.Answer{Kind: filing.Unreadable, Status: 200, Message: message, Detail: detail}
	}
	at := func(scheme string, serve func(net.Conn)) func(*testing.T) string {
		return func(t *testing.T) string {
			return scheme + "://" + listen(t, func(conn net.Conn, _ int) { serve(conn) }) + "/v1"
		}
	}
	// A busy machine needs a part of it until the server hangs.
	const timeout = time.Second
	for _, tc := range []outcome{
		{"nobody listens", nobodyListens, nil, 0, unsent("the filing service refused the connection", "connect")},
		{"a certificate nobody knows", func(t *testing.T) string {
			srv := httptest.NewUnstartedServer(http.NotFoundHandler())
			srv.Config.ErrorLog = discard
			srv.StartTLS()
			t.Cleanup(srv.Close)
			return srv.URL + "/v1"
		}, nil, 0, unsent("the certificate of the filing service is not trusted", "x509")},
		{"no TLS on the other side", at("https", says("SSH-2.0-OpenSSH\r\n")), nil, 0,
			unsent("the address of a sandbox begins with http://", "tls: ")},
		{"time-out in the TLS handshake", at("https", hang), nil, timeout,
			unsent("the connection to the filing service timed out", "1s have passed")},

		{"reset after the first byte", at("http", func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1))
			reset(conn)
		}), nil, 0, lost("the connection broke before an answer came", "read")},
		{"reset after the request", afterReading(t, reset), nil, 0,
			lost("the connection broke before an answer came", "read")},
		{"closed after the request", afterReading(t, func(net.Conn) {}), nil, 0,
			lost("the connection was closed before an answer came", "EOF")},
		{"a header without end", afterReading(t, says("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("y", 1<<20)+"\r\n\r\n")),
			nil, 0, lost("", "")},
		{"time-out while writing", func(t *testing.T) string {
			return "http://" + listen(t, func(conn net.Conn, _ int) {
				_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
				<-t.Context().Done() // nothing is read until the order has ended
			}) + "/v1"
		}, huge, timeout, lost("no answer came in time", "1s have passed")},
		{"time-out while waiting", afterReading(t, hang), nil, timeout,
			lost("no answer came in time", "1s have passed")},

		{"time-out in the body", afterReading(t, func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"companyId\":")
			hang(conn)
		}), nil, timeout, unreadable("the rest of its answer did not come in time", "1s have passed")},
		{"a body without end", answers(200, nil, `{"companyId":"`+strings.Repeat("x", 2<<20)+`"}`), nil, 0,
			unreadable("longer than", "")},
	} {
		t.Run(tc.name, tc.run)
	}
}

// TestAnswersToAnOrder has what an order comes to by the filing service's answer.
func TestAnswersToAnOrder(t *testing.T) {
	on := filing.Order{UserID: "user_1", CompanyID: "comp_1", FilingState: "DE"}
	agent, qualification := on, on
	agent.EIN, agent.RegisteredAgent = &filing.EINItem{}, &filing.RegisteredAgentItem{}
	qualification.ForeignQualification = &filing.QualificationItem{}
	orders := map[string]*filing.Order{"report": report(), "agent": &agent, "qualification": &qualification}
	goldentest.Lines(t, "testdata/orders.txt", func(t *testing.T, fields []string) string {
		base := afterReading(t, says(fields[3]))
		if number, field, _ := strings.Cut(fields[2], " "); number != "raw" {
			status, err := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			header := make(map[string]string)
			if name, value, found := strings.Cut(field, ": "); found {
				header[name] = value
			}
			base = answers(status, header, fields[3])
		}
		got := client(t, filingapi.Config{BaseURL: base(t)}).PlaceOrder(t.Context(), orders[fields[1]])
		if accepted := got.Kind == filing.Accepted; accepted != (len(got.Items) > 0) {
			t.Errorf("%s: items %v do not fit %s", fields[0], got.Items, got.Kind)
		}
		text := fmt.Sprintf("%s %d %s %s wait %s: %s (%s)", got.Kind, got.Status, got.CompanyID, got.Has,
			got.RetryAfter, got.Message, got.Detail)
		return strings.Join(strings.Fields(text), " ")
	})
}

// outcome is a way in which an order can come out.
type outcome struct {
	name    string
	server  func(*testing.T) string
	order   *filing.Order // nil: an annual report
	timeout time.Duration
	want    filing.Answer // Message and Detail: a part of them
}

func (tc outcome) run(t *testing.T) {
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
	if accepted := got.Kind == filing.Accepted; accepted != (len(got.Items) > 0) || accepted != (got.Message == "") {
		t.Errorf("items %v and message %q do not fit %s", got.Items, got.Message, got.Kind)
	}
}

// nobodyListens is an address that refuses connections.
func nobodyListens(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	return "http://" + ln.Addr().String() + "/v1"
}

// What is called off before it is sent was not sent, and afterwards it is uncertain.
func TestPlaceOrder_Canceled(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	c := client(t, filingapi.Config{BaseURL: answers(500, nil, "")(t)})
	if got := c.PlaceOrder(over, report()); got.Kind != filing.NotSent {
		t.Errorf("got %+v", got)
	}
	limited := client(t, filingapi.Config{BaseURL: answers(500, nil, "")(t), Limiter: limiter{}})
	if got := limited.PlaceOrder(t.Context(), report()); got.Kind != filing.NotSent ||
		!strings.Contains(got.Message, "stopped") {
		t.Errorf("got %+v", got)
	}
	sent := func(call func(context.Context, *filingapi.Client)) {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		base := afterReading(t, func(conn net.Conn) { leave(); hang(conn) })(t)
		call(ctx, client(t, filingapi.Config{BaseURL: base}))
	}
	sent(func(ctx context.Context, c *filingapi.Client) {
		if got := c.PlaceOrder(ctx, report()); got.Kind != filing.NoAnswer {
			t.Errorf("got %+v", got)
		}
	})
	sent(func(ctx context.Context, c *filingapi.Client) {
		if _, err := c.Company(ctx, "comp_1"); !errors.Is(err, context.Canceled) ||
			!errors.Is(err, filingapi.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
}

// limiter is a Limiter that is stopped.
type limiter struct{}

func (limiter) Wait(context.Context) error { return errors.New("stopped") }

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

// hangUp serves connections that end, one way or another, after up to three orders, some
// with the last one unanswered: that tempts a transport to send it again. received is
// called with the user of each.
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
			if i == n%3 && n%5 == 0 {
				break
			}
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

// An order leaves only if it may as soon as it has a connection, whether that is new or not: what allowed it may
// have ended while it was dialed.
func TestPlaceOrder_OnlyIf(t *testing.T) {
	for _, secure := range []bool{false, true} {
		var orders atomic.Int32
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				orders.Add(1)
			}
			_, _ = io.WriteString(w, `{"name":"Acme","companyId":"comp_1","items":[{"orderId":"order_1"}]}`)
		}))
		if secure {
			server.StartTLS()
		} else {
			server.Start()
		}
		t.Cleanup(server.Close)
		c := client(t, filingapi.Config{BaseURL: server.URL + "/v1"})
		if secure {
			filingapi.Trust(c, server.Client().Transport.(*http.Transport).TLSClientConfig)
		}
		for _, may := range []bool{false, true, false, true} {
			before := orders.Load()
			a := c.PlaceOrder(filingapi.OnlyIf(t.Context(), func() bool { return may }), report())
			want := map[bool]filing.AnswerKind{true: filing.Accepted, false: filing.NotSent}[may]
			if a.Kind != want || (orders.Load() > before) != may {
				t.Errorf("TLS %t, may be sent %t: %+v, %d orders", secure, may, a, orders.Load()-before)
			}
		}
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
