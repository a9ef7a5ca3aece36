package jobs

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/bulkfiling/bulkfiling/internal/network"
)

// The one queue and the one kind of task on it.
const (
	queueName = "filings"
	taskType  = "place"
)

// Asynq's keys. A client writes queuesKey, which lists the queues for asynq's tools, only once, so
// it is missing after a flush.
const (
	queuesKey  = "asynq:queues"
	pendingKey = "asynq:{" + queueName + "}:pending"
	activeKey  = "asynq:{" + queueName + "}:active"
)

// chunkRows is the number of row IDs in a task. With one row a task the in-process Redis would
// be the bottleneck, see docs/decisions.
const chunkRows = 16

// ErrQueueDown means that Redis cannot be reached or accepts no writes, and may work later. Test
// with errors.Is.
var ErrQueueDown = errors.New("the queue's Redis is down")

// Queue is the transport: a Redis server's, or one inside this process.
type Queue struct {
	redis  *redis.Client
	client *asynq.Client
	// embedded is the in-process Redis, nil if the queue is on a server.
	embedded *embedded
	// host names the server in errors.
	host   string
	health redisHealth
}

// OpenQueue connects to redisURL. If it is empty, OpenQueue starts a Redis within the process.
// The error is ErrQueueDown if the same address may work later, and never contains a password.
func OpenQueue(redisURL string) (*Queue, error) {
	q, err := NewQueue(redisURL)
	if err != nil {
		return nil, err
	}
	if err := q.Ping(); err != nil {
		_ = q.Close()
		return nil, err
	}
	return q, nil
}

// NewQueue is OpenQueue without a connection. Calls fail while the server is down and succeed
// once it is up.
func NewQueue(redisURL string) (*Queue, error) {
	q := &Queue{}
	options := &redis.Options{Addr: "this process"}
	var err error
	if redisURL == "" {
		if q.embedded, err = startEmbedded(); err != nil {
			return nil, fmt.Errorf("start the in-process queue: %w", err)
		}
		options.Dialer = q.embedded.dial
	} else if options, err = parseRedis(redisURL); err != nil {
		return nil, fmt.Errorf("read REDIS_URL: %w", err)
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = 3*time.Second, 3*time.Second, 3*time.Second
	options.DialerRetries = 1 // commands are retried, too
	options.ContextTimeoutEnabled = true
	options.PoolSize = 64
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	logging.Disable() // the errors are returned, too
	q.redis, q.host = redis.NewClient(options), options.Addr
	q.client = asynq.NewClientFromRedisClient(q.redis)
	return q, nil
}

// errRedisURL does not quote the address, which may contain a password.
var errRedisURL = errors.New("it is not an address of Redis: write redis://user:password@host:6379/0, rediss:// with " +
	"TLS, or unix:///path; in a name or password, write @ as %40, / as %2F, ? as %3F, # as %23, : as %3A and % as %25")

// parseRedis reads an address of REDIS_URL.
func parseRedis(address string) (*redis.Options, error) {
	o, err := redis.ParseURL(address)
	if err != nil || o.DB < 0 || o.Addr == "" || strings.Contains(address, "#") {
		return nil, errRedisURL
	}
	if o.TLSConfig != nil { // an address could turn the checks off
		network.HardenTLS(o.TLSConfig).InsecureSkipVerify = false
	}
	return o, nil
}

// Close closes the connections. Tasks that are lost are enqueued again by another pump.
func (q *Queue) Close() error {
	err := q.redis.Close()
	if q.embedded != nil {
		q.embedded.redis.Close()
	}
	return err
}

// Ping checks that the server answers. The error is ErrQueueDown if the same queue may work later,
// and never contains a password.
func (q *Queue) Ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := q.redis.Ping(ctx).Err()
	switch {
	case err == nil:
		return nil
	case isMisconfigured(err):
		return fmt.Errorf("reach Redis at %s: %w", q.host, err)
	}
	return fmt.Errorf("%w: reach it at %s: %w", ErrQueueDown, q.host, err)
}

// isMisconfigured reports whether an error lasts until a person corrects REDIS_URL.
func isMisconfigured(err error) bool {
	var certificate *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	if errors.As(err, &certificate) || errors.As(err, &header) {
		return true
	}
	text := err.Error()
	for _, refusal := range []string{"NOAUTH", "WRONGPASS", "NOPERM", "ERR AUTH", "ERR invalid password",
		"ERR DB index", "ERR SELECT", "remote error: tls"} {
		if strings.Contains(text, refusal) {
			return true
		}
	}
	return false
}

// taskIDTTL is how long the ID of a chunk's task stays the same.
const taskIDTTL = 10 * time.Second

// enqueue enqueues a chunk of rows under an ID that follows from the chunk, so that any number
// of pumps may enqueue the same chunk. It reports false if the chunk is on the queue already.
//
// A task blocks its ID until it ends. A killed process leaves its tasks active for a minute, and
// a server that fails over may lose a task and keep its ID. Therefore the ID also changes every
// taskIDTTL, and the chunk may be enqueued again.
func (q *Queue) enqueue(ctx context.Context, chunk int64, now time.Time, rows []int64) (queued bool, err error) {
	payload := make([]byte, 0, 8*len(rows))
	for _, id := range rows {
		payload = binary.AppendVarint(payload, id)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask(taskType, payload),
		asynq.Queue(queueName),
		asynq.TaskID(fmt.Sprintf("%d-%d", chunk, now.UnixNano()/int64(taskIDTTL))),
		asynq.MaxRetry(0), // the ledger counts attempts
		asynq.Timeout(10*time.Minute),
		asynq.Retention(0),
	)
	switch {
	case errors.Is(err, asynq.ErrTaskIDConflict):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("enqueue rows of chunk %d: %w", chunk, err)
	}
	return true, nil
}

func decodeRows(payload []byte) ([]int64, error) {
	var rows []int64
	for len(payload) > 0 {
		id, n := binary.Varint(payload)
		if n <= 0 {
			return nil, errors.New("the task is not a list of rows")
		}
		rows, payload = append(rows, id), payload[n:]
	}
	return rows, nil
}

// count counts the tasks of a list of asynq's.
func (q *Queue) count(ctx context.Context, key string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	n, err := q.redis.LLen(ctx, key).Result()
	if err != nil {
		return 0, fmt.Errorf("count the tasks on the queue: %w", err)
	}
	return int(n), nil
}

// Depth counts the tasks on the queue by asynq's names of their states.
func (q *Queue) Depth(ctx context.Context) (map[string]int, error) {
	pending, err := q.count(ctx, pendingKey)
	if err != nil {
		return nil, err
	}
	active, err := q.count(ctx, activeKey)
	return map[string]int{"pending": pending, "active": active}, err
}

// probe writes the list of queues to see whether Redis accepts writes.
func (q *Queue) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := q.redis.SAdd(ctx, queuesKey, queueName).Err(); err != nil {
		return fmt.Errorf("write to Redis: %w", err)
	}
	return nil
}

// redisHealth records whether Redis accepts writes. Reads prove nothing: a server that is full,
// or a replica that was a master a moment ago, still answers reads.
type redisHealth struct {
	mu sync.Mutex
	// lastWrite is the time of the last write, successful or not.
	lastWrite time.Time
	// downSince is when writes began to fail, zero if the last one succeeded. err is the first
	// error.
	downSince time.Time
	err       error
}

// record records the result of a write.
func (h *redisHealth) record(now time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lastWrite = now
	switch {
	case err == nil:
		h.downSince, h.err = time.Time{}, nil
	case h.downSince.IsZero():
		h.downSince, h.err = now, err
	}
}

// idle reports whether the last write was a second ago or earlier.
func (h *redisHealth) idle(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Sub(h.lastWrite) >= time.Second
}

// downFor returns how long Redis has been down, and the error. It returns zero if Redis is up.
func (h *redisHealth) downFor(now time.Time) (time.Duration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.downSince.IsZero() {
		return 0, nil
	}
	return max(now.Sub(h.downSince), 1), h.err
}
