package jobs

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/bulkfiling/bulkfiling/internal/lookup"
)

// Processes share the tokens of a bucket, of which no more than the burst pile up. A
// bucket that cannot be read, or is from before a clock was set back, holds nobody up.
func TestTokenBuckets(t *testing.T) {
	const interval = 100 * time.Hour // long beside what a loaded machine takes
	q, err := OpenQueue("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	path := filepath.Join(t.TempDir(), "pace")
	ahead := time.Now().Add(1_000_000 * time.Hour)
	for name, c := range map[string]struct {
		open  func() lookup.Bucket
		spoil []func() error
	}{
		"Redis": {
			func() lookup.Bucket { return &redisBucket{redis: q.redis} },
			[]func() error{
				func() error { return q.redis.Set(t.Context(), bucketKey, ahead.UnixMicro(), 0).Err() },
			},
		},
		"a folder": {
			func() lookup.Bucket { return &fileBucket{lock: flock.New(path)} },
			[]func() error{
				func() error { return os.WriteFile(path+".next", []byte("rubbish"), 0o600) },
				func() error {
					return os.WriteFile(path+".next", strconv.AppendInt(nil, ahead.UnixNano(), 10), 0o600)
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			one, two := c.open(), c.open()
			wants := func(b lookup.Bucket, want time.Duration) {
				t.Helper()
				first, err := b.Reserve(t.Context(), interval, 1, 3)
				if err != nil || (first-want).Abs() > interval/2 {
					t.Errorf("a token in %s, %v; want %s", first, err, want)
				}
			}
			wants(one, -2*interval) // two have piled up
			wants(two, -interval)
			wants(one, 0)
			wants(two, interval)
			wants(one, 2*interval)
			for _, spoil := range c.spoil {
				if err := spoil(); err != nil {
					t.Fatal(err)
				}
				if first, err := one.Reserve(t.Context(), interval, 1, 3); err != nil || first > interval/2 {
					t.Errorf("a token in %s, %v", first, err)
				}
			}
		})
	}
}
