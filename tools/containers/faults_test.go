package containers

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// rows is the size of the batch that is placed while parts fail.
const rows = 1500

// slow has each process send one order at a time, so that the batch takes longer than
// all that happens to it.
const slow = "WORKER_CONCURRENCY=1"

// checkFaults places a batch by a fleet whose parts fail, and holds the ledger and the
// results against the sandbox's books.
func (e *engine) checkFaults() {
	file := e.writeBatch()
	e.must(run(e.compose("run", "--rm", "-T", "--no-deps", "--entrypoint", "/importer", "sandbox", "sandbox", "do",
		"deposit", "amount=1000000", "--at", "http://sandbox:4010")))
	before := len(e.books().Orders)
	e.must(run(e.slowly("up", "-d", "--no-deps", "--scale", "worker=2", "worker")))
	e.must(run(e.compose("run", "--rm", "-T", "--no-deps", "-v", file+":/in/companies.csv:ro", "worker", "/importer",
		"submit", "/in/companies.csv", "--yes")))
	batch := e.status("").Batch
	// It follows the batch, and places too.
	e.must(run(e.slowly("run", "-d", "-T", "--no-deps", "--name", "follower", "-v", file+":/in/companies.csv:ro",
		"worker", "/importer", "run", "/in/companies.csv", "--yes", "-o", "/tmp/answers.csv")))

	began := time.Now()
	reached := func(orders int, what string) {
		e.Helper()
		e.within(4*patience, fmt.Sprintf("%d orders, for: %s", orders, what), func() error {
			if n := len(e.books().Orders) - before; n < orders {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
		n := len(e.books().Orders) - before
		e.Logf("%4d orders after %s: %s", n, time.Since(began).Round(time.Second), what)
		if n >= rows {
			e.Errorf("nothing was left to place: %s", what)
		}
	}
	reached(50, "a worker's process is killed, and the engine starts it again")
	e.crash("bulkfiling-worker-1")
	reached(150, "PostgreSQL is paused for 5 s")
	e.must(run(e.docker("pause", "bulkfiling-postgres-1")))
	time.Sleep(5 * time.Second) // its absence
	e.must(run(e.docker("unpause", "bulkfiling-postgres-1")))
	reached(250, "Redis restarts")
	e.must(run(e.docker("restart", "bulkfiling-redis-1")))
	reached(350, "a worker's network is cut for 30 s")
	networks := []string{"bulkfiling_default", "bulkfiling_data"}
	for _, network := range networks {
		e.must(run(e.docker("network", "disconnect", network, "bulkfiling-worker-2")))
	}
	back := time.Now().Add(30 * time.Second)
	e.must(run(e.slowly("up", "-d", "--no-deps", "--no-recreate", "--scale", "worker=4", "worker")))
	reached(450, "there are 4 workers, and PostgreSQL restarts")
	e.must(run(e.docker("restart", "bulkfiling-postgres-1")))
	e.measureLoad()
	time.Sleep(time.Until(back)) // the rest of the worker's absence
	for _, network := range networks {
		e.must(run(e.docker("network", "connect", "--alias", "worker", network, "bulkfiling-worker-2")))
	}
	reached(550, "the worker is back; all workers restart, one after another")
	for i := range 4 {
		e.must(run(e.docker("restart", "--time", "60", fmt.Sprintf("bulkfiling-worker-%d", i+1))))
	}
	reached(600, "all have restarted")

	e.within(6*patience, "the run ends", func() error {
		if state := e.said(e.docker("inspect", "--format", "{{.State.Status}}", "follower")); state != "exited" {
			return fmt.Errorf("it is %s; %+v", state, e.status(batch))
		}
		return nil
	})
	said := e.said(command(root, "sh", "-c", `docker logs follower 2>&1`).env("DOCKER_HOST=unix://" +
		e.path("docker.sock")))
	if code := e.said(e.docker("inspect", "--format", "{{.State.ExitCode}}", "follower")); code != "0" && code != "4" ||
		strings.Contains(said, "SQLSTATE") {
		e.Errorf("the run ended with %s; it said:\n%s", code, said)
	}
	e.figure("%d rows, placed while parts failed: %s", rows, time.Since(began).Round(time.Second))
	e.eventually("every worker is healthy", func() error {
		out := e.said(e.docker("ps", "--filter", "name=bulkfiling-worker", "--filter", "health=healthy",
			"--format", "{{.Names}}"))
		if n := len(strings.Fields(out)); n != 4 {
			return fmt.Errorf("%d: %s", n, out)
		}
		return nil
	})
	e.checkPrometheus(4)
	e.compareBatch(batch, false)
	e.resolve(batch)
	e.compareBatch(batch, true)
	e.must(run(e.importer("audit", "verify")))
	e.compareMoney(e.books())
}

// slowly is a command of Compose whose containers send one order at a time.
func (e *engine) slowly(args ...string) cmd { return e.compose(args...).env(slow) }

// writeBatch writes the spreadsheet. Each row is for a company of its own.
func (e *engine) writeBatch() string {
	e.Helper()
	var text strings.Builder
	text.WriteString("Company ID,User ID,Filing State,Filing Year\n")
	for i := range rows {
		fmt.Fprintf(&text, "%s,user_1,DE,2026\n", company(i))
	}
	path := filepath.Join(e.work, "companies.csv")
	e.must(os.WriteFile(path, []byte(text.String()), 0o644))
	e.must(os.Chmod(e.work, 0o711)) // the engine's containers read it as another user
	return path
}

func company(i int) string { return fmt.Sprintf("comp_faults%d", i) }

// crash kills a container's process, as the kernel does when memory runs out, and
// waits until the engine has started it again.
func (e *engine) crash(name string) {
	e.Helper()
	pid, err := strconv.Atoi(e.said(e.docker("inspect", "--format", "{{.State.Pid}}", name)))
	e.must(err)
	e.must(syscall.Kill(pid, syscall.SIGKILL))
	e.eventually(name+" is started again", func() error {
		if n := e.said(e.docker("inspect", "--format", "{{.RestartCount}} {{.State.Running}}", name)); n != "1 true" {
			return fmt.Errorf("restarts and running: %s", n)
		}
		return nil
	})
}

// purchases are what the books have of one company.
type purchases struct {
	ids   []string
	cents int64
	times int
}

// purchases are those of each company.
func (b books) purchases() map[string]*purchases {
	made := make(map[string]*purchases)
	for _, o := range b.Orders {
		if made[o.CompanyID] == nil {
			made[o.CompanyID] = &purchases{}
		}
		m := made[o.CompanyID]
		m.times, m.cents = m.times+1, m.cents+o.Total
		for _, item := range o.Items {
			m.ids = append(m.ids, item.OrderID)
		}
	}
	return made
}

// compareBatch holds the results against the sandbox's books: each placed row has the
// one order of its company, and an uncertain one has one at most.
func (e *engine) compareBatch(batch string, resolved bool) {
	e.Helper()
	b := e.books()
	if len(b.Duplicates) > 0 {
		e.Errorf("bought twice: %s", b.Duplicates)
	}
	for _, v := range b.Violations {
		if !v.Hidden {
			e.Errorf("a rule of the service was broken: %s %s", v.Rule, v.Message)
		}
	}
	made := b.purchases()
	counts := make(map[string]int)
	for i, row := range e.results(batch) {
		m := made[company(i)]
		if m == nil {
			m = &purchases{}
		}
		counts[row["Result"]]++
		switch {
		case row["Company ID"] != company(i):
			e.Fatalf("row %d is %v", i+2, row)
		case row["Result"] == "placed" && (m.times != 1 || e.cents(row["Cost"]) != m.cents ||
			row["Order IDs"] != strings.Join(m.ids, ", ")):
			e.Errorf("row %d: %v; the books have %+v", i+2, row, *m)
		case row["Result"] == "uncertain" && m.times > 1:
			e.Errorf("row %d: %v; the books have %+v", i+2, row, *m)
		}
	}
	e.Logf("%v", counts)
	if counts["placed"]+counts["uncertain"] != rows || resolved && counts["uncertain"] > 0 {
		e.Errorf("%v, want %d placed", counts, rows)
	}
	if resolved {
		for i := range rows {
			if m := made[company(i)]; m == nil || m.times != 1 {
				e.Errorf("%s: %+v, want one order", company(i), m)
			}
		}
	}
}

// resolve settles the uncertain rows as a person does who looks at the dashboards, and
// waits until those that were not placed are.
func (e *engine) resolve(batch string) {
	e.Helper()
	orders := make(map[string]string)
	for _, o := range e.books().Orders {
		for _, item := range o.Items {
			orders[o.CompanyID] = item.OrderID
		}
	}
	for i, row := range e.results(batch) {
		if row["Result"] != "uncertain" {
			continue
		}
		args := []string{"resolve", "mark", fmt.Sprintf("%s:%d", batch, i+2), "not-placed"}
		if id := orders[company(i)]; id != "" {
			args = []string{"resolve", "mark", fmt.Sprintf("%s:%d", batch, i+2), "placed", "--order", id}
		}
		e.must(run(e.importer(append(args, "--yes")...)))
	}
	e.eventually("the rows that were not placed are placed", func() error {
		if s := e.status(batch); s.Placed != rows {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
}

// measureRest measures the start of a worker, and the memory of what waits for work.
func (e *engine) measureRest() {
	time.Sleep(5 * time.Second) // nothing is left to do
	e.figure("memory at rest: %s", e.memory())
	began := time.Now()
	e.must(run(e.docker("restart", "bulkfiling-server-1")))
	e.eventually("the page answers", func() error {
		answer, err := http.Get(page + "/healthz")
		if err != nil {
			return err
		}
		answer.Body.Close()
		return nil
	})
	e.figure("restart of the server until it answers: %s", time.Since(began).Round(100*time.Millisecond))
}

func (e *engine) measureLoad() { e.figure("memory under load: %s", e.memory()) }

// memory is what each container uses.
func (e *engine) memory() string {
	e.Helper()
	out := e.said(e.docker("stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}}"))
	var all []string
	for _, line := range strings.Split(out, "\n") {
		name, usage, _ := strings.Cut(strings.TrimPrefix(line, "bulkfiling-"), " ")
		used, _, _ := strings.Cut(usage, " /")
		all = append(all, name+" "+used)
	}
	return strings.Join(all, ", ")
}
