package jobs_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bulkfiling/bulkfiling/internal/nettest"
)

// redisServer is a server of a test's own, which it may stop, stall and break.
type redisServer struct {
	tb      testing.TB
	address string
	conf    string
	cmd     *exec.Cmd
	admin   *redis.Client
}

// needServers skips a test of real servers where nobody asked for such tests;
// they start their own.
func needServers(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("skipping a test on servers in short mode")
	}
	if os.Getenv("TEST_REDIS_URL") == "" && os.Getenv("CI") == "" {
		tb.Skip("TEST_REDIS_URL is not set: tests on real Redis servers are not wanted")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatal("redis-server is not installed: on CI the tests on real servers must run")
		}
		tb.Skip("redis-server is not installed")
	}
}

// startRedis starts a server with these lines of configuration. admin is how the
// test itself gets in, nil for without a password.
func startRedis(tb testing.TB, admin *redis.Options, lines ...string) *redisServer {
	tb.Helper()
	needServers(tb)
	s := &redisServer{tb: tb, address: nettest.Free()}
	if admin == nil {
		admin = &redis.Options{}
	}
	_, port, _ := net.SplitHostPort(s.address)
	s.conf = fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsave \"\"\nappendonly no\n%s\n", port, tb.TempDir(),
		strings.Join(lines, "\n"))
	o := *admin
	o.Addr = s.addr()
	s.admin = redis.NewClient(&o)
	tb.Cleanup(func() { s.admin.Close() })
	s.start()
	tb.Cleanup(s.kill)
	return s
}

func (s *redisServer) addr() string { return s.address }

// start starts the process and waits until it answers.
func (s *redisServer) start() {
	s.tb.Helper()
	said := &strings.Builder{}
	s.cmd = exec.Command("redis-server", "-")
	s.cmd.Stdin = strings.NewReader(s.conf)
	s.cmd.Stdout, s.cmd.Stderr = said, said
	if err := s.cmd.Start(); err != nil {
		s.tb.Error(err)
		return
	}
	for deadline := time.Now().Add(20 * time.Second); s.admin.Ping(context.Background()).Err() != nil; {
		if time.Now().After(deadline) {
			s.tb.Errorf("redis-server does not answer: %s", said)
			return
		}
		time.Sleep(10 * time.Millisecond) // between two looks
	}
}

// kill ends the process, as SIGKILL does.
func (s *redisServer) kill() {
	if s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// do runs a command on the server, as an operator might.
func (s *redisServer) do(args ...any) {
	s.tb.Helper()
	if err := s.admin.Do(context.Background(), args...).Err(); err != nil {
		s.tb.Errorf("%v: %v", args, err)
	}
}
