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

// chunkRows is how many row ids a task carries. With one a task the in-process
// Redis would be the bottleneck; see docs/decisions.
const chunkRows = 16

// window is how many of the first rows that may be sent a pump looks at, whatever the size
// of a batch. The pumps of a fleet all find the same ones.
const window = 2048

// Queue is the transport: a Redis server's, or one inside this process.
type Queue struct {
	redis    *redis.Client
	client   *asynq.Client
	embedded *embedded // nil where a server carries the queue
	host     string    // for its errors
	health   redisHealth
}

// OpenQueue connects to redisURL or, where it is empty, starts a Redis within the
// process. Its error is ErrQueueDown where the same address may work later, and never
// shows a password.
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

// NewQueue is OpenQueue without a connection: calls fail while the server is down,
// and work once it is up.
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
	logging.Disable() // it would write to the terminal; errors are returned as well
	q.redis, q.host = redis.NewClient(options), options.Addr
	q.client = asynq.NewClientFromRedisClient(q.redis)
	return q, nil
}

// Close closes the connections. The pump enqueues again what is lost with them.
func (q *Queue) Close() error {
	err := q.redis.Close()
	if q.embedded != nil {
		q.embedded.redis.Close()
	}
	return err
}

// idLife is how long the id of a chunk's task stays the same. With a slow rate, handlers
// hold the rows of two seconds.
const idLife = 10 * time.Second

// enqueue puts a chunk of rows on the queue under an id made from the rows, so that
// any number of pumps may enqueue the same chunk. It reports false where the chunk
// is on the queue already.
//
// A task blocks its id until it has ended. A process that was killed leaves its tasks
// active for a minute, and a server that fails over may lose a task and keep its id. So
// the id also changes every idLife: then the chunk may be enqueued once more.
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
		asynq.MaxRetry(0), // attempts are counted in the ledger
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

// pendingKey is asynq's list of the tasks that no handler has taken yet.
const pendingKey = "asynq:{" + queueName + "}:pending"

// countPending counts the chunks that no handler has taken yet.
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
