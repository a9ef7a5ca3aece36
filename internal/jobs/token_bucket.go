package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/redis/go-redis/v9"
)

// redisTurns are those of a fleet.
type redisBucket struct {
	redis redis.UniversalClient
	id    string // of this process among those who take turns
}

// takeTurns hands turns out as if everybody drew them from one bucket, by the
// clock of the server: those of the hosts need not agree. KEYS: the moment of the
// next free turn, in microseconds; who took turns lately. ARGV: microseconds
// between turns, turns wanted, turns that may pile up unused, who asks. It
// returns in how many microseconds the first turn is (less than 0: since when),
// and how many take turns.
//
// A moment that lies further ahead than a hundred processes could have taken it
// is from before the server's clock was set back, or from another server.
var reserveScript = redis.NewScript(`
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local between, wanted, pile = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local free = tonumber(redis.call('GET', KEYS[1]) or '0')
if free > now + 1000000 + 100 * wanted * between then free = now end
free = math.max(free, now - (pile - 1) * between)
local after = free + wanted * between
redis.call('SET', KEYS[1], string.format('%.3f', after), 'PX', math.ceil((after - now + pile * between) / 1000) + 1000)
redis.call('ZADD', KEYS[2], clock[1], ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', clock[1] - 60)
redis.call('EXPIRE', KEYS[2], 60)
return {math.ceil(free - now), redis.call('ZCARD', KEYS[2])}
`)

// paceKeys lie in one slot of a cluster.
var bucketKeys = []string{"bulkfiling:{" + queueName + "}:pace", "bulkfiling:{" + queueName + "}:paced"}

func (t *redisBucket) reserve(ctx context.Context, between time.Duration,
	wanted, pile int) (first time.Duration, sharers int, err error) {
	answer, err := reserveScript.Run(ctx, t.redis, bucketKeys, fmt.Sprintf("%.3f", float64(between)/1e3), wanted, pile,
		t.id).Int64Slice()
	if err == nil && len(answer) != 2 {
		err = fmt.Errorf("%d numbers in place of 2", len(answer))
	}
	if err != nil {
		return 0, 0, fmt.Errorf("take turns from Redis: %w", err)
	}
	return time.Duration(answer[0]) * time.Microsecond, int(answer[1]), nil
}

// folderTurns are those of the processes over one data folder: a file holds the
// moment of the next free turn, and whoever has it locked takes some.
type fileBucket struct{ lock *flock.Flock }

func (t *fileBucket) reserve(ctx context.Context, between time.Duration,
	wanted, pile int) (first time.Duration, sharers int, err error) {
	if _, err := t.lock.TryLockContext(ctx, time.Millisecond); err != nil {
		return 0, 0, fmt.Errorf("take turns: %w", err)
	}
	defer t.lock.Unlock()
	path := t.lock.Path() + ".next"
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, fmt.Errorf("take turns: %w", err)
	}
	free, _ := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64) // what cannot be read is long ago
	now := time.Now().UnixNano()
	if free > now+int64(time.Second)+100*int64(wanted)*int64(between) {
		free = now // from before the clock was set back
	}
	free = max(free, now-int64(pile-1)*int64(between))
	if err := os.WriteFile(path, strconv.AppendInt(nil, free+int64(wanted)*int64(between), 10), 0o600); err != nil {
		return 0, 0, fmt.Errorf("take turns: %w", err)
	}
	return time.Duration(free - now), 1, nil
}
