//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/bulkfiling/bulkfiling/internal/nettest"
)

// server is a real server of a test's own, which it may kill and start again on
// the same address.
type server struct {
	tb       testing.TB
	name     string
	addr     string
	command  []string
	as       *syscall.Credential // nil: as the user who runs the test
	answers  func(context.Context) error
	cmd      *exec.Cmd
	messages strings.Builder
}

// start starts the process and waits until it answers. It is called by timers,
// too, so it ends no test.
func (s *server) start() {
	s.cmd = exec.Command(s.command[0], s.command[1:]...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = os.TempDir(), &s.messages, &s.messages
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	if err := s.cmd.Start(); err != nil {
		s.tb.Errorf("start %s: %v", s.name, err)
		return
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err := s.answers(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			s.tb.Errorf("%s does not answer: %v", s.name, err)
			return
		}
	}
}

// stop ends the process by a signal and waits for its end.
func (s *server) stop(by os.Signal) {
	if s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(by)
		_ = s.cmd.Wait()
	}
}

// processorTime is what the server and its processes have used so far, as Linux's /proc
// says; 0 elsewhere.
func (s *server) processorTime() time.Duration {
	const ticks = 10 * time.Millisecond // USER_HZ is 100 on all of Linux's ports that Go has
	read := func(pid string, fields ...int) (used time.Duration) {
		stat, _ := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		_, after, _ := strings.Cut(string(stat), ") ") // the name before may have spaces
		all := strings.Fields(after)
		for _, i := range fields {
			if i < len(all) {
				n, _ := strconv.ParseInt(all[i], 10, 64)
				used += time.Duration(n) * ticks
			}
		}
		return used
	}
	pid := strconv.Itoa(s.cmd.Process.Pid)
	used := read(pid, 11, 12, 13, 14) // its own, and that of children that have ended
	children, _ := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
	for _, child := range strings.Fields(string(children)) {
		used += read(child, 11, 12)
	}
	return used
}

// needServers skips a test of real servers where nobody asked for such tests, and
// fails it where they have to run.
func needServers(tb testing.TB) (postgres string) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("skipping a test on servers in short mode")
	}
	missing := ""
	if os.Getenv("CI") == "" && os.Getenv("TEST_DATABASE_URL") == "" && os.Getenv("FLEET_ROWS") == "" {
		tb.Skip("tests on real servers are not wanted: neither CI nor TEST_DATABASE_URL nor FLEET_ROWS is set")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		missing = "redis-server"
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		missing = "PostgreSQL"
	}
	switch {
	case missing != "" && os.Getenv("CI") != "":
		tb.Fatal(missing + " is not installed: on CI the tests on real servers must run")
	case missing != "":
		tb.Skip(missing + " is not installed")
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1])
}

// startRedis starts a Redis that keeps nothing on the disk.
func startRedis(tb testing.TB) (s *server, client *redis.Client) {
	tb.Helper()
	dir := tb.TempDir()
	address := nettest.Free()
	_, port, _ := net.SplitHostPort(address)
	client = redis.NewClient(&redis.Options{Addr: address})
	s = &server{
		tb:   tb,
		name: "redis-server",
		addr: address,
		command: []string{"redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
			"--dir", dir},
		answers: func(ctx context.Context) error { return client.Ping(ctx).Err() },
	}
	tb.Cleanup(func() { client.Close(); s.stop(syscall.SIGKILL) })
	s.start()
	return s, client
}

// startPostgres makes an empty database server.
func startPostgres(tb testing.TB, bin string) (s *server, url string) {
	tb.Helper()
	must := func(err error) {
		if err != nil {
			tb.Helper()
			tb.Fatal(err)
		}
	}
	// Not tb.TempDir: the server's own user has to get into it.
	dir, err := os.MkdirTemp("", "fleet")
	must(err)
	tb.Cleanup(func() { os.RemoveAll(dir) })
	must(os.Chmod(dir, 0o711))
	data := filepath.Join(dir, "data")
	must(os.Mkdir(data, 0o700))
	as, err := serverUser()
	must(err)
	if as != nil {
		must(os.Chown(data, int(as.Uid), int(as.Gid)))
	}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--no-sync",
		"--no-locale", "-E", "UTF8")
	initdb.Dir, initdb.SysProcAttr = os.TempDir(), &syscall.SysProcAttr{Credential: as}
	if out, err := initdb.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, out)
	}
	address := nettest.Free()
	_, port, _ := net.SplitHostPort(address)
	url = databaseURL(address)
	s = &server{
		tb:   tb,
		name: "postgres",
		addr: address,
		as:   as,
		command: []string{filepath.Join(bin, "postgres"), "-D", data, "-p", port, "-k", data, "-c",
			"listen_addresses=127.0.0.1", "-c", "max_connections=120", "-c", "log_min_messages=fatal"},
		answers: func(ctx context.Context) error {
			c, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			return c.Close(ctx)
		},
	}
	tb.Cleanup(func() { s.stop(syscall.SIGQUIT) })
	s.start()
	return s, url
}

func databaseURL(address string) string {
	return "postgres://postgres@" + address + "/postgres?sslmode=disable"
}

// serverUser is whom PostgreSQL, which refuses to run as root, runs as; nil for
// ourselves.
func serverUser() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	var errs error
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("the user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("the group of %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errs
}
