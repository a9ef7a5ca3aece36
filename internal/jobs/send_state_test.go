package jobs

import (
	"testing"
	"time"
)

// While one order is tried at a time, no other row is announced again and again: each
// attempt costs two commits.
func TestRowsRestLongerWhileNothingLeaves(t *testing.T) {
	s, attempts := &sendState{}, 0
	begin := time.Now()
	for now := begin; now.Before(begin.Add(time.Minute)); now = now.Add(10 * time.Millisecond) {
		if s.mayOrder(now) {
			attempts++
			s.recordUnsent(now)
			s.recordUnsent(now) // with it in flight
		}
	}
	if attempts < 20 || attempts > 30 {
		t.Errorf("%d attempts in a minute", attempts)
	}
	if s.recordAnswer(); !s.mayOrder(begin) {
		t.Error("the rows rest after an answer")
	}
}
