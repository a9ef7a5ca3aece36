package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
	"golang.org/x/sync/errgroup"
)

// bench measures the command as a user runs it, each time in a process of its own.
type bench struct {
	*testing.T
	dir, importer, url string
}

// cost is what a process or this test used.
type cost struct {
	wall, cpu time.Duration
	// memory is the largest size in memory, in MiB.
	memory int64
}

func costSince(began time.Time, used *syscall.Rusage) cost {
	return cost{time.Since(began), time.Duration(used.Utime.Nano() + used.Stime.Nano()), used.Maxrss >> 10}
}

// measure measures a function of this process.
func (b *bench) measure(do func() error) cost {
	b.Helper()
	var before, after syscall.Rusage
	must(b.T, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
	began := time.Now()
	must(b.T, do())
	must(b.T, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
	used := costSince(began, &after)
	used.cpu -= time.Duration(before.Utime.Nano() + before.Stime.Nano())
	return used
}

// command measures a command of the importer.
func (b *bench) command(args ...string) cost {
	b.Helper()
	c := exec.CommandContext(b.Context(), b.importer, args...)
	c.Env = append(os.Environ(), "FILING_BASE_URL="+b.url, "FILING_API_KEY=sk_test_demo",
		"FILING_DATA_DIR="+b.TempDir(), "WORKER_CONCURRENCY=64", "DATABASE_URL=", "REDIS_URL=")
	began := time.Now()
	if said, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%.2000s", args, err, said)
	}
	return costSince(began, c.ProcessState.SysUsage().(*syscall.Rusage))
}

// serve starts a sandbox in a process of its own. The result ends it.
func (b *bench) serve(latency string) (stop func()) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(b.T, err)
	address := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithCancel(b.Context())
	c := exec.CommandContext(ctx, b.importer, "sandbox", "--listen", address, "--latency", latency, "--balance",
		"100000000")
	must(b.T, c.Start())
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			break
		}
		must(b.T, ctx.Err())
		time.Sleep(10 * time.Millisecond)
	}
	b.url = "http://" + address + "/v1"
	return func() { cancel(); _ = c.Wait() }
}

// file writes a spreadsheet of annual reports of as many companies.
func (b *bench) file(rows int) string {
	b.Helper()
	path := filepath.Join(b.dir, strconv.Itoa(rows)+".csv")
	var out bytes.Buffer
	out.WriteString("Company ID,Legal Name,User Email,User Name,User Phone,Filing State,Entity Type,Filing Year\n")
	for i := range rows {
		fmt.Fprintf(&out, "comp_%08d,Company %d LLC,user%d@firm.example,User %d,302-555-0170,DE,LLC,2026\n", i, i,
			i%50, i%50)
	}
	must(b.T, os.WriteFile(path, out.Bytes(), 0o600))
	return path
}

// bare looks up and orders the same with a bare client, 64 at a time.
func (b *bench) bare(rows int) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	send := func(method, path, body string) error {
		r, err := http.NewRequestWithContext(b.Context(), method, b.url+path, bytes.NewBufferString(body))
		if err != nil {
			return err
		}
		r.Header.Set("x-api-key", "sk_test_demo")
		r.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode > 299 {
			return fmt.Errorf("%s: %w", answer.Status, cmp.Or(err, io.EOF))
		}
		return nil
	}
	var group errgroup.Group
	group.SetLimit(64)
	for i := range rows {
		group.Go(func() error {
			company := fmt.Sprintf("comp_%08d", i)
			if err := send("GET", "/companies/"+company, ""); err != nil {
				return err
			}
			return send("POST", "/orders", `{"companyId":"`+company+
				`","userId":"user_x","filingState":"DE","annualReport":{"filingYear":"2026"}}`)
		})
	}
	return group.Wait()
}

// medianOf calls measure five times, and returns the median of each figure.
func medianOf(measure func() []float64) []float64 {
	var runs [][]float64
	for range 5 {
		runs = append(runs, measure())
	}
	medians := make([]float64, len(runs[0]))
	for i := range medians {
		slices.SortFunc(runs, func(a, b []float64) int { return cmp.Compare(a[i], b[i]) })
		medians[i] = runs[2][i]
	}
	return medians
}

// TestBench prints the figures of the whole command as medians of five runs, beside those of the
// simplest program that does the same.
func TestBench(t *testing.T) {
	if os.Getenv("BENCH") == "" {
		t.Skip("make bench measures")
	}
	b := &bench{T: t, dir: t.TempDir()}
	b.importer = filepath.Join(b.dir, "importer")
	said, err := exec.CommandContext(t.Context(), "go", "build", "-o", b.importer, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	const rows = 6000
	reports, three, many := b.file(rows), b.file(3), b.file(200_000)
	book := filepath.Join(b.dir, "20000.xlsx")
	csvToXLSX(t, b.file(20_000), book)

	m := medianOf(func() []float64 {
		stop := b.serve("20ms")
		bare := b.measure(func() error { return b.bare(rows) })
		stop()
		stop = b.serve("20ms")
		defer stop()
		ours := b.command("run", reports, "--yes", "-o", filepath.Join(t.TempDir(), "results.xlsx"))
		return []float64{rows / ours.wall.Seconds(), rows / bare.wall.Seconds(),
			bare.wall.Seconds() / ours.wall.Seconds(), ours.cpu.Seconds() * 1000 / rows,
			bare.cpu.Seconds() * 1000 / rows, float64(ours.cpu) / float64(bare.cpu)}
	})
	t.Logf("run, answers in 20 ms: %.0f rows/s (bare client %.0f), %.2f of it; processor %.2f ms a row (%.2f), "+
		"%.1f times", m[0], m[1], m[2], m[3], m[4], m[5])

	m = medianOf(func() []float64 {
		bare := b.measure(func() error { return readCSV(many) })
		ours := b.command("check", many)
		return []float64{ours.wall.Seconds(), float64(ours.wall) / float64(bare.wall), float64(ours.memory)}
	})
	t.Logf("check of 200,000 rows of CSV: %.2f s, %.1f times encoding/csv, %.0f MB", m[0], m[1], m[2])

	m = medianOf(func() []float64 {
		bare := b.measure(func() error { return readXLSX(book) })
		ours := b.command("check", book)
		return []float64{ours.wall.Seconds(), float64(ours.wall) / float64(bare.wall), float64(ours.memory)}
	})
	t.Logf("check of 20,000 rows of XLSX: %.2f s, %.2f times excelize, %.0f MB", m[0], m[1], m[2])

	m = medianOf(func() []float64 {
		defer b.serve("0s")()
		ran := b.command("run", three, "--yes", "-o", filepath.Join(t.TempDir(), "results.xlsx"))
		return []float64{float64(b.command("check", three).wall.Milliseconds()), float64(ran.wall.Milliseconds())}
	})
	t.Logf("three rows, answers at once: check %.0f ms, run %.0f ms", m[0], m[1])
}

func readCSV(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := csv.NewReader(f)
	for err == nil {
		_, err = r.Read()
	}
	if err == io.EOF {
		return nil
	}
	return err
}

func readXLSX(path string) error {
	f, err := excelize.OpenFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := f.Rows(f.GetSheetName(0))
	if err != nil {
		return err
	}
	for rows.Next() {
		if _, err := rows.Columns(); err != nil {
			return err
		}
	}
	return rows.Error()
}

func csvToXLSX(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	must(t, err)
	records, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	must(t, err)
	f := excelize.NewFile()
	for i, record := range records {
		must(t, f.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &record))
	}
	must(t, f.SaveAs(to))
}
