package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A step says what it is at once it has taken a while, renews that as it goes, and
// leaves the line clean.
func TestPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &lockedBuffer{}
		p := &phase{what: "Looking up companies", began: time.Now()}
		p.end = (&terminal{err: out}).repeatLine(true, p.line)
		p.at(1, 400)
		time.Sleep(phaseAfter - time.Millisecond)
		synctest.Wait()
		if got := out.String(); got != "" {
			t.Errorf("after a moment it says %q", got)
		}
		p.at(120, 400)
		time.Sleep(liveEvery)
		synctest.Wait()
		if got := out.String(); !strings.HasSuffix(got, "Looking up companies: 120 of 400") {
			t.Errorf("it says %q", got)
		}
		p.at(240, 400)
		time.Sleep(liveEvery)
		synctest.Wait()
		if got := out.String(); !strings.HasSuffix(got, "Looking up companies: 240 of 400") {
			t.Errorf("it says %q", got)
		}
		p.end()
		if got := out.String(); !strings.HasSuffix(got, "\r\x1b[K") {
			t.Errorf("it leaves %q", got)
		}
		elsewhere := &lockedBuffer{} // no terminal
		p = (&terminal{err: elsewhere}).phase("Looking up companies")
		time.Sleep(time.Minute)
		if p.end(); elsewhere.String() != "" {
			t.Errorf("elsewhere than at a terminal: %q", elsewhere.String())
		}
	})
}

// What a step is at is said in rows where their number is not known, and else by
// how long it takes.
func TestPhaseLine(t *testing.T) {
	p := &phase{what: "Reading roster.csv", began: time.Now().Add(-3 * time.Second)}
	if got := p.line(); got != "Reading roster.csv… 3s" {
		t.Errorf("%q", got)
	}
	p.at(5000, 0)
	if got := p.line(); got != "Reading roster.csv: 5000 rows" &&
		got != "Reading roster.csv: 5,000 rows" {
		t.Errorf("%q", got)
	}
}
