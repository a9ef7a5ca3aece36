package jobs_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

func TestPrices_AnswerHaltsFleet(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	var status int
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(status)
		w.Write([]byte(`{"prices":[],"message":"so it is"}`))
	}))
	t.Cleanup(service.Close)
	client, err := filingapi.New(filingapi.Config{BaseURL: service.URL + "/v1", Key: "sk_test_1", Timeout: time.Second})
	f.must(err)
	var since time.Time
	for _, c := range []struct {
		status int
		err    error
		halt   filing.Halt // of the fleet, after it
	}{
		{400, filingapi.ErrRefused, filing.NoHalt},
		{401, filingapi.ErrKeyRefused, filing.HaltKey},
		{401, filingapi.ErrKeyRefused, filing.HaltKey},
		{503, filingapi.ErrBusy, filing.HaltKey}, // it says nothing of the key
		{404, filingapi.ErrNotFound, filing.HaltKey},
		{200, nil, filing.HaltRate},
	} {
		status = c.status
		_, err := pricing.FetchPrices(t.Context(), client, f.Ledger)
		halted, failed := f.Fleet().Halt(t.Context())
		f.must(failed)
		if !errors.Is(err, c.err) || halted.Reason != c.halt {
			t.Errorf("%d: %v, halted %q; want %v, %q", c.status, err, halted.Reason, c.err, c.halt)
		}
		if !since.IsZero() && c.halt == filing.HaltKey && halted.Since != since {
			t.Errorf("%d: halted since %s, and it was since %s", c.status, halted.Since, since)
		}
		since = halted.Since
	}
}

// dearer quotes half as much again.
type dearer struct{ *pricing.Rates }

func (d dearer) Basis() string { return "dearer" }

func (d dearer) Quote(o *filing.Order, company pricing.Facts) pricing.Quote {
	q := d.Rates.Quote(o, company)
	for i := range q.Lines {
		q.Lines[i].Wholesale.Amount += q.Lines[i].Wholesale.Amount / 2
	}
	q.Total = money.Cost{}
	for _, line := range q.Lines {
		q.Total.Amount += line.Cost().Amount
	}
	return q
}

// A worker reserves and posts what things cost on the day, not on the day on
// which it was started.
func TestWorker_UsesCurrentPrices(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	quoter := f.quoter()
	var later, asked atomic.Int64
	ask := func(context.Context) (pricing.Quoter, error) {
		asked.Add(1)
		return dearer{quoter}, nil
	}
	w := f.start(func(c *jobs.Config) {
		c.Prices, c.Now = ask, func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	place := func(batch string, request *filing.Request) money.Cents {
		t.Helper()
		f.add(batch, request)
		f.await(w, batch, patient)
		f.want(batch, ledger.Counts{filing.Placed: 1})
		row := f.rows(batch)[0]
		if row.Items[0].Cost != row.Cost {
			t.Errorf("the row cost %s and its item %s", row.Cost, row.Items[0].Cost)
		}
		return row.Cost.Amount
	}
	const price = 25_00
	if cost := place("a", report(0)); cost != feeLLC+price || asked.Load() != 0 {
		t.Errorf("%s, asked %d times", cost, asked.Load())
	}
	later.Store(int64(90 * 24 * time.Hour))
	for i, batch := range []string{"b", "c"} {
		if cost := place(batch, report(1+i)); cost != feeLLC+price*3/2 || asked.Load() != 1 {
			t.Errorf("after months: %s, asked %d times", cost, asked.Load())
		}
	}
	book, err := f.Balance(t.Context())
	f.must(err)
	if book.Posted != 3*feeLLC+price+2*price*3/2 || book.Reserved != 0 {
		t.Errorf("%+v", book)
	}
}

// A row that costs more than was approved is not sent: it waits with the reason.
func TestPlacer_HigherCostWaitsForApproval(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", report(0))
	row := f.rows("a")[0]
	f.must(f.Quotes().Save(t.Context(), []ledger.RowQuote{{Row: row.ID, Cost: money.Cost{Amount: feeLLC}}}))
	plan, _, err := pricing.ApprovalHash(t.Context(), f.Ledger, "a")
	f.must(err)
	f.must(approval.New(f.Ledger).Request(t.Context(), "a", plan))
	f.approve("a", "ana")
	f.run("a")
	if r := f.rows("a")[0]; r.BlockedOn != "approval" || !strings.Contains(r.Message, "waiting for approval") {
		t.Errorf("%+v", r)
	}
}
