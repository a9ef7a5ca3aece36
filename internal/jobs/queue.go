package jobs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// The one queue and the one kind of task on it.
const (
	queueName = "filings"
	taskType  = "place"
)

// chunkRows is the number of row IDs in a task. With one row a task the in-process Redis would
// be the bottleneck, see docs/decisions.
const chunkRows = 16

// window is the number of sendable rows that a pump considers. All pumps of a fleet find the
// same rows.
const window = 2048

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
	if redisURL == "" {
		var err error
		if q.embedded, err = startEmbedded(); err != nil {
			return nil, fmt.Errorf("start the in-process queue: %w", err)
		}
		options.Dialer = q.embedded.dial
		setDefaults(options)
	} else {
		var err error
		if options, err = parseRedis(redisURL); err != nil {
			return nil, fmt.Errorf("read REDIS_URL: %w", err)
		}
	}
	logging.Disable() // the errors are returned, too
	q.redis, q.host = redis.NewClient(options), options.Addr
	q.client = asynq.NewClientFromRedisClient(q.redis)
	return q, nil
}

// Close closes the connections. Tasks that are lost are enqueued again by another pump.
func (q *Queue) Close() error {
	err := q.redis.Close()
	if q.embedded != nil {
		q.embedded.redis.Close()
	}
	return err
}

// idLife is how long the ID of a chunk's task stays the same.
const idLife = 10 * time.Second

// enqueue enqueues a chunk of rows under an ID that follows from the chunk, so that any number
// of pumps may enqueue the same chunk. It reports false if the chunk is on the queue already.
//
// A task blocks its ID until it ends. A killed process leaves its tasks active for a minute, and
// a server that fails over may lose a task and keep its ID. Therefore the ID also changes every
// idLife, and the chunk may be enqueued again.
func (q *Queue) enqueue(ctx context.Context, chunk int64, now time.Time, rows []int64) (queued bool, err error) {
	payload := make([]byte, 0, 8*len(rows))
	for _, id := range rows {
		payload = binary.AppendVarint(payload, id)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask(taskType, payload),
		asynq.Queue(queueName),
		asynq.TaskID(fmt.Sprintf("%d-%d", chunk, now.UnixNano()/int64(idLife))),
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

// pendingKey is asynq's list of pending tasks.
const pendingKey = "asynq:{" + queueName + "}:pending"

// countPending counts the tasks that no handler has taken yet.
func (q *Queue) countPending(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	n, err := q.redis.LLen(ctx, pendingKey).Result()
	if err != nil {
		return 0, fmt.Errorf("count the tasks on the queue: %w", err)
	}
	return int(n), nil
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
