//go:build unix

package browser

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one of the commands, running.
type process struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	said  output
	ended chan struct{}
}

// output keeps what a process says.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts a command that runs until it is stopped, at the latest by the end
// of the test.
func start(t *testing.T, env []string, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: name + " " + args[0], ended: make(chan struct{})}
	p.cmd = exec.Command(filepath.Join(commands, name), args...)
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = env, t.TempDir(), &p.said, &p.said
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("%s said:\n%s", p.name, last(p.said.String(), 4000))
		}
	})
	return p
}

func last(text string, n int) string { return text[max(0, len(text)-n):] }

// says waits until the process has said what a pattern finds, and returns that.
func (p *process) says(pattern string) []string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if found := re.FindStringSubmatch(p.said.String()); found != nil {
			return found
		}
		select {
		case <-p.ended:
			p.t.Fatalf("%s has ended: %v\n%s", p.name, p.cmd.ProcessState, p.said.String())
		default:
		}
	}
	p.t.Fatalf("%s never said %s:\n%s", p.name, pattern, p.said.String())
	return nil
}

// stop ends the process as an init system does, and waits for its end.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Errorf("%s does not end when it is asked to", p.name)
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// free returns an address that no server listens on, below the ports that the
// system gives to connections.
func free(t *testing.T) string {
	t.Helper()
	for range 1000 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+rand.IntN(22_000)))
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("no address is free")
	return ""
}

// house is what one firm runs: the sandbox in place of the service, serve, and
// workers where it has a fleet.
type house struct {
	t       *testing.T
	env     []string
	sandbox string // its address
	at      string // where serve listens, whichever process it is
	serve   *process
	link    string // that serve has made last; it leads past the wire
	wire    *wire  // between the browser and serve
	fleet   bool
}

// key seals what is sealed: the same on every machine.
var key = strings.Repeat("5eed", 16)

// newHouse starts everything. With a fleet, database and queue are real servers
// and two workers place; otherwise serve does all of it.
func newHouse(t *testing.T, fleet bool, database, queue string, vars ...string) *house {
	t.Helper()
	h := &house{t: t, fleet: fleet, sandbox: free(t), at: free(t)}
	base := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir(), "USER=morgan",
		"LOGNAME=morgan"}
	start(t, base, "importer", "sandbox", "--listen", h.sandbox, "--balance", "100000", "--latency",
		"20ms").says("The sandbox is at")
	h.env = append(base, "FILING_BASE_URL=http://"+h.sandbox+"/v1", "FILING_API_KEY=sk_test_browser",
		"FILING_DATA_DIR="+t.TempDir())
	h.env = append(h.env, vars...)
	if fleet {
		h.env = append(h.env, "DATABASE_URL="+database, "REDIS_URL="+queue, "FILING_SEAL_KEY="+key)
	}
	h.open()
	h.wire = lay(t, h.at)
	if fleet {
		for range 2 {
			start(t, append(h.env, "FILING_DATA_DIR="+t.TempDir()), "worker", "--listen", free(t))
		}
	}
	return h
}

// open starts serve.
func (h *house) open() {
	h.t.Helper()
	h.serve = start(h.t, h.env, "importer", "serve", "--listen", h.at)
	file := h.serve.says(`one-time sign-in link is in the file (.+)\n`)[1]
	content, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	h.link = regexp.MustCompile(`/enter\?ticket=\S+`).FindString(string(content))
}

// reopen ends serve in the middle of what it does, and starts it again where it
// was.
func (h *house) reopen() {
	h.t.Helper()
	h.serve.stop()
	h.open()
}

// importer runs a command that comes to an end, and returns what it says.
func (h *house) importer(args ...string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(commands, "importer"), args...)
	c.Env, c.Dir = h.env, h.t.TempDir()
	var out, complaints bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaints
	if err := c.Run(); err != nil {
		h.t.Fatalf("importer %s: %v\n%s", strings.Join(args, " "), err, complaints.String())
	}
	return out.String()
}

// control tells the sandbox something.
func (h *house) control(args ...string) string {
	h.t.Helper()
	return h.importer(append([]string{"sandbox"}, append(args, "--at", "http://"+h.sandbox)...)...)
}
