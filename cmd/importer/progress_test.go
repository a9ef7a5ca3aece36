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
		p := (&terminal{err: out, live: true}).startPhase("Looking up companies")
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
		p.at(120, 400)
		shows(liveEvery, "Looking up companies: 120 of 400, about 7 seconds left")
		p.at(19, 400)
		shows(liveEvery, "Looking up companies: 19 of 400")
		p.at(5000, 0)
		shows(liveEvery, "Looking up companies: "+count(5000, "row"))
		p.showWait(time.Now().Add(5 * time.Second))
		shows(liveEvery, "Looking up companies: the filing service allows no more requests for 5 seconds")
		p.at(200, 0)
		shows(2*time.Second, "Looking up companies: the filing service allows no more requests for 3 seconds")
		shows(3*time.Second, "Looking up companies: 200 rows")
		p.end()
		shows(0, "\r\x1b[K")
		log := &lockedBuffer{}
		p = (&terminal{err: log}).startPhase("Looking up companies")
		time.Sleep(15 * time.Second)
		p.at(100, 7200)
		time.Sleep(10 * time.Second)
		p.at(1000, 7200)
		time.Sleep(10 * time.Second)
		p.end()
		want := "Looking up companies… 10s\nLooking up companies: 100 of 7200\n" +
			"Looking up companies: 1000 of 7200, about 3 minutes 10 seconds left\n"
		if log.String() != want {
			t.Errorf("the log shows %q, want %q", log.String(), want)
		}
	})
}
