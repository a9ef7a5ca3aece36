package containers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds what is waited for.
const patience = 90 * time.Second

// engine is a container engine in the namespaces of the test.
type engine struct {
	*testing.T
	work    string
	process *exec.Cmd
	ended   chan struct{}
	client  *http.Client // signed in
}

// startEngine starts the engine with the stand-ins of every image that the product's
// files pin.
func startEngine(t *testing.T) *engine {
	t.Helper()
	// Beside an engine of this machine: not with its containerd.
	for _, dir := range []string{"/run/containerd", "/run/docker"} {
		if _, err := os.Stat(dir); err == nil {
			if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
				t.Fatalf("cover %s: %v", dir, err)
			}
		}
	}
	e := &engine{T: t, work: os.Getenv(inside)}
	for _, dir := range []string{"data", "exec", "config"} {
		e.must(os.Mkdir(filepath.Join(e.work, dir), 0o711))
	}
	e.start()
	t.Cleanup(e.stop)
	e.loadStandIns()
	return e
}

func (e *engine) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *engine) path(name string) string { return filepath.Join(e.work, name) }

func (e *engine) start() {
	e.Helper()
	log, err := os.OpenFile(e.path("dockerd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	e.must(err)
	defer log.Close()
	e.process = exec.Command("dockerd", "--host", "unix://"+e.path("docker.sock"), "--data-root", e.path("data"),
		"--exec-root", e.path("exec"), "--pidfile", e.path("dockerd.pid"))
	e.process.Stdout, e.process.Stderr = log, log
	e.must(e.process.Start())
	e.ended = make(chan struct{})
	go func(p *exec.Cmd, ended chan struct{}) {
		defer close(ended)
		_ = p.Wait() // its log says why it ended
	}(e.process, e.ended)
	e.eventually("the container engine starts", func() error {
		select {
		case <-e.ended:
			text, _ := os.ReadFile(e.path("dockerd.log"))
			e.Fatalf("the container engine cannot run on this machine:\n%s", text[max(0, len(text)-3000):])
		default:
		}
		return run(e.docker("version"))
	})
}

func (e *engine) stop() {
	_ = e.process.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-e.ended:
	case <-time.After(patience):
		e.Error("the container engine does not end when it is asked to")
		_ = e.process.Process.Kill()
		<-e.ended
	}
}

// docker is a command of the engine's client. Its classic builder needs no plugin.
func (e *engine) docker(args ...string) cmd {
	return command(root, "docker", args...).env("DOCKER_HOST=unix://"+e.path("docker.sock"),
		"DOCKER_CONFIG="+e.path("config"), "DOCKER_BUILDKIT=0")
}

// said is what a command prints, without space around it.
func (e *engine) said(c cmd) string {
	e.Helper()
	out, err := output(c)
	e.must(err)
	return strings.TrimSpace(out)
}

// eventually tries something again until it succeeds.
func (e *engine) eventually(what string, try func() error) {
	e.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			e.Fatalf("not within %s: %s: %v", patience, what, err)
		}
	}
}

// pin is an image as the product's files name it.
type pin struct{ repository, tag, digest string }

var pinned = regexp.MustCompile(`(?m)^(?:FROM|\s+image:) ([a-z0-9./-]+):([^@\s]+)@(sha256:[0-9a-f]{64})`)

func (e *engine) pins() (all []pin) {
	e.Helper()
	for _, name := range []string{"Dockerfile", "docker-compose.yml"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		e.must(err)
		for _, found := range pinned.FindAllStringSubmatch(string(text), -1) {
			all = append(all, pin{found[1], found[2], found[3]})
		}
	}
	return all
}

// loadStandIns builds a stand-in for each pinned image, and has the engine take it
// for the one that the digest names: only a registry could give it one otherwise.
func (e *engine) loadStandIns() {
	e.Helper()
	e.must(run(e.docker("import", e.path("debian.tar"), "bulkfiling-test/debian")))
	names := make(map[pin]string)
	for _, p := range e.pins() {
		names[p] = p.repository + ":" + p.tag
		e.must(e.buildStandIn(filepath.Base(p.repository), names[p]))
	}
	if len(names) != 5 {
		e.Errorf("%d images are pinned: %v", len(names), names)
	}
	e.stop()
	path := filepath.Join(e.work, "data", "image", e.storage(), "repositories.json")
	text, err := os.ReadFile(path)
	if err != nil {
		e.Fatalf("the container engine stores its images in a way that this test does not know: %v", err)
	}
	var store struct{ Repositories map[string]map[string]string }
	e.must(json.Unmarshal(text, &store))
	for p, name := range names {
		store.Repositories[p.repository][p.repository+"@"+p.digest] = store.Repositories[p.repository][name]
	}
	text, err = json.Marshal(store)
	e.must(err)
	e.must(os.WriteFile(path, text, 0o600))
	e.start()
}

// storage is the folder of the engine's images, which its storage driver names.
func (e *engine) storage() string {
	e.Helper()
	found, err := filepath.Glob(filepath.Join(e.work, "data", "image", "*"))
	e.must(err)
	if len(found) != 1 {
		e.Fatalf("the container engine stores its images in a way that this test does not know: %v", found)
	}
	return filepath.Base(found[0])
}

func (e *engine) buildStandIn(kind, name string) error {
	if _, err := os.Stat(filepath.Join("standins", kind)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no stand-in for the image %s: add standins/%s", name, kind)
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	args := []string{"-c", "-C", filepath.Join(here, "standins", kind), "."}
	if kind == "golang" {
		goroot, err := output(command(".", "go", "env", "GOROOT"))
		if err != nil {
			return err
		}
		goroot = strings.TrimSpace(goroot)
		args = append(args, "--exclude=go/test", "--exclude=go/api", "--exclude=go/doc", "--exclude=go/pkg/obj",
			"-C", filepath.Dir(goroot), filepath.Base(goroot),
			"-C", e.path("modules/cache"), "--transform=s,^download,modules,", "download",
			"-C", e.work, "-h", "go-build")
	}
	archive := command(".", "tar", args...)
	archive.Stderr = os.Stderr
	context, err := archive.StdoutPipe()
	if err != nil {
		return err
	}
	if err := archive.Start(); err != nil {
		return err
	}
	return errors.Join(run(e.docker("build", "--quiet", "--network", "none", "-t", name, "-").input(context)),
		archive.Wait())
}
