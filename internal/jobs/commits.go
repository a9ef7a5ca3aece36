package jobs

import (
	"context"
	"strconv"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// commitsTTL is how long Redis keeps the number of a ledger's last commit.
const commitsTTL = 30 * 24 * time.Hour

// shareCommits keeps the number of the ledger's highest commit in Redis, and reads
// the number that others left there: so a worker on another machine finds out that
// the ledger lost commits. It is a hint only; without Redis, or with an emptied
// one, the ledger's own memory has to do.
func (q *Queue) shareCommits(ctx context.Context, l *ledger.Ledger) {
	lineage, number := l.Fleet().Commits()
	key := "bulkfiling:commits:" + lineage
	said, _ := q.redis.Get(ctx, key).Result()
	seen, _ := strconv.ParseInt(said, 10, 64)
	if seen < number {
		_ = q.redis.Set(ctx, key, number, commitsTTL).Err()
		return
	}
	l.Fleet().RecordCommit(lineage, seen)
}
