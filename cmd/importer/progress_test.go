package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestPhase checks that a step is shown once it has taken a while, that its progress is renewed, and
// that its end leaves the line clean. In a log a line is added every ten seconds.
func TestPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &lockedBuffer{}
		at, end := (&terminal{err: out, live: true}).phase("Looking up companies")
		shows := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := out.String(); !strings.HasSuffix(got, want) || (want == "") != (got == "") {
				t.Errorf("it shows %q, want %q", got, want)
			}
		}
		shows(phaseAfter-time.Millisecond, "")
		shows(time.Second, "Looking up companies… 3s")
		at(120, 400)
		shows(liveEvery, "Looking up companies: 120 of 400, about 6 seconds left")
		at(19, 400)
		shows(liveEvery, "Looking up companies: 19 of 400")
		at(5000, 0)
		shows(liveEvery, "Looking up companies: "+count(5000, "row"))
		end()
		shows(0, "\r\x1b[K")
		log := &lockedBuffer{}
		at, end = (&terminal{err: log}).phase("Looking up companies")
		time.Sleep(15 * time.Second)
		at(100, 7200)
		time.Sleep(10 * time.Second)
		at(1000, 7200)
		time.Sleep(10 * time.Second)
		end()
		want := "Looking up companies… 10s\nLooking up companies: 100 of 7200\n" +
			"Looking up companies: 1000 of 7200, about 2 minutes 40 seconds left\n"
		if log.String() != want {
			t.Errorf("the log shows %q, want %q", log.String(), want)
		}
	})
}
