package containers

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	root           = "../.."
	composeVersion = "v2.40.3" // as in go.mod
)

// inside names the variable that tells the test that it runs in the namespaces, and
// where its working folder is.
const inside = "BULKFILING_CONTAINERS_WORK"

func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" {
		os.Exit(m.Run())
	}
	status, err := outside()
	if err != nil {
		fmt.Fprintln(os.Stderr, "containers:", err)
		os.Exit(1)
	}
	os.Exit(status)
}

// outside prepares what needs the network or this machine's tools, and runs the
// tests in namespaces of their own. Every process that they start ends with the
// namespace of processes, and their data is removed, whatever happens.
func outside() (status int, err error) {
	if err := checkMachine(); err != nil {
		return 1, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return 1, fmt.Errorf("find a folder for what is kept between runs: %w", err)
	}
	cache = filepath.Join(cache, "bulkfiling-containers")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return 1, fmt.Errorf("make a folder for what is kept between runs: %w", err)
	}
	work, err := os.MkdirTemp("", "bulkfiling-containers-")
	if err != nil {
		return 1, fmt.Errorf("make the working folder: %w", err)
	}
	defer func() {
		// The last processes of the namespace may still be closing their files.
		removed := os.RemoveAll(work)
		for end := time.Now().Add(10 * time.Second); removed != nil && time.Now().Before(end); {
			time.Sleep(200 * time.Millisecond)
			removed = os.RemoveAll(work)
		}
		err = errors.Join(err, removed)
	}()
	signal.Ignore(syscall.SIGINT) // the tests get it too, and end
	if err := prepare(cache, work); err != nil {
		return 1, err
	}
	// The signal at its parent's death is sent when the parent's thread ends.
	runtime.LockOSThread()
	args := append([]string{
		"--net", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child", "--mount-proc",
		"--", "sh", "-c", `ip link set lo up && exec "$@"`, "sh", os.Args[0],
	}, os.Args[1:]...)
	tests := exec.Command("unshare", args...)
	tests.Env = append(os.Environ(), inside+"="+work)
	tests.Stdout, tests.Stderr = os.Stdout, os.Stderr
	tests.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = tests.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, fmt.Errorf("start the tests in namespaces of their own: %w", err)
	}
	return 0, nil
}

// needs are the commands that the tests use, and Debian's packages of them.
var needs = [][2]string{
	{"dockerd", "docker.io"},
	{"docker", "docker.io"},
	{"iptables", "iptables"},
	{"mmdebstrap", "mmdebstrap"},
	{"ip", "iproute2"},
	{"unshare", "util-linux"},
	{"tar", "tar"},
}

// checkMachine says in one sentence why the tests cannot run on this machine.
func checkMachine() error {
	var missing []string
	for _, need := range needs {
		if _, err := exec.LookPath(need[0]); err != nil {
			missing = append(missing, fmt.Sprintf("%s (Debian's package %s)", need[0], need[1]))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the tests of the containers need %s", strings.Join(missing, ", "))
	}
	if os.Geteuid() != 0 {
		return errors.New("the tests of the containers need root, to start a container engine")
	}
	out, err := exec.Command("unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc",
		"sh", "-c", "ip link set lo up && mount -t tmpfs tmpfs /mnt && iptables -t nat -L -n").CombinedOutput()
	if err != nil {
		return fmt.Errorf("a container engine cannot run on this machine: it may not make a network, a mount or "+
			"a rule of the firewall of its own: %s", strings.TrimSpace(string(out)))
	}
	return nil
}

// prepare builds Compose, and collects what the stand-ins are made of.
func prepare(cache, work string) error {
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		return fmt.Errorf("read the versions of Compose's parts: %w", err)
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"build Compose " + composeVersion, func() error {
			path := filepath.Join(cache, fmt.Sprintf("compose-%s-%x", composeVersion, sha256.Sum256(sums)))
			return errors.Join(kept(path, buildCompose), os.Symlink(path, filepath.Join(work, "compose")))
		}},
		{"install Debian's packages into a folder", func() error {
			path := filepath.Join(cache, fmt.Sprintf("debian-%x.tar", sha256.Sum256([]byte(suite+packages))))
			return errors.Join(kept(path, buildDebian), os.Symlink(path, filepath.Join(work, "debian.tar")))
		}},
		{"collect the modules", func() error { return collectModules(work) }},
		{"build the commands, for the cache of the build in the image", func() error {
			return errors.Join(warmCache(cache, work),
				os.Symlink(filepath.Join(cache, "go-build"), filepath.Join(work, "go-build")))
		}},
	} {
		began := time.Now()
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		fmt.Printf("%s: %s\n", step.what, time.Since(began).Round(time.Second))
	}
	return nil
}

// kept makes a file unless an earlier run did.
func kept(path string, build func(path string) error) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	part := path + ".part"
	if err := build(part); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	return os.Rename(part, path)
}

func buildCompose(path string) error {
	return run(command(".", "go", "build", "-trimpath", "-ldflags",
		"-s -w -X github.com/docker/compose/v2/internal.Version="+composeVersion,
		"-o", path, "github.com/docker/compose/v2/cmd").env("CGO_ENABLED=0"))
}

// The base of the stand-ins: PostgreSQL 17, Redis 8.0 and Prometheus 2.53. BusyBox is
// Prometheus's wget.
const (
	suite    = "trixie"
	packages = "ca-certificates,postgresql,redis-server,prometheus,busybox-static"
)

func buildDebian(path string) error {
	return run(command(".", "mmdebstrap", "--quiet", "--variant=apt", "--format=tar", "--include="+packages,
		"--aptopt=Acquire::Languages none", "--dpkgopt=path-exclude=/usr/share/doc/*",
		"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
		suite, path))
}

// collectModules makes a folder that serves the modules of go.sum to a build without
// a network. What this machine has is not downloaded again.
func collectModules(work string) error {
	goEnv, err := output(command(".", "go", "env", "GOMODCACHE", "GOPROXY"))
	if err != nil {
		return err
	}
	cache, proxy, _ := strings.Cut(strings.TrimSpace(goEnv), "\n")
	return run(command(root, "go", "mod", "download").env("GOMODCACHE="+filepath.Join(work, "modules"),
		"GOPROXY=file://"+filepath.Join(cache, "cache", "download")+","+proxy, "GOFLAGS=-modcacherw"))
}

// warmCache builds the commands as Dockerfile does, into a cache that the stand-in of
// Go's image has. So the build in the image takes seconds, and costs nothing twice.
func warmCache(cache, work string) error {
	return run(command(root, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o",
		filepath.Join(work, "commands")+"/", "./cmd/importer", "./cmd/worker").
		env("CGO_ENABLED=0", "GOFLAGS=", "GOCACHE="+filepath.Join(cache, "go-build")))
}

// cmd is a command of this machine.
type cmd struct{ *exec.Cmd }

func command(dir, name string, args ...string) cmd {
	c := exec.Command(name, args...)
	c.Dir = dir
	return cmd{c}
}

func (c cmd) env(vars ...string) cmd {
	c.Env = append(c.Environ(), vars...)
	return c
}

func (c cmd) input(r io.Reader) cmd {
	c.Stdin = r
	return c
}

// run runs a command. Its error has what the command said last.
func run(c cmd) error {
	_, err := output(c)
	return err
}

// output is what a command prints on its standard output.
func output(c cmd) (string, error) {
	var out, said strings.Builder
	c.Stdout, c.Stderr = &out, io.MultiWriter(&said)
	if err := c.Run(); err != nil {
		text := said.String() + out.String()
		return out.String(), fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, text[max(0, len(text)-3000):])
	}
	return out.String(), nil
}
