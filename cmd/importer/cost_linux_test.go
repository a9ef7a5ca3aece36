package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The load of BenchmarkRun; COST_ROWS changes the number of rows.
const (
	costRows   = 6000
	costFlying = 64
)

// bareClient is set to the address of the service in the process that BenchmarkRun
// starts as the bare client.
const bareClient = "BENCH_BARE_CLIENT"

// BenchmarkRun measures what a row of annual reports costs the whole command, from
// the spreadsheet to the results: processor time and rate, against a bare HTTP client
// that makes the same two requests a row, a look-up and an order. The command, the
// client and the service, which answers in 20 ms, are processes of their own, so that
// each one's processor time is its own.
func BenchmarkRun(b *testing.B) {
	if service := os.Getenv(bareClient); service != "" {
		placeBare(b, service)
		return
	}
	rows := costRows
	if n, err := strconv.Atoi(os.Getenv("COST_ROWS")); err == nil {
		rows = n
	}
	binary := filepath.Join(b.TempDir(), "importer")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	var bare, ours consumed
	for b.Loop() {
		bare = bare.plus(costBare(b, binary, rows))
		ours = ours.plus(costRun(b, binary, rows))
	}
	all := time.Duration(b.N * rows)
	b.ReportMetric(float64((ours.processor/all).Microseconds())/1000, "ms/row")
	b.ReportMetric(float64((bare.processor/all).Microseconds())/1000, "bare-ms/row")
	b.ReportMetric(float64(ours.processor)/float64(bare.processor), "of-bare-processor")
	b.ReportMetric(float64(all)/ours.elapsed.Seconds(), "rows/s")
	b.ReportMetric(bare.elapsed.Seconds()/ours.elapsed.Seconds(), "of-bare-rate")
	b.ReportMetric(float64(ours.memory)/(1<<20), "MB")
	b.ReportMetric(0, "ns/op")
}

// consumed is what a process used.
type consumed struct {
	processor, elapsed time.Duration
	memory             int64 // at most, in bytes
}

func (u consumed) plus(v consumed) consumed {
	return consumed{u.processor + v.processor, u.elapsed + v.elapsed, max(u.memory, v.memory)}
}

// measure runs a command to its end.
func measure(b *testing.B, c *exec.Cmd) consumed {
	b.Helper()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	began := time.Now()
	err := c.Run()
	elapsed := time.Since(began)
	if err != nil {
		b.Fatalf("%v: %v\n%s", c.Args, err, out.Bytes())
	}
	u, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		b.Fatal("the system does not say what a process used")
	}
	return consumed{
		processor: time.Duration(u.Utime.Nano() + u.Stime.Nano()),
		elapsed:   elapsed,
		memory:    u.Maxrss << 10,
	}
}

// costService starts a service of its own; it ends with the benchmark.
func costService(b *testing.B, binary string) (url string, stop func()) {
	b.Helper()
	c := exec.Command(binary, "sandbox", "--listen", "127.0.0.1:0", "--balance", "100000000", "--latency", "20ms")
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	b.Cleanup(stop)
	address := make([]byte, 0, 256)
	for !bytes.Contains(address, []byte("\n")) {
		part := make([]byte, 256)
		n, err := out.Read(part)
		if err != nil {
			b.Fatalf("the sandbox said %q: %v", address, err)
		}
		address = append(address, part[:n]...)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	var host string
	if _, err := fmt.Sscanf(string(address), "The sandbox is at http://%s ", &host); err != nil {
		b.Fatalf("the sandbox said %q: %v", address, err)
	}
	return "http://" + host + "/v1", stop
}

func costBare(b *testing.B, binary string, rows int) consumed {
	url, stop := costService(b, binary)
	defer stop()
	c := exec.Command(os.Args[0], "-test.run", "^$", "-test.bench", "^BenchmarkRun$", "-test.benchtime", "1x")
	c.Env = append(os.Environ(), bareClient+"="+url, "COST_ROWS="+strconv.Itoa(rows))
	return measure(b, c)
}

func placeBare(b *testing.B, url string) {
	rows, err := strconv.Atoi(os.Getenv("COST_ROWS"))
	if err != nil {
		b.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: costFlying}}
	do := func(method, path, body string) {
		r, err := http.NewRequest(method, url+path, bytes.NewBufferString(body))
		if err != nil {
			b.Error(err)
			return
		}
		r.Header.Set("x-api-key", "sk_test_bench")
		r.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(r)
		if err != nil {
			b.Error(err)
			return
		}
		defer answer.Body.Close()
		var order map[string]any
		if err := json.NewDecoder(answer.Body).Decode(&order); err != nil || answer.StatusCode/100 != 2 {
			b.Errorf("%s %s: %s %v", method, path, answer.Status, err)
		}
	}
	work := make(chan int)
	var flying sync.WaitGroup
	for range costFlying {
		flying.Go(func() {
			for i := range work {
				do(http.MethodGet, fmt.Sprintf("/companies/comp_%d", i), "")
				do(http.MethodPost, "/orders", fmt.Sprintf(`{"userId":"user_1","companyId":"comp_%d",`+
					`"filingState":"DE","annualReport":{"filingYear":"2026"}}`, i))
			}
		})
	}
	for i := range rows {
		work <- i
	}
	close(work)
	flying.Wait()
}

func costRun(b *testing.B, binary string, rows int) consumed {
	url, stop := costService(b, binary)
	defer stop()
	dir := b.TempDir()
	var sheet bytes.Buffer
	w := csv.NewWriter(&sheet)
	_ = w.Write([]string{"Company ID", "Legal Name", "Entity Type", "Formation State", "User ID", "Filing State",
		"Filing Year"})
	for i := range rows {
		_ = w.Write([]string{fmt.Sprintf("comp_%d", i), fmt.Sprintf("Company %d LLC", i), "LLC", "DE", "user_1", "DE",
			"2026"})
	}
	w.Flush()
	file := filepath.Join(dir, "reports.csv")
	if err := os.WriteFile(file, sheet.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	c := exec.Command(binary, "run", file, "--yes")
	c.Env = []string{"HOME=" + dir, "FILING_DATA_DIR=" + filepath.Join(dir, "data"), "FILING_BASE_URL=" + url,
		"FILING_API_KEY=sk_test_bench", "WORKER_CONCURRENCY=" + strconv.Itoa(costFlying),
		"PROFILE=" + os.Getenv("PROFILE"), "GOGC=" + os.Getenv("COST_GOGC")}
	u := measure(b, c)
	if s, err := os.Stat(filepath.Join(dir, "reports.results.csv")); err != nil || s.Size() < int64(sheet.Len()) {
		if s, err := os.Stat(filepath.Join(dir, "reports.results.xlsx")); err != nil || s.Size() == 0 {
			b.Fatal("there are no results")
		}
	}
	return u
}
