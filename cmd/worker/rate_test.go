//go:build unix

package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// Where the figures of BenchmarkFleet are kept, and the plot that is made of
// them. A benchmark that is told so (FLEET_FIGURES=1) writes both anew.
const (
	figuresFile = "../../docs/bench/fleet-rate.csv"
	plotFile    = "../../docs/fleet-rate.svg"
)

// rateFlying is how many orders each worker of the benchmark has in flight: the
// default of WORKER_CONCURRENCY.
const rateFlying = 32

// figure is one measurement.
type figure struct {
	answer  time.Duration // how long the service takes for any request
	workers int
	rows    int
	took    time.Duration
	cpu     time.Duration // of the workers, together
	servers time.Duration // processor time of PostgreSQL and Redis
}

func (f figure) rate() float64 { return float64(f.rows) / f.took.Seconds() }

// perRow is a processor time in milliseconds a row.
func (f figure) perRow(d time.Duration) float64 { return d.Seconds() * 1000 / float64(f.rows) }

// bound is the rate that the orders in flight allow.
func (f figure) bound() float64 { return float64(f.workers*rateFlying) / f.answer.Seconds() }

// BenchmarkFleet measures how the rate grows with the number of workers: processes
// of their own, on one real Redis and one real PostgreSQL, with every intent
// durable. All of them, and the service, share this machine's processors.
func BenchmarkFleet(b *testing.B) {
	bin := needServers(b)
	var figures []figure
	for _, answer := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond} {
		for _, workers := range []int{1, 2, 3, 4, 6, 8} {
			b.Run(fmt.Sprintf("answer=%s/workers=%d", answer, workers), func(b *testing.B) {
				f := figure{answer: answer, workers: workers}
				f.rows = min(int(f.bound()*6), 12_000)
				for b.Loop() {
					measure(b, bin, &f)
				}
				b.ReportMetric(f.rate(), "rows/s")
				b.ReportMetric(f.rate()/f.bound(), "of-bound")
				b.ReportMetric(f.perRow(f.cpu), "worker-cpu-ms/row")
				b.ReportMetric(f.perRow(f.servers), "servers-cpu-ms/row")
				figures = append(figures, f)
			})
		}
	}
	if os.Getenv("FLEET_FIGURES") != "" && !b.Failed() {
		if err := writeFigures(figures); err != nil {
			b.Fatal(err)
		}
	}
}

// measure places a batch by so many workers, which wait for it.
func measure(b *testing.B, bin string, f *figure) {
	must := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	service := sandbox.New(sandbox.Config{
		Keys:           []string{secretKey},
		OpeningBalance: 1e12,
		AutoSeed:       true,
		Latency:        f.answer,
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	go service.Serve(ctx, listener)
	address := listener.Addr().String()
	redis, _ := startRedis(b)
	defer redis.stop(syscall.SIGKILL)
	postgres, url := startPostgres(b, bin)
	defer postgres.stop(syscall.SIGINT)
	l, err := ledger.Open(b.Context(), ledger.Config{Dir: b.TempDir(), DatabaseURL: url})
	must(err)
	defer l.Close()
	_, err = l.CreateBatch(b.Context(), ledger.Batch{ID: "a", File: "a.csv", Product: filing.AnnualReport})
	must(err)
	rows := make([]ledger.Row, f.rows)
	for i := range rows {
		rows[i] = ledger.Row{Number: i + 2, Cells: []byte(`["x"]`), Result: filing.Ready, Request: request(20 * i)}
	}
	must(l.AddRows(b.Context(), "a", rows))
	var machines []*machine
	for i := range f.workers {
		m := newMachine(b, fmt.Sprintf("worker%d", i+1), false, address, redis.addr, postgres.addr,
			fmt.Sprintf("WORKER_CONCURRENCY=%d", rateFlying))
		m.past(address, redis.addr, postgres.addr)
		m.start()
		machines = append(machines, m)
	}
	for _, m := range machines {
		for end := time.Now().Add(patience); !m.says(`"msg":"worker started"`); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				b.Fatalf("%s does not place", m.name)
			}
		}
	}
	time.Sleep(time.Second) // the workers come to rest
	before := postgres.processorTime() + redis.processorTime()
	began := time.Now()
	must(l.OpenBatch(b.Context(), "a"))
	// Looking at the table all the time would be a load of its own.
	for len(service.Books().Orders) < f.rows {
		if time.Since(began) > 5*time.Minute {
			b.Fatal("not done after five minutes")
		}
		time.Sleep(100 * time.Millisecond)
	}
	for left := 1; left > 0; time.Sleep(10 * time.Millisecond) {
		counts, err := l.Counts(b.Context(), "a")
		must(err)
		left = f.rows - counts[filing.Placed]
	}
	f.took, f.cpu = time.Since(began), 0
	f.servers = postgres.processorTime() + redis.processorTime() - before
	for _, m := range machines {
		if status := m.end(syscall.SIGTERM); status != exitDone {
			b.Errorf("%s: exit status %d", m.name, status)
		}
		f.cpu += m.worker.ProcessState.UserTime() + m.worker.ProcessState.SystemTime()
	}
	if n := len(service.Books().Orders); n != f.rows {
		b.Fatalf("%d orders, want %d", n, f.rows)
	}
}

var figureColumns = []string{"answer_ms", "workers", "in_flight", "rows", "seconds", "rows_per_second",
	"bound_rows_per_second", "worker_cpu_ms_per_row", "processors", "servers_cpu_ms_per_row"}

func writeFigures(figures []figure) error {
	var text strings.Builder
	w := csv.NewWriter(&text)
	_ = w.Write(figureColumns) // into memory
	for _, f := range figures {
		_ = w.Write([]string{
			strconv.FormatInt(f.answer.Milliseconds(), 10), strconv.Itoa(f.workers),
			strconv.Itoa(f.workers * rateFlying), strconv.Itoa(f.rows),
			fmt.Sprintf("%.2f", f.took.Seconds()), fmt.Sprintf("%.0f", f.rate()), fmt.Sprintf("%.0f", f.bound()),
			fmt.Sprintf("%.2f", f.perRow(f.cpu)), strconv.Itoa(runtime.NumCPU()),
			fmt.Sprintf("%.2f", f.perRow(f.servers)),
		})
	}
	w.Flush()
	if err := os.MkdirAll(filepath.Dir(figuresFile), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(figuresFile, []byte(text.String()), 0o644); err != nil {
		return err
	}
	plot, err := plotOf(text.String())
	if err != nil {
		return err
	}
	return os.WriteFile(plotFile, []byte(plot), 0o644)
}
