package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/redis/go-redis/v9"

	"github.com/bulkfiling/bulkfiling/internal/lookup"
)

// Throttle returns a throttle of perSecond requests a second for all processes that share the
// queue's Redis or, with the in-process queue, the data folder dir. It returns nil if perSecond
// is 0.
func (q *Queue) Throttle(perSecond float64, dir string) *lookup.Throttle {
	switch {
	case perSecond == 0:
		return nil
	case q.embedded != nil:
		return lookup.NewThrottle(perSecond, &fileBucket{lock: flock.New(filepath.Join(dir, "pace"))})
	}
	return lookup.NewThrottle(perSecond, &redisBucket{redis: q.redis})
}

// redisBucket is the token bucket of a fleet.
type redisBucket struct{ redis *redis.Client }

// reserveScript takes tokens by the clock of the server, because clocks of hosts differ. The key
// stores the time of the next free token in microseconds. The arguments are the microseconds
// between tokens, the tokens to take and the tokens that may accumulate. The script returns the
// microseconds until the first token is valid, negative if it is valid already.
//
// A stored time further ahead than a hundred processes could have reserved was stored before
// the server's clock was set back, or by another server.
var reserveScript = redis.NewScript(`
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local between, wanted, pile = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local free = tonumber(redis.call('GET', KEYS[1]) or '0')
if free > now + 1000000 + 100 * wanted * between then free = now end
free = math.max(free, now - (pile - 1) * between)
local after = free + wanted * between
redis.call('SET', KEYS[1], string.format('%.3f', after), 'PX', math.ceil((after - now + pile * between) / 1000) + 1000)
return math.ceil(free - now)
`)

const bucketKey = "bulkfiling:pace"

func (b *redisBucket) Reserve(ctx context.Context, interval time.Duration, wanted, burst int) (time.Duration, error) {
	first, err := reserveScript.Run(ctx, b.redis, []string{bucketKey}, fmt.Sprintf("%.3f", float64(interval)/1e3),
		wanted, burst).Int64()
	if err != nil {
		return 0, fmt.Errorf("reserve tokens in Redis: %w", err)
	}
	return time.Duration(first) * time.Microsecond, nil
}

// fileBucket is the token bucket of the processes that share a data folder. A locked file stores
// the time of the next free token.
type fileBucket struct{ lock *flock.Flock }

func (b *fileBucket) Reserve(ctx context.Context, interval time.Duration, wanted, burst int) (time.Duration, error) {
	if _, err := b.lock.TryLockContext(ctx, time.Millisecond); err != nil {
		return 0, fmt.Errorf("reserve tokens: %w", err)
	}
	defer b.lock.Unlock()
	path := b.lock.Path() + ".next"
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("reserve tokens: %w", err)
	}
	// Unreadable content counts as a time long ago.
	free, _ := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
	now := time.Now().UnixNano()
	if free > now+int64(time.Second)+100*int64(wanted)*int64(interval) {
		free = now // the clock was set back
	}
	free = max(free, now-int64(burst-1)*int64(interval))
	if err := os.WriteFile(path, strconv.AppendInt(nil, free+int64(wanted)*int64(interval), 10), 0o600); err != nil {
		return 0, fmt.Errorf("reserve tokens: %w", err)
	}
	return time.Duration(free - now), nil
}
