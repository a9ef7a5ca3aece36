//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/nettest"
)

// machine is where one worker of a fleet runs after another: its proxies to what
// it needs, and a folder.
type machine struct {
	tb      testing.TB
	name    string
	away    bool // cut off for longer than its lease; left alone meanwhile
	far     bool // nobody else sees its folder: whether its worker lives, only its lease tells
	dir     string
	logs    string // the folder of the logs
	vars    []string
	started int

	service, queue, database *faultProxy

	worker *exec.Cmd
	ended  chan struct{}
	log    *os.File
	last   string // line of the log that complains; read it once ended is closed

	mu       sync.Mutex
	messages map[string]int // of the log, warnings and errors alone
}

func newMachine(tb testing.TB, name string, far bool, service, queue, database string, vars ...string) *machine {
	tb.Helper()
	m := &machine{
		tb:       tb,
		name:     name,
		far:      far,
		dir:      tb.TempDir(),
		logs:     tb.ArtifactDir(),
		messages: make(map[string]int),
		service:  startFaultProxy(tb, service),
		queue:    startFaultProxy(tb, queue),
		database: startFaultProxy(tb, database),
	}
	m.vars = append([]string{
		asProcess + "=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + m.dir, "FILING_DATA_DIR=" + m.dir,
		"FILING_API_KEY=" + secretKey,
		"FILING_BASE_URL=http://" + m.service.from + "/v1", "DATABASE_URL=" + databaseURL(m.database.from),
		"REDIS_URL=redis://" + m.queue.from + "/0",
	}, vars...)
	tb.Cleanup(func() { m.end(syscall.SIGKILL) })
	return m
}

// past leads the worker past its proxies, where a measurement wants none.
func (m *machine) past(service, queue, database string) {
	m.vars = append(m.vars, "FILING_BASE_URL=http://"+service+"/v1", "DATABASE_URL="+databaseURL(database),
		"REDIS_URL=redis://"+queue+"/0")
}

// start starts a worker.
func (m *machine) start() {
	m.tb.Helper()
	m.started++
	m.worker = exec.Command(os.Args[0], "--listen", nettest.Free())
	m.worker.Env = m.vars
	stderr, err := m.worker.StderrPipe()
	if err == nil {
		m.log, err = os.Create(filepath.Join(m.logs, fmt.Sprintf("%s-%d.log", m.name, m.started)))
	}
	if err == nil {
		err = m.worker.Start()
	}
	if err != nil {
		m.tb.Fatal(err)
	}
	m.ended = make(chan struct{})
	go func(worker *exec.Cmd, log *os.File, ended chan struct{}) {
		defer close(ended)
		defer log.Close()
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line := lines.Text()
			fmt.Fprintln(log, line)
			if strings.Contains(line, "NobodyMaySee") {
				m.tb.Errorf("%s: a secret stands in the log: %s", m.name, line)
			}
			m.note(line)
		}
		_ = worker.Wait()
	}(m.worker, m.log, m.ended)
}

// says reports whether the log of the worker has these words in it.
func (m *machine) says(words string) bool {
	log, _ := os.ReadFile(m.log.Name())
	return strings.Contains(string(log), words)
}

// note counts what the log complains of.
func (m *machine) note(line string) {
	if strings.Contains(line, `"level":"INFO"`) {
		return
	}
	m.last = line
	if _, after, found := strings.Cut(line, `"msg":"`); found {
		line, _, _ = strings.Cut(after, `"`)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.messages[line]++
}

// end ends the worker by a signal and returns its exit status. One that was killed
// on a machine far away is gone with its folder.
func (m *machine) end(by syscall.Signal) (status int) {
	if m.worker == nil || m.worker.Process == nil {
		return 0
	}
	_ = m.worker.Process.Signal(by)
	<-m.ended
	if by == syscall.SIGKILL && m.far {
		m.hide()
	}
	return m.worker.ProcessState.ExitCode()
}

// hide takes the worker's lock out of the others' sight.
func (m *machine) hide() {
	locks, _ := filepath.Glob(filepath.Join(m.dir, "locks", "*"))
	for _, lock := range locks {
		_ = os.Remove(lock)
	}
}
