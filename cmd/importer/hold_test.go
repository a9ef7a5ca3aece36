package main

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/nettest"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// heldBatch is a batch of two rows, and the three places that say why its rows
// are not sent: the log of a worker, importer status, and the page.
type heldBatch struct {
	*testing.T
	ledger  *ledger.Ledger
	batch   string
	page    *page
	service heldService
	queue   *jobs.Queue
	log     lockedBuffer
	balance money.Cents // at the filing service
}

// heldService is the filing service with a breaker that the test opens.
type heldService struct {
	*filingapi.Client
	held filingapi.BreakerState
}

func (s heldService) BreakerState() filingapi.BreakerState { return s.held }

// lockedBuffer is written by a worker while the test reads it.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (h *heldBatch) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// add records an open batch of annual reports.
func (h *heldBatch) add(id string, companies ...string) {
	h.Helper()
	created, err := h.ledger.CreateBatch(h.Context(),
		ledger.Batch{ID: id, File: id + ".csv", Product: filing.AnnualReport})
	if err != nil || !created {
		h.Fatal(created, err)
	}
	var rows []ledger.Row
	for i, company := range companies {
		request := &filing.Request{
			Product: filing.AnnualReport,
			User:    filing.UserRef{ID: "user_1"},
			Company: filing.CompanyRef{Ref: company},
			Order:   filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
		}
		rows = append(rows, ledger.Row{Number: i + 2, Cells: []byte(`["x"]`), Result: filing.Ready, Request: request})
	}
	h.must(h.ledger.AddRows(h.Context(), id, rows))
	h.must(h.ledger.OpenBatch(h.Context(), id))
}

// work starts a worker.
func (h *heldBatch) work() {
	h.Helper()
	server := httptest.NewServer(sandbox.New(sandbox.Config{
		OpeningBalance: int64(h.balance),
		AutoSeed:       true,
	}).Handler())
	h.Cleanup(server.Close)
	client, err := filingapi.New(filingapi.Config{BaseURL: server.URL + "/v1", Key: "sk_test_held", Concurrency: 2})
	h.must(err)
	h.Cleanup(client.Close)
	h.service.Client = client
	prices, err := client.Prices(h.Context())
	h.must(err)
	book, err := pricing.NewPriceBook(prices, "")
	h.must(err)
	h.must(h.ledger.Fleet().Announce(h.Context(), "worker", true))
	worker, err := jobs.Start(h.Context(), jobs.Config{
		Service:     h.service,
		Ledger:      h.ledger,
		Queue:       h.queue,
		Quoter:      pricing.NewRates(book, pricing.BuiltinFees()),
		Concurrency: 2,
		Log:         slog.New(slog.NewTextHandler(&h.log, nil)),
	})
	h.must(err)
	h.Cleanup(worker.Stop)
}

// status is what importer status prints.
func (h *heldBatch) status() string {
	h.Helper()
	var out bytes.Buffer
	b, err := h.ledger.Batch(h.Context(), h.batch)
	h.must(err)
	s, err := report.Summarize(h.Context(), h.ledger, h.batch)
	h.must(err)
	a := newApp(strings.NewReader(""), &out, io.Discard, func(string) string { return "" })
	h.must(a.showStatus(h.Context(), h.ledger, b, s))
	return out.String()
}

// Why rows are not sent is said in the same sentence by importer status and the page,
// whatever the cause, and by the log of a worker that is held itself.
func TestHoldsAreSaidAlike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause string
		set   func(h *heldBatch)
		want  string
		log   bool // a worker is held, too
	}{
		{"paused", func(h *heldBatch) { h.must(h.ledger.PauseBatch(h.Context(), h.batch)) },
			"This batch is paused.", false},
		{"approval", func(h *heldBatch) { h.must(h.ledger.Approvals().Request(h.Context(), h.batch, "plan")) },
			"This batch is waiting for approval.", false},
		{"no funds", func(h *heldBatch) { h.balance = 1 },
			"The filing service says that the prepaid balance is too low (", true},
		{"recorded balance", func(h *heldBatch) { h.must(h.ledger.RecordDeposit(h.Context(), 1_00, "")) },
			"Insufficient funds for 2 rows: $1.00 is available.", false},
		{"key", func(h *heldBatch) { h.must(h.ledger.Fleet().RecordKeyRefused(h.Context(), "unknown key")) },
			"The filing service refuses the API key (unknown key).", true},
		{"Retry-After", func(h *heldBatch) { h.must(h.ledger.Fleet().RecordBusy(h.Context(), time.Hour)) },
			"The filing service asked for a pause.", true},
		{"breaker", func(h *heldBatch) {
			h.service.held = filingapi.BreakerState{Since: time.Now(), Until: time.Now().Add(time.Hour)}
		}, "The filing service keeps failing, so orders are tried one at a time.", true},
		{"queue", func(h *heldBatch) {
			var err error
			h.queue, err = jobs.NewQueue("redis://" + nettest.Free() + "/0")
			h.must(err)
		}, "The queue's Redis is down (", true},
		{"no worker", func(*heldBatch) {}, "No worker is running, so no orders are placed.", false},
	} {
		t.Run(c.cause, func(t *testing.T) {
			t.Parallel()
			h := &heldBatch{T: t, batch: "b", balance: 1_000_000_00}
			h.page, _ = openedPage(t, "")
			h.ledger = h.page.ledger
			queue, err := jobs.OpenQueue("")
			h.must(err)
			h.queue = queue
			t.Cleanup(func() { h.must(h.queue.Close()) })
			h.add("b", "comp_1", "comp_2")
			c.set(h)
			if c.cause != "no worker" {
				h.work()
			}
			places := map[string]func() string{
				"status": h.status,
				"page":   func() string { return html.UnescapeString(pageText(t, h.page, "/batches/b")) },
			}
			if c.log {
				places["log"] = h.log.String
			}
			for place, text := range places {
				eventually(t, fmt.Sprintf("%s says %q", place, c.want), text,
					func(said string) bool { return strings.Contains(said, c.want) })
			}
		})
	}
}

// eventually waits until a text is as it should be.
func eventually(t *testing.T, what string, text func() string, ok func(string) bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok(text()) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s\n%s", what, text())
		}
		time.Sleep(20 * time.Millisecond)
	}
}
