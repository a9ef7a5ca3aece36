package jobs

import (
	"fmt"
	"testing"
)

// A pipeline is written whole before its answers are read: the in-process
// connection must take all of it, however long it is.
func TestEmbeddedQueueTakesLongPipelines(t *testing.T) {
	q, err := OpenQueue("")
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	pipe := q.redis.Pipeline()
	for i := range 20_000 {
		pipe.Set(t.Context(), fmt.Sprintf("key-%06d", i), "a value of some length", 0)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := q.redis.DBSize(t.Context()).Val(); n != 20_000 {
		t.Errorf("%d keys", n)
	}
}
