package containers

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// rows is the size of the batch that the larger fleet places.
const rows = 300

// checkFleet makes the fleet larger and kills a worker's process, and then places a
// batch. What happens to orders while parts fail is proved by TestFleet of cmd/worker.
func (e *engine) checkFleet() {
	var text strings.Builder
	text.WriteString("Company ID,User ID,Filing State,Filing Year\n")
	for i := range rows {
		fmt.Fprintf(&text, "comp_fleet%d,user_1,DE,2026\n", i)
	}
	file := filepath.Join(e.work, "companies.csv")
	e.must(os.WriteFile(file, []byte(text.String()), 0o644))
	e.must(os.Chmod(e.work, 0o711)) // the engine's containers read it as another user
	e.must(run(e.compose("run", "--rm", "-T", "--no-deps", "--entrypoint", "/importer", "sandbox", "sandbox", "do",
		"deposit", "amount=1000000", "--at", "http://sandbox:4010")))
	e.must(run(e.compose("up", "-d", "--no-deps", "--scale", "worker=4", "worker")))
	e.crash("bulkfiling-worker-1")
	e.eventually("every worker is healthy", func() error {
		out := e.said(e.docker("ps", "--filter", "name=bulkfiling-worker", "--filter", "health=healthy",
			"--format", "{{.Names}}"))
		if n := len(strings.Fields(out)); n != 4 {
			return fmt.Errorf("%d: %s", n, out)
		}
		return nil
	})
	e.checkPrometheus(4)
	e.must(run(e.compose("run", "--rm", "-T", "--no-deps", "-v", file+":/in/companies.csv:ro", "worker", "/importer",
		"submit", "/in/companies.csv", "--yes")))
	e.eventually("the batch is placed", func() error {
		if s := e.status(); s.Placed != rows {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	b := e.books()
	if len(b.Orders) != demoPlaced+rows || len(b.Duplicates) > 0 {
		e.Errorf("%d orders, bought twice: %s", len(b.Orders), b.Duplicates)
	}
	for _, v := range b.Violations {
		if !v.Hidden {
			e.Errorf("a rule of the service was broken: %s %s", v.Rule, v.Message)
		}
	}
	e.must(run(e.importer("audit", "verify")))
	e.compareMoney(b)
}

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
