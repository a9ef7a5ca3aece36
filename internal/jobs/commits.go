package jobs

import (
	"context"
	"strconv"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// commitsTTL is how long Redis keeps the number of the last commit of a ledger.
const commitsTTL = 30 * 24 * time.Hour

// shareCommits stores the number of the highest known commit in Redis and reads the number that
// other processes stored. A worker on another machine thereby notices that the ledger lost
// commits. Redis only adds to what each process remembers itself.
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
