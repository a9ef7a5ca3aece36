package jobs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
)

// The one queue and the one kind of task on it.
const (
	queueName = "filings"
	taskType  = "place"
)

// chunkRows is how many row ids travel in one task. One a task would make the
// in-process Redis the bottleneck; see docs/decisions.
const chunkRows = 16

// window bounds the row ids on the queue, whatever the size of a batch: every
// pump of a fleet enqueues the same first so many rows that may be sent, under
// the same ids.
const window = 2048

// Queue is the transport: a Redis server's, or one inside this process.
type Queue struct {
	client   *asynq.Client
	connect  asynq.RedisConnOpt
	embedded *miniredis.Miniredis
	stop     chan struct{}
	clock    sync.WaitGroup
}

// OpenQueue connects to redisURL (redis://, rediss://, redis-sentinel://, …) or,
// where it is empty, starts a Redis within the process.
func OpenQueue(redisURL string) (*Queue, error) {
	q := &Queue{stop: make(chan struct{})}
	if redisURL == "" {
		q.embedded = miniredis.NewMiniRedis()
		if err := q.embedded.StartAddr("127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("start the in-process queue: %w", err)
		}
		q.connect = asynq.RedisClientOpt{Addr: q.embedded.Addr(), PoolSize: 64}
		q.clock.Add(1)
		go q.keepTime()
	} else {
		connect, err := asynq.ParseRedisURI(redisURL)
		if err != nil {
			return nil, errors.New("REDIS_URL is not a redis://, rediss:// or redis-sentinel:// address")
		}
		q.connect = connect
	}
	q.client = asynq.NewClient(q.connect)
	if err := q.client.Ping(); err != nil {
		q.Close()
		return nil, fmt.Errorf("reach Redis: %w", err)
	}
	return q, nil
}

// keepTime lets keys of the in-process Redis expire, which they do not do by
// themselves.
func (q *Queue) keepTime() {
	defer q.clock.Done()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-q.stop:
			return
		case <-tick.C:
			q.embedded.FastForward(time.Second)
		}
	}
}

// Close leaves the queue. What is on it stays the ledger's to enqueue again.
func (q *Queue) Close() error {
	err := q.client.Close()
	close(q.stop)
	q.clock.Wait()
	if q.embedded != nil {
		q.embedded.Close()
	}
	return err
}

// put enqueues a chunk of rows under an id made from the rows themselves, so
// that any number of pumps may enqueue the same chunk. It reports false where the
// chunk is on the queue already.
//
// A process that was killed leaves its tasks active, and an active task blocks
// its id until its lease has run out, a minute later. So the id also turns with
// the crew: whenever a process comes or goes, all chunks may be enqueued once
// more. And it turns with the clock: a task that Redis lost track of blocks its
// rows for minutes, not for ever.
func (q *Queue) put(ctx context.Context, crew string, chunk int64, rows []int64, now time.Time) (queued bool, err error) {
	payload := make([]byte, 0, 8*len(rows))
	for _, id := range rows {
		payload = binary.AppendVarint(payload, id)
	}
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask(taskType, payload),
		asynq.Queue(queueName),
		asynq.TaskID(fmt.Sprintf("%d-%s-%d", chunk, crew, now.Unix()/300)),
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

func rowsOf(payload []byte) ([]int64, error) {
	var rows []int64
	for len(payload) > 0 {
		id, n := binary.Varint(payload)
		if n <= 0 {
			return nil, errors.New("a task that is not a list of rows")
		}
		rows, payload = append(rows, id), payload[n:]
	}
	return rows, nil
}
