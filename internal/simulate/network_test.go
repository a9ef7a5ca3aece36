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

	mu      sync.Mutex
	waiting []*request
	// late are requests whose clients have left, and that may still arrive.
	late []*request
	sent int
}

// request is a request that waits in the network.
type request struct {
	*http.Request
	body    []byte
	process *process
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
	w := &request{Request: r, body: body, process: t.process, reply: make(chan reply, 1)}
	if r.Method != http.MethodPost {
		return t.pass(w)
	}
	t.mu.Lock()
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
	return w.answer.Result(), nil
}

// deliver hands a request to the filing service.
func (n *network) deliver(w *request) {
	path := w.URL.Path
	for company, into := range n.merged {
		if w.Method == http.MethodGet && strings.HasSuffix(path, "/"+company) {
			path = strings.TrimSuffix(path, company) + into
		}
	}
	r := httptest.NewRequestWithContext(w.Context(), w.Method, path, bytes.NewReader(w.body))
	r.Header = w.Header.Clone()
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
		var body map[string]any
		if json.Unmarshal(w.answer.Body.Bytes(), &body) == nil {
			change(body)
			changed, _ := json.Marshal(body)
			response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
			response.Header.Del("Content-Length")
		}
	}
	n.take(w)
	w.reply <- reply{Response: response}
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
