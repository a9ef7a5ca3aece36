package containers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	page       = "http://127.0.0.1:8080"
	service    = "http://127.0.0.1:4010" // the sandbox
	prometheus = "http://127.0.0.1:9090"

	demoPlaced = 53 // rows of the demo's spreadsheet
)

// importer is a command of the image in the server's container.
func (e *engine) importer(args ...string) cmd {
	return e.compose(append([]string{"exec", "-T", "server", "/importer"}, args...)...)
}

// checkDemo starts the demo as deploy/README.md says, twice, and looks at what it
// shows.
func (e *engine) checkDemo() {
	e.must(run(e.compose("up", "-d", "--wait", "--wait-timeout", "180")))
	e.eventually("the workers place the demo's sheet", func() error {
		if s := e.status(); s.Placed != demoPlaced || s.Ready > 0 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	if n := strings.Count(e.said(e.compose("logs", "--no-log-prefix", "worker")),
		`"result":"placed"`); n != demoPlaced {
		e.Errorf("the worker's log has %d placed rows, want %d", n, demoPlaced)
	}
	e.must(run(e.compose("up", "-d", "--wait", "--wait-timeout", "180")))
	books := e.books()
	if len(books.Orders) != demoPlaced || len(books.Endpoints) != 1 {
		e.Errorf("after a second start the sandbox has %d orders, and the endpoints %+v", len(books.Orders),
			books.Endpoints)
	}
	e.compareMoney(books)
}

// summary is the last line of status --json.
type summary struct {
	Batch         string
	Placed, Ready int
}

// status is that of the newest batch.
func (e *engine) status() (s summary) {
	e.Helper()
	out, err := output(e.importer("status", "--json")) // its exit status is that of a run
	if text := strings.TrimSpace(out); text == "" || json.Unmarshal([]byte(text), &s) != nil {
		e.Logf("importer status: %q, %v", out, err)
	}
	return s
}

// books are the sandbox's.
type books struct {
	Charged    int64 `json:"chargedCents"`
	Orders     []struct{}
	Endpoints  []struct{ Taken, Waiting, Lost int }
	Events     []struct{}
	Duplicates []json.RawMessage
	Violations []struct {
		Rule, Message string
		Hidden        bool
	}
}

func (e *engine) books() (b books) {
	e.Helper()
	answer, err := http.Get(service + "/books.json")
	e.must(err)
	defer answer.Body.Close()
	e.must(json.NewDecoder(answer.Body).Decode(&b))
	return b
}

var charged = regexp.MustCompile(`(?m)^\s*charged\s+-?\$?-?\$?([0-9,.]+)`)

// compareMoney compares what the ledger says that was charged with the books.
func (e *engine) compareMoney(b books) {
	e.Helper()
	out := e.said(e.importer("balance", "--last", "1"))
	found := charged.FindStringSubmatch(out)
	want := fmt.Sprintf("%d.%02d", b.Charged/100, b.Charged%100)
	if found == nil || strings.ReplaceAll(found[1], ",", "") != want {
		e.Errorf("the service charged %s, and the balance is\n%s", want, out)
	}
}

// checkEvents waits until each event was accepted, once.
func (e *engine) checkEvents() {
	e.eventually("all events arrive", func() error {
		b := e.books()
		if len(b.Events) < 2*demoPlaced || len(b.Endpoints) != 1 {
			return fmt.Errorf("%d events, endpoints %+v", len(b.Events), b.Endpoints)
		}
		if h := b.Endpoints[0]; h.Lost > 0 || h.Taken < len(b.Events)-h.Waiting {
			return fmt.Errorf("%d events, endpoint %+v", len(b.Events), h)
		}
		return nil
	})
	e.eventually("every filing has a status", func() error {
		said := e.said(e.importer("status"))
		known := 0
		for _, n := range filings.FindAllStringSubmatch(regexp.MustCompile("(?m)^filings .*$").FindString(said), -1) {
			count, _ := strconv.Atoi(n[1]) // it is a number
			known += count
		}
		if known != demoPlaced {
			return fmt.Errorf("%d filings have a status:\n%s", known, said)
		}
		return nil
	})
}

var filings = regexp.MustCompile(`(\d+) \w`)

// signIn makes an account, and follows its link.
func (e *engine) signIn(name string) *http.Client {
	e.Helper()
	jar, err := cookiejar.New(nil)
	e.must(err)
	client := &http.Client{Jar: jar, Timeout: time.Minute}
	said := e.said(e.importer("accounts", "add", name, "--role", "operator,approver,preparer", "--url", page))
	link, err := url.Parse(said[strings.LastIndexByte(said, '\n')+1:]) // it is the last line
	e.must(err)
	form := url.Values{"link": {link.Query().Get("link")}}
	request, err := http.NewRequest(http.MethodPost, page+link.Path, strings.NewReader(form.Encode()))
	e.must(err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", page)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := client.Do(request)
	e.must(err)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		e.Fatalf("sign-in: %s", answer.Status)
	}
	return client
}

// checkPage signs in and downloads all that a batch has.
func (e *engine) checkPage() {
	answer, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}).Get(page + "/balance")
	e.must(err)
	answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		e.Error("the page shows the balance to anybody")
	}
	batch := e.status().Batch
	for path, least := range map[string]int{
		"/": 2000, "/balance": 2000, "/workers": 2000, "/batches/" + batch: 2000,
		"/batches/" + batch + "/results.xlsx": 5000, "/batches/" + batch + "/results.csv": 5000,
		"/batches/" + batch + "/documents.zip": 100,
	} {
		answer, err := e.client.Get(page + path)
		e.must(err)
		body, err := io.ReadAll(answer.Body)
		e.must(err)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK || len(body) < least || strings.Contains(string(body), "<h1>Sign in") {
			e.Errorf("GET %s: %s, %d bytes: %.300s", path, answer.Status, len(body), body)
		}
	}
}

// checkPrometheus waits until it scrapes so many workers.
func (e *engine) checkPrometheus(workers int) {
	e.Helper()
	e.eventually(fmt.Sprintf("Prometheus scrapes %d workers", workers), func() error {
		answer, err := http.Get(prometheus + "/api/v1/targets?state=active")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		var said struct {
			Data struct{ ActiveTargets []target }
		}
		if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
			return err
		}
		up := slices.DeleteFunc(slices.Clone(said.Data.ActiveTargets), func(t target) bool {
			return t.Labels["job"] != "bulkfiling-worker" || t.Health != "up"
		})
		if len(up) != workers {
			return fmt.Errorf("%+v", said.Data.ActiveTargets)
		}
		return nil
	})
}

// target is what Prometheus scrapes.
type target struct {
	Labels            map[string]string
	Health, LastError string
}
