package jobs_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// The load of BenchmarkPlace.
const (
	benchRows   = 6000
	benchFlying = 64
	benchAnswer = 20 * time.Millisecond
)

// BenchmarkPlace places 6,000 annual reports of as many companies at 64 in
// flight against a service that answers in 20 ms, every intent durable, and
// compares it with a bare HTTP client that makes the same requests, a look at
// the company and then its order, in the same run.
//
// A real Redis and PostgreSQL are measured where TEST_REDIS_URL and
// TEST_DATABASE_URL name them.
func BenchmarkPlace(b *testing.B) {
	var bare float64
	b.Run("bare client", func(b *testing.B) {
		for b.Loop() {
			bare = benchmarkBare(b)
		}
		b.ReportMetric(bare, "rows/s")
	})
	place := func(name, redis, database string) {
		b.Run(name, func(b *testing.B) {
			var ours float64
			for b.Loop() {
				ours = benchmarkPlace(b, redis, database)
			}
			b.ReportMetric(ours, "rows/s")
			b.ReportMetric(ours/bare, "of-bare")
		})
	}
	place("in process", "", "")
	if redis, database := os.Getenv("TEST_REDIS_URL"), os.Getenv("TEST_DATABASE_URL"); redis != "" && database != "" {
		place("Redis and PostgreSQL", redis, database)
	}
}

func benchService(b *testing.B) (*sandbox.Service, string) {
	s := sandbox.New(sandbox.Config{OpeningBalance: 1e12, Latency: benchAnswer, AutoSeed: true})
	server := httptest.NewServer(s.Handler())
	b.Cleanup(server.Close)
	return s, server.URL + "/v1"
}

func benchmarkBare(b *testing.B) float64 {
	_, url := benchService(b)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchFlying}}
	defer client.CloseIdleConnections()
	do := func(method, path, body string) {
		req, err := http.NewRequest(method, url+path, bytes.NewBufferString(body))
		if err != nil {
			b.Error(err)
			return
		}
		req.Header.Set("x-api-key", "sk_test_bench")
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		res, err := client.Do(req)
		if err != nil {
			b.Error(err)
			return
		}
		if res.StatusCode/100 != 2 {
			b.Errorf("%s %s: %s", method, path, res.Status)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	work := make(chan int)
	var flying sync.WaitGroup
	began := time.Now()
	for range benchFlying {
		flying.Go(func() {
			for i := range work {
				do("GET", fmt.Sprintf("/companies/comp_%d", i), "")
				do("POST", "/orders", fmt.Sprintf(
					`{"userId":"user_1","companyId":"comp_%d","filingState":"DE",`+
						`"annualReport":{"filingYear":"2026"}}`, i))
			}
		})
	}
	for i := range benchRows {
		work <- i
	}
	close(work)
	flying.Wait()
	return benchRows / time.Since(began).Seconds()
}

func benchmarkPlace(b *testing.B, redis, database string) float64 {
	ctx := b.Context()
	service, url := benchService(b)
	if database != "" {
		database = ledgertest.Database(b, database)
	}
	l, err := ledger.Open(ctx, ledger.Config{Dir: b.TempDir(), DatabaseURL: database})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	batch := fmt.Sprintf("bench%d", time.Now().UnixNano())
	addBatch(b, l, batch, requests(benchRows, report)...)
	client, err := filingapi.New(filingapi.Config{BaseURL: url, Key: "sk_test_bench", Concurrency: 2 * benchFlying})
	if err != nil {
		b.Fatal(err)
	}
	prices, err := client.Prices(ctx)
	if err != nil {
		b.Fatal(err)
	}
	book, err := pricing.NewPriceBook(prices, "")
	if err != nil {
		b.Fatal(err)
	}
	queue, err := jobs.OpenQueue(redis)
	if err != nil {
		b.Fatal(err)
	}
	defer queue.Close()
	began := time.Now()
	worker, err := jobs.Start(ctx, jobs.Config{
		Service:      client,
		Ledger:       l,
		Queue:        queue,
		Quoter:       pricing.NewRates(book, pricing.BuiltinFees()),
		Concurrency:  benchFlying,
		Batch:        batch,
		DrainTimeout: time.Minute,
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := worker.Await(ctx, batch, jobs.WaitLimits{Silence: time.Minute}); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	worker.Stop()
	if n := len(service.Books().Orders); n != benchRows {
		b.Fatalf("%d orders, want %d", n, benchRows)
	}
	return benchRows / took.Seconds()
}
