package containers

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
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
	flag.Parse()
	if os.Getenv(inside) != "" || testing.Short() {
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
// namespace of processes, and their data is removed, whatever ends the tests. What a
// SIGKILL leaves, the next run removes.
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
	work, release, err := makeWork()
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, release()) }()
	ctx, stop := untilEnded()
	defer stop()
	if err := prepare(ctx, cache, work); err != nil {
		return 1, err
	}
	// The signal at its parent's death is sent when the parent's thread ends.
	runtime.LockOSThread()
	args := append([]string{
		"--net", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child", "--mount-proc",
		"--", "sh", "-c", `ip link set lo up && exec "$@"`, "sh", os.Args[0],
	}, os.Args[1:]...)
	tests := exec.CommandContext(ctx, "unshare", args...)
	tests.Env = append(os.Environ(), inside+"="+work)
	tests.Stdout, tests.Stderr = os.Stdout, os.Stderr
	tests.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = tests.Run()
	if ctx.Err() != nil {
		return 1, context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, fmt.Errorf("start the tests in namespaces of their own: %w", err)
	}
	return 0, nil
}

// untilEnded ends with a signal, and when go test has ended, which passes on none.
func untilEnded() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP,
		syscall.SIGQUIT)
	ctx, end := context.WithCancelCause(ctx)
	// What go test reads has no reader after its end. Processes inherit what is ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	parent := os.Getppid()
	go func() {
		for ; ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
			if os.Getppid() != parent {
				end(errors.New("go test has ended"))
			}
		}
	}()
	return ctx, func() { end(nil); stop() }
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

// prepare builds Compose, and collects what the stand-ins are made of. Debian's
// packages come from the network and the others from the processor: both at once.
func prepare(ctx context.Context, cache, work string) error {
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		return fmt.Errorf("read the versions of Compose's parts: %w", err)
	}
	var (
		compose = filepath.Join(cache, fmt.Sprintf("compose-%s-%x", composeVersion, sha256.Sum256(sums)))
		debian  = filepath.Join(cache, fmt.Sprintf("debian-%x.tar", sha256.Sum256([]byte(suite+packages))))
		builds  = filepath.Join(cache, "go-build")
	)
	if err := prune(cache, compose, debian, builds); err != nil {
		return fmt.Errorf("remove what earlier versions kept in %s: %w", cache, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	packaged := make(chan error, 1)
	go func() {
		packaged <- timed("install Debian's packages into a folder", func() error {
			return kept(debian, func(path string) error { return buildDebian(ctx, work, path) })
		})
	}()
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"build Compose " + composeVersion, func() error {
			return kept(compose, func(path string) error { return buildCompose(ctx, work, path) })
		}},
		{"collect the modules", func() error { return collectModules(ctx, work) }},
		{"build the commands, for the cache of the build in the image", func() error {
			return warmCache(ctx, builds, work)
		}},
	} {
		if err := timed(step.what, step.do); err != nil {
			cancel()
			<-packaged
			return err
		}
	}
	return errors.Join(<-packaged, os.Symlink(compose, filepath.Join(work, "compose")),
		os.Symlink(debian, filepath.Join(work, "debian.tar")), os.Symlink(builds, filepath.Join(work, "go-build")))
}

// timed prints how long a step took.
func timed(what string, do func() error) error {
	began := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Printf("%s: %s\n", what, time.Since(began).Round(time.Second))
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

func buildCompose(ctx context.Context, work, path string) error {
	return run(ending(ctx, work, ".", "go", "build", "-trimpath", "-ldflags",
		"-s -w -X github.com/docker/compose/v2/internal.Version="+composeVersion,
		"-o", path, "github.com/docker/compose/v2/cmd").env("CGO_ENABLED=0"))
}

// The base of the stand-ins: PostgreSQL 17, Redis 8.0 and Prometheus 2.53. BusyBox is
// Prometheus's wget.
const (
	suite    = "trixie"
	packages = "ca-certificates,postgresql,redis-server,prometheus,busybox-static"
)

func buildDebian(ctx context.Context, work, path string) error {
	return run(ending(ctx, work, ".", "mmdebstrap", "--quiet", "--variant=apt", "--format=tar", "--include="+packages,
		"--aptopt=Acquire::Languages none", "--dpkgopt=force-unsafe-io", "--dpkgopt=path-exclude=/usr/share/doc/*",
		"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
		suite, path))
}

// collectModules makes a folder that serves the modules of go.sum to a build without
// a network. What this machine has is not downloaded again.
func collectModules(ctx context.Context, work string) error {
	goEnv, err := output(command(".", "go", "env", "GOMODCACHE", "GOPROXY"))
	if err != nil {
		return err
	}
	cache, proxy, _ := strings.Cut(strings.TrimSpace(goEnv), "\n")
	return run(ending(ctx, work, root, "go", "mod", "download").env("GOMODCACHE="+filepath.Join(work, "modules"),
		"GOPROXY=file://"+filepath.Join(cache, "cache", "download")+","+proxy, "GOFLAGS=-modcacherw"))
}

// warmCache builds the commands as Dockerfile does, into a cache that the stand-in of
// Go's image has. So the build in the image takes seconds, and costs nothing twice.
func warmCache(ctx context.Context, cache, work string) error {
	return run(ending(ctx, work, root, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o",
		filepath.Join(work, "commands")+"/", "./cmd/importer", "./cmd/worker").
		env("CGO_ENABLED=0", "GOFLAGS=", "GOCACHE="+cache))
}

// cmd is a command of this machine.
type cmd struct{ *exec.Cmd }

func command(dir, name string, args ...string) cmd {
	c := exec.Command(name, args...)
	c.Dir = dir
	return cmd{c}
}

// ending is a command that ends with the context, and with this process. It has the
// working folder for its temporary files.
func ending(ctx context.Context, work, dir, name string, args ...string) cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 10 * time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return cmd{c}.env("TMPDIR=" + filepath.Join(work, "tmp"))
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
	// The signal at its parent's death is sent when the parent's thread ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out, said strings.Builder
	c.Stdout, c.Stderr = &out, io.MultiWriter(&said)
	if err := c.Run(); err != nil {
		text := said.String() + out.String()
		return out.String(), fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, text[max(0, len(text)-3000):])
	}
	return out.String(), nil
}
