package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// raw sends one order over a bare connection and returns what came back until
// its end, and how that came.
func (b *bench) raw(body string) (string, error) {
	b.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintf(conn, "POST /v1/orders HTTP/1.1\r\nHost: sandbox\r\nConnection: close\r\nX-Api-Key: %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", testKey, len(body), body)
	got, err := io.ReadAll(conn)
	return string(got), err
}

// seen is the answer as the client sees it.
type seen struct {
	res  *http.Response // nil when there was no head of an answer
	body string
	err  error // how the connection or the body ended
	took time.Duration
}

// faultCase is a fault and what the client sees of it.
type faultCase struct {
	name       string
	fault      Fault
	alwaysMade bool
	ok         func(seen) bool
}

// TestFaults looks at each kind of fault from outside, before and after the order is made.
func TestFaults(t *testing.T) {
	status := func(want int) func(seen) bool {
		return func(s seen) bool { return s.res != nil && s.res.StatusCode == want && json.Valid([]byte(s.body)) }
	}
	retry := func(want int, ok func(string) bool) func(seen) bool {
		return func(s seen) bool { return status(want)(s) && ok(s.res.Header.Get("Retry-After")) }
	}
	none := func(h string) bool { return h == "" }
	unreadable := func(s seen) bool {
		return s.res != nil && s.res.StatusCode == 201 && s.err == nil && !json.Valid([]byte(s.body))
	}
	inTheFuture := func(h string) bool {
		at, err := http.ParseTime(h)
		wait := time.Until(at)
		return err == nil && wait > 3*time.Second && wait < 6*time.Second
	}
	for _, tt := range []faultCase{
		{name: "time-out", fault: Fault{Kind: FaultTimeout, For: 50 * time.Millisecond},
			ok: func(s seen) bool { return s.res == nil && s.body == "" && s.took >= 50*time.Millisecond }},
		{name: "reset", fault: Fault{Kind: FaultReset},
			ok: func(s seen) bool { return s.res == nil && errors.Is(s.err, syscall.ECONNRESET) }},
		{name: "EOF", fault: Fault{Kind: FaultEOF},
			ok: func(s seen) bool { return s.res == nil && s.body == "" && s.err == nil }},
		{name: "half a body", fault: Fault{Kind: FaultHalfBody},
			ok: func(s seen) bool {
				return s.res.StatusCode == 201 && errors.Is(s.err, io.ErrUnexpectedEOF) && s.body != ""
			}},
		{name: "garbage", fault: Fault{Kind: FaultGarbage}, ok: unreadable},
		{name: "HTML", fault: Fault{Kind: FaultHTML},
			ok: func(s seen) bool {
				return unreadable(s) && strings.HasPrefix(s.res.Header.Get("Content-Type"), "text/html")
			}},
		{name: "empty", fault: Fault{Kind: FaultEmpty}, ok: func(s seen) bool { return unreadable(s) && s.body == "" }},
		{name: "no order ids", fault: Fault{Kind: FaultNoOrderIDs},
			ok: func(s seen) bool {
				return status(201)(s) && !strings.Contains(s.body, "order_") && strings.Contains(s.body, "items")
			}},
		{name: "slow body", fault: Fault{Kind: FaultSlowBody, For: 100 * time.Millisecond}, alwaysMade: true,
			ok: func(s seen) bool {
				return status(201)(s) && strings.Contains(s.body, "order_") && s.took >= 90*time.Millisecond
			}},
		{name: "a redirect", fault: Fault{Kind: FaultStatus, Status: 307},
			ok: func(s seen) bool { return status(307)(s) && s.res.Header.Get("Location") == "/v1/orders" }},
		{name: "a late refusal", fault: Fault{Kind: FaultStatus, Status: 400, For: 50 * time.Millisecond},
			ok: func(s seen) bool { return status(400)(s) && s.took >= 50*time.Millisecond }},
		{name: "500", fault: Fault{Kind: FaultStatus, Status: 500}, ok: status(500)},
		{name: "502", fault: Fault{Kind: FaultStatus, Status: 502}, ok: status(502)},
		{name: "504", fault: Fault{Kind: FaultStatus, Status: 504}, ok: status(504)},
		{name: "503", fault: Fault{Kind: FaultStatus, Status: 503}, ok: retry(503, none)},
		{name: "503 with seconds", fault: Fault{Kind: FaultStatus, Status: 503, RetryAfter: 1500 * time.Millisecond},
			ok: retry(503, func(h string) bool { return h == "2" })},
		{
			name:  "429 with a date",
			fault: Fault{Kind: FaultStatus, Status: 429, RetryAfter: 4 * time.Second, RetryDate: true},
			ok:    retry(429, inTheFuture),
		},
		{name: "429", fault: Fault{Kind: FaultStatus, Status: 429}, ok: retry(429, none)},
		{name: "401", fault: Fault{Kind: FaultStatus, Status: 401}, ok: status(401)},
		{name: "403", fault: Fault{Kind: FaultStatus, Status: 403}, ok: status(403)},
		{name: "402 although funded", fault: Fault{Kind: FaultStatus, Status: 402}, ok: status(402)},
	} {
		for _, after := range []bool{false, true} {
			name := tt.name + " before"
			if after {
				name = tt.name + " after"
			}
			t.Run(name, func(t *testing.T) { tt.run(t, after) })
		}
	}
}

func (tt faultCase) run(t *testing.T, after bool) {
	tt.fault.After = after
	b := newBench(t, Config{Faults: []Fault{tt.fault}})
	got := see(b, orderBody(`"companyId":"comp_held",`+report2026))
	if !tt.ok(got) {
		t.Errorf("got %+v, head %+v", got, got.res)
	}
	made := tt.alwaysMade || after
	books := b.Books()
	if (len(books.Orders) == 1) != made || (books.Charged > 0) != made {
		t.Errorf("orders made: %d, charged %d; want made %v", len(books.Orders), books.Charged, made)
	}
	if made && books.Orders[0].Fault == "" || len(books.Faults) != 1 {
		t.Errorf("the books do not name the fault: %+v", books)
	}
}

// see sends a request and returns the answer, as far as it can be read.
func see(b *bench, body string) seen {
	start := time.Now()
	answer, err := b.raw(body)
	got := seen{took: time.Since(start), body: answer, err: err}
	if res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil); err == nil {
		body, err := io.ReadAll(res.Body)
		got.res, got.body, got.err = res, string(body), err
	}
	return got
}

// bad is a fault that every order meets.
var bad = Fault{Kind: FaultStatus, Status: 500}

// with is the fault bad with a change.
func with(change func(*Fault)) Fault { f := bad; change(&f); return f }

// send places n orders, for two companies in turn.
func send(b *bench, n int) (statuses []int) {
	for i := range n {
		company := "comp_held"
		if i%2 == 1 {
			company = "comp_bare"
		}
		r := b.order(`"companyId":"` + company + `",` + edit(report2026, `"2026"`, `"2026",`+deAgent))
		statuses = append(statuses, r.status)
	}
	return statuses
}

func TestFaultChoice(t *testing.T) {
	for _, tt := range []struct {
		name   string
		faults []Fault
		want   []int
	}{
		{"all", []Fault{bad}, []int{500, 500, 500, 500}},
		{"times", []Fault{with(func(f *Fault) { f.Times = 2 })}, []int{500, 500, 201, 201}},
		{"the nth", []Fault{with(func(f *Fault) { f.Nth = 3 })}, []int{201, 201, 500, 201}},
		{"script", []Fault{with(func(f *Fault) { f.Nth = 1 }), with(func(f *Fault) { f.Nth, f.Status = 3, 503 })},
			[]int{500, 201, 503, 201}},
		{"company", []Fault{with(func(f *Fault) { f.Company = "comp_bare" })}, []int{201, 500, 201, 500}},
		{"nth of a company", []Fault{with(func(f *Fault) { f.Company, f.Nth = "comp_bare", 2 })},
			[]int{201, 201, 201, 500}},
		{"match", []Fault{with(func(f *Fault) {
			f.Match = func(_ *http.Request, body []byte) bool { return strings.Contains(string(body), "comp_held") }
		})}, []int{500, 201, 500, 201}},
		{"first that fires", []Fault{with(func(f *Fault) { f.Times = 1 }), with(func(f *Fault) { f.Status = 502 })},
			[]int{500, 502, 502, 502}},
		{"other endpoint", []Fault{with(func(f *Fault) { f.Endpoint = "GET *" })}, []int{201, 201, 201, 201}},
		{"everything", []Fault{with(func(f *Fault) { f.Endpoint = "*" })}, []int{500, 500, 500, 500}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, Config{Faults: tt.faults})
			if got := send(b, len(tt.want)); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestNthCountsFromTheInjection(t *testing.T) {
	b := newBench(t, Config{})
	send(b, 2)
	b.Inject(with(func(f *Fault) { f.Nth = 1 }))
	if got := send(b, 2); !slices.Equal(got, []int{500, 201}) {
		t.Errorf("got %v", got)
	}
}

func TestFaultRateFollowsTheSeed(t *testing.T) {
	run := func(seed uint64) []int {
		return send(newBench(t, Config{Seed: seed, Faults: []Fault{with(func(f *Fault) { f.Rate = 0.5 })}}), 40)
	}
	first := run(7)
	hit := len(slices.DeleteFunc(slices.Clone(first), func(s int) bool { return s != 500 }))
	if !slices.Equal(first, run(7)) || slices.Equal(first, run(8)) || hit < 8 || hit > 32 {
		t.Errorf("hit %d of 40", hit)
	}
}

func TestFaultsOfLookups(t *testing.T) {
	b := newBench(t, Config{Faults: []Fault{
		{Kind: FaultStatus, Status: 502, Endpoint: "GET /users/{id}"},
		{Kind: FaultGarbage, Endpoint: "GET /companies/{id}", Company: "comp_bare"},
	}})
	for path, want := range map[string]int{"/v1/users/user_1": 502, "/v1/companies/comp_held": 200,
		"/v1/organization": 200} {
		if r := b.do("GET", path, ""); r.status != want || want == 200 && !json.Valid(r.body) {
			t.Errorf("%s: got %d %s", path, r.status, r.body)
		}
	}
	if r := b.do("GET", "/v1/companies/comp_bare", ""); r.status != 200 || json.Valid(r.body) {
		t.Errorf("got %d %s", r.status, r.body)
	}
}

func TestOutage(t *testing.T) {
	b := newBench(t, Config{})
	b.SetOutage(Outage503)
	if r := b.order(heldReport); r.status != 503 {
		t.Errorf("got %d %s", r.status, r.body)
	}
	if r := b.do("GET", "/v1/organization", ""); r.status != 503 {
		t.Errorf("got %d %s", r.status, r.body)
	}
	if r := b.do("GET", "/books.json", ""); r.status != 200 {
		t.Errorf("the books are away as well: %d", r.status)
	}
	b.SetOutage(OutageRefuse)
	if _, err := b.raw(orderBody(heldReport)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
	b.SetOutage(OutageNone)
	b.mustOrder(heldReport)
	if n := len(b.Books().Orders); n != 1 {
		t.Errorf("%d orders", n)
	}
}
