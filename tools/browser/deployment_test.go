//go:build unix

package browser

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is an importer command that runs.
type process struct {
	t      *testing.T
	name   string
	cmd    *exec.Cmd
	output output
	ended  chan struct{}
}

// output keeps what a process prints.
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

// start starts an importer command that runs until it is stopped, at the latest by the end
// of the test.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: "importer " + args[0], ended: make(chan struct{})}
	path, err := importer()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(path, args...)
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = env, t.TempDir(), &p.output, &p.output
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
			t.Logf("%s printed:\n%s", p.name, last(p.output.String(), 4000))
		}
	})
	return p
}

func last(text string, n int) string { return text[max(0, len(text)-n):] }

// waitOutput waits until the process prints what a pattern matches, and returns the match.
func (p *process) waitOutput(pattern string) []string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if found := re.FindStringSubmatch(p.output.String()); found != nil {
			return found
		}
		select {
		case <-p.ended:
			p.t.Fatalf("%s has ended: %v\n%s", p.name, p.cmd.ProcessState, p.output.String())
		default:
		}
	}
	p.t.Fatalf("%s never printed %s:\n%s", p.name, pattern, p.output.String())
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

// freeAddress returns an address that no server listens on, below the ports that the
// system gives to connections.
func freeAddress(t *testing.T) string {
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

// deployment is what one firm runs: serve, with the sandbox in place of the filing
// service.
type deployment struct {
	t       *testing.T
	env     []string
	sandbox string // its address
	address string // where serve listens, also after a restart
	serve   *process
	link    string // the latest sign-in link; it does not go through the proxy
	proxy   *proxy // between the browser and serve
}

// newDeployment starts everything, the sandbox with these flags.
func newDeployment(t *testing.T, flags []string, vars ...string) *deployment {
	t.Helper()
	d := &deployment{t: t, sandbox: freeAddress(t), address: freeAddress(t)}
	base := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir(), "USER=morgan",
		"LOGNAME=morgan"}
	args := append([]string{"sandbox", "--listen", d.sandbox, "--balance", "100000", "--latency", "20ms"}, flags...)
	start(t, base, args...).waitOutput("The sandbox is at")
	d.env = append(base, "FILING_BASE_URL=http://"+d.sandbox+"/v1", "FILING_API_KEY=sk_test_browser",
		"FILING_DATA_DIR="+t.TempDir())
	d.env = append(d.env, vars...)
	d.startServe()
	d.proxy = newProxy(t, d.address)
	return d
}

// startServe starts serve and reads its sign-in link.
func (d *deployment) startServe() {
	d.t.Helper()
	d.serve = start(d.t, d.env, "serve", "--listen", d.address)
	owner := d.serve.waitOutput(`importer accounts link "(.+)" --url`)[1]
	d.link = strings.TrimSpace(d.importer("accounts", "link", owner))
}

// importer runs a command that comes to an end, and returns its output.
func (d *deployment) importer(args ...string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, d.serve.cmd.Path, args...)
	c.Env, c.Dir = d.env, d.t.TempDir()
	var out, complaints bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaints
	if err := c.Run(); err != nil {
		d.t.Fatalf("importer %s: %v\n%s", strings.Join(args, " "), err, complaints.String())
	}
	return out.String()
}

// control runs a command of the sandbox.
func (d *deployment) control(args ...string) string {
	d.t.Helper()
	return d.importer(append([]string{"sandbox", "do"}, append(args, "--at", "http://"+d.sandbox)...)...)
}
