package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// network is between the processes and the filing service. Look-ups pass. Requests that buy
// something wait until a step decides about them.
type network struct {
	service *sandbox.Service
	handler http.Handler
	// merged are the companies that the filing service answers instead of others.
	merged map[string]string
	// failing is the number of look-ups that fail next.
	failing int
	// hidden is the product whose price the filing service does not list.
	hidden string
	// partial reports whether a 409 about the EIN leaves the other items of the order as ordered.
	partial bool
	// fail records what is wrong.
	fail func(format string, args ...any)

	mu      sync.Mutex
	waiting []*request
	// late are requests whose clients have left, and that may still arrive.
	late []*request
	sent int
	// lost has the times at which requests were sent that the filing service may still work on, by
	// their bodies.
	lost map[string]time.Time
}

// request is a request that waits in the network.
type request struct {
	*http.Request
	body    []byte
	process *process
	sentAt  time.Time
	// number counts the requests of a world.
	number int
	// answer is the filing service's answer, nil before the delivery.
	answer *httptest.ResponseRecorder
	reply  chan reply
}

type reply struct {
	*http.Response
	error
}

var (
	errReset  = errors.New("connection reset by peer")
	errNoDial = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
)

// transport sends the requests of one process.
type transport struct {
	*network
	process *process
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	w := &request{Request: r, body: body, process: t.process, sentAt: time.Now(), reply: make(chan reply, 1)}
	if r.Method != http.MethodPost {
		return t.pass(w)
	}
	t.mu.Lock()
	if at, sent := t.lost[string(body)]; sent && time.Since(at) < requestTimeout {
		t.fail("%s was sent %s before, and the filing service may still work on it", w, time.Since(at))
	}
	t.sent++
	w.number = t.sent
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()
	select {
	case got := <-w.reply:
		return got.Response, got.error
	case <-r.Context().Done():
		// Some requests arrive although their clients have left, at once or later.
		t.take(w)
		switch {
		case w.answer != nil:
		case w.number%3 == 0:
			t.deliver(w)
		case w.number%3 == 1:
			t.mu.Lock()
			t.late = append(t.late, w)
			t.mu.Unlock()
		}
		return nil, r.Context().Err()
	}
}

// pass delivers a look-up or an update and answers it at once.
func (n *network) pass(w *request) (*http.Response, error) {
	if n.failing > 0 {
		n.failing--
		return nil, errReset
	}
	n.deliver(w)
	response := w.answer.Result()
	if n.hidden != "" && strings.HasSuffix(w.URL.Path, "/prices") {
		changeBody(response, func(body map[string]any) {
			prices, _ := body["prices"].([]any)
			body["prices"] = slices.DeleteFunc(prices, func(p any) bool {
				return p.(map[string]any)["type"] == n.hidden
			})
		})
	}
	return response, nil
}

// isWorking reports whether the filing service may still work on a request without an answer.
func (n *network) isWorking() bool {
	for _, at := range n.lost {
		if time.Since(at) < requestTimeout {
			return true
		}
	}
	return false
}

// deliver hands a request to the filing service.
func (n *network) deliver(w *request) {
	path := w.URL.Path
	for company, into := range n.merged {
		if w.Method == http.MethodGet && strings.HasSuffix(path, "/"+company) {
			path = strings.TrimSuffix(path, company) + into
		}
	}
	r := w.with(w.body)
	r.URL.Path = path
	answer := httptest.NewRecorder()
	defer func() {
		w.answer = answer
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		} else if p != nil {
			w.answer.Code = 0 // the connection ended
		}
	}()
	n.handler.ServeHTTP(answer, r)
	if n.partial && answer.Code == http.StatusConflict && w.items() > 1 {
		n.orderOthers(w)
	}
}

// orderOthers orders the other items of an order whose EIN exists.
func (n *network) orderOthers(w *request) {
	var body map[string]any
	must(json.Unmarshal(w.body, &body))
	delete(body, "ein")
	others, _ := json.Marshal(body)
	n.handler.ServeHTTP(httptest.NewRecorder(), w.with(others))
}

// with returns the request as the filing service gets it, with another body.
func (w *request) with(body []byte) *http.Request {
	r := httptest.NewRequestWithContext(w.Context(), w.Method, w.URL.Path, bytes.NewReader(body))
	r.Header = w.Header.Clone()
	return r
}

// take removes a request from the network.
func (n *network) take(w *request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting = slices.DeleteFunc(n.waiting, func(other *request) bool { return other == w })
}

// lose ends a request without an answer.
func (n *network) lose(w *request, err error) {
	n.take(w)
	if err != errNoDial {
		n.mu.Lock()
		n.lost[string(w.body)] = w.sentAt
		n.mu.Unlock()
	}
	w.reply <- reply{error: err}
}

// answerAs answers a delivered request. change may change the body of a success.
func (n *network) answerAs(w *request, change func(map[string]any)) {
	if w.answer.Code == 0 {
		n.lose(w, io.ErrUnexpectedEOF)
		return
	}
	response := w.answer.Result()
	if change != nil && response.StatusCode/100 == 2 {
		changeBody(response, change)
	}
	n.take(w)
	w.reply <- reply{Response: response}
}

// changeBody changes the JSON body of a response.
func changeBody(response *http.Response, change func(map[string]any)) {
	var body map[string]any
	must(json.NewDecoder(response.Body).Decode(&body))
	change(body)
	changed, _ := json.Marshal(body)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
	response.Header.Del("Content-Length")
}

// order is the part of an order request that names it.
type order struct {
	CompanyID   string `json:"companyId"`
	FilingState string `json:"filingState"`
	LegalName   string `json:"legalName"`
	Formation   *struct {
		Company struct {
			LegalName string `json:"legalName"`
		} `json:"company"`
	} `json:"formation"`
	EIN             any `json:"ein"`
	RegisteredAgent any `json:"registeredAgent"`
	AnnualReport    *struct {
		FilingYear string `json:"filingYear"`
	} `json:"annualReport"`
	ForeignQualification any `json:"foreignQualification"`
}

// maxItems is the largest number of products of an order.
const maxItems = 5

// items returns the number of ordered products. It is 0 for the creation of a company.
func (w *request) items() (n int) {
	var o order
	_ = json.Unmarshal(w.body, &o)
	for _, wanted := range []bool{o.Formation != nil, o.AnnualReport != nil, o.EIN != nil, o.RegisteredAgent != nil,
		o.ForeignQualification != nil} {
		if wanted {
			n++
		}
	}
	return n
}

// String names the request: "worker A's order of a report 2000 for comp_1 in DE".
func (w *request) String() string {
	var o order
	_ = json.Unmarshal(w.body, &o)
	var items []string
	if o.Formation != nil {
		items = append(items, "the formation of "+o.Formation.Company.LegalName)
	}
	if o.AnnualReport != nil {
		items = append(items, "a report "+o.AnnualReport.FilingYear)
	}
	if o.EIN != nil {
		items = append(items, "an EIN")
	}
	if o.RegisteredAgent != nil {
		items = append(items, "an agent")
	}
	if o.ForeignQualification != nil {
		items = append(items, "a qualification")
	}
	if len(items) == 0 {
		return fmt.Sprintf("%s's request %d to create %s", w.process.name, w.number, o.LegalName)
	}
	return fmt.Sprintf("%s's order %d of %s for %s in %s", w.process.name, w.number, strings.Join(items, " and "),
		o.CompanyID, o.FilingState)
}
