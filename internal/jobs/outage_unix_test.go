//go:build unix

package jobs_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// A server that stands still for longer than the lease of a task, with tasks in
// hand, gives them to others afterwards, or loses them: no order is sent twice.
func TestRedisStalled(t *testing.T) {
	t.Parallel()
	s := startRedis(t, nil)
	f := newFirm(t, servers{redis: "redis://" + s.addr()},
		sandbox.Config{OpeningBalance: rich, AutoSeed: true, Latency: 20 * time.Millisecond})
	said := f.fleet(600, 150, func() {
		if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		time.AfterFunc(31*time.Second, func() { s.cmd.Process.Signal(syscall.SIGCONT) })
	})
	if n := said.count(`"orders held" reason=redis`); n != 2 {
		t.Errorf("%q", said.lines)
	}
}
