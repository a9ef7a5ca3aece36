package containers

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
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
	began := time.Now()
	e.must(run(e.compose("up", "-d", "--wait", "--wait-timeout", "180")))
	e.figure("start of the demo until all is healthy and its sheet is submitted: %s",
		time.Since(began).Round(100*time.Millisecond))
	e.eventually("the workers place the demo's sheet", func() error {
		if s := e.status(""); s.Placed != demoPlaced || s.Ready > 0 {
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
	Batch                                                      string
	Rows, Placed, Uncertain, Ready, Exists, Rejected, Canceled int
}

// status is that of a batch, or of the newest.
func (e *engine) status(batch string) (s summary) {
	e.Helper()
	args := []string{"status", "--json"}
	if batch != "" {
		args = append(args, batch)
	}
	out, err := output(e.importer(args...)) // its exit status is that of a run
	if text := strings.TrimSpace(out); text == "" || json.Unmarshal([]byte(text), &s) != nil {
		e.Logf("importer status: %q, %v", out, err)
	}
	return s
}

// books are the sandbox's.
type books struct {
	Charged int64 `json:"chargedCents"`
	Orders  []struct {
		CompanyID string
		Total     int64 `json:"totalCents"`
		Items     []struct {
			OrderID  string
			Existing bool
		}
	}
	Endpoints []struct {
		URL                            string
		Attempts, Taken, Waiting, Lost int
	}
	Events     []struct{ Taken int }
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

// spent is what the ledger says that was charged, in cents.
func (e *engine) spent() int64 {
	e.Helper()
	out := e.said(e.importer("balance", "--last", "1"))
	found := charged.FindStringSubmatch(out)
	if found == nil {
		e.Fatalf("the balance says nothing of charges:\n%s", out)
	}
	return e.cents(found[1])
}

// cents reads an amount such as 1,234.56.
func (e *engine) cents(text string) (n int64) {
	e.Helper()
	if _, err := fmt.Sscan(strings.NewReplacer(",", "", ".", "", "$", "").Replace(text), &n); err != nil {
		e.Fatalf("the amount %q: %v", text, err)
	}
	return n
}

func (e *engine) compareMoney(b books) {
	e.Helper()
	if spent := e.spent(); spent != b.Charged {
		e.Errorf("the ledger recorded charges of %d cents, the service charged %d", spent, b.Charged)
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
	batch := e.status("").Batch
	e.eventually("the results have the status of the filings", func() error {
		for _, row := range e.results(batch) {
			if row["Result"] == "placed" && row["Filing Status"] == "" {
				return fmt.Errorf("%v", row)
			}
		}
		return nil
	})
}

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
	batch := e.status("").Batch
	for path, least := range map[string]int{
		"/": 2000, "/balance": 2000, "/fleet": 2000, "/batches/" + batch: 2000,
		"/batches/" + batch + "/results.xlsx": 5000, "/batches/" + batch + "/results.csv": 5000,
		"/batches/" + batch + "/attention.xlsx": 3000, "/batches/" + batch + "/documents.zip": 100,
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

// results are the rows of a batch, by the headers of their columns, as the page gives
// them.
func (e *engine) results(batch string) (rows []map[string]string) {
	e.Helper()
	answer, err := e.client.Get(page + "/batches/" + batch + "/results.csv")
	e.must(err)
	defer answer.Body.Close()
	all, err := csv.NewReader(answer.Body).ReadAll()
	if err != nil || len(all) == 0 || answer.StatusCode != http.StatusOK {
		e.Fatalf("the results of %s: %s, %d lines, %v", batch, answer.Status, len(all), err)
	}
	for _, line := range all[1:] {
		row := make(map[string]string)
		for i, header := range all[0] {
			row[strings.TrimPrefix(header, "\ufeff")] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
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
