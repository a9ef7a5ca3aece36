package jobs

import (
	"context"
	"strconv"
	"time"

	"bulkfiling/internal/ledger"
)

// commitsKept is how long Redis keeps the number of a ledger's last commit.
const commitsTTL = 30 * 24 * time.Hour

// shareCommits leaves the number of the ledger's highest commit in Redis, and
// learns what others have left: a worker that starts on another machine after the
// ledger lost commits finds that out. It is a hint alone; without Redis, or with
// an emptied one, the ledger's own memory has to do.
func (q *Queue) shareCommits(ctx context.Context, l *ledger.Ledger) {
	lineage, number := l.Commits()
	key := "bulkfiling:commits:" + lineage
	said, _ := q.redis.Get(ctx, key).Result()
	seen, _ := strconv.ParseInt(said, 10, 64)
	if seen < number {
		_ = q.redis.Set(ctx, key, number, commitsTTL).Err()
		return
	}
	l.Saw(lineage, seen)
}
