package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The queue within a process opens no socket: there is nothing that another
// user of the machine could connect to.
func TestEmbeddedQueueOpensNoSocket(t *testing.T) {
	before := countSockets(t)
	q, err := OpenQueue("")
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if _, err := q.enqueue(t.Context(), 1, time.Now(), []int64{1, 2}); err != nil {
		t.Fatal(err)
	}
	if n, err := q.count(t.Context(), pendingKey); n != 1 || err != nil {
		t.Fatalf("%d chunks on the queue, %v", n, err)
	}
	if after := countSockets(t); after != before {
		t.Errorf("the process has %d sockets, and had %d before its queue was opened", after, before)
	}
}

func countSockets(t *testing.T) int {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
