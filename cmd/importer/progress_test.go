package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestPhase checks that a step is shown once it has taken a while, that its progress is renewed, and
// that its end leaves the line clean. Elsewhere than at a terminal nothing is shown.
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
		shows(liveEvery, "Looking up companies: 120 of 400")
		at(5000, 0)
		shows(liveEvery, "Looking up companies: "+count(5000, "row"))
		end()
		shows(0, "\r\x1b[K")
		elsewhere := &lockedBuffer{}
		_, end = (&terminal{err: elsewhere}).phase("Looking up companies")
		time.Sleep(time.Minute)
		if end(); elsewhere.String() != "" {
			t.Errorf("elsewhere than at a terminal: %q", elsewhere.String())
		}
	})
}
