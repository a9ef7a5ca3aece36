package jobs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/jobs"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/sandbox"
)

// What keeps a season from being kept is told by name, and nothing is kept.
func TestAddSeasonKeepsNothingThatCannotFire(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	l := f.openLedger()
	agents := "Company ID,Filing State,User ID,Change Of Agent\ncomp_1,DE,user_1,yes\n"
	ahead := jobs.SeasonOptions{Product: filing.AgentChange, Due: "30 days before", FilingYear: "this", Zone: "UTC"}
	for _, c := range []struct {
		what, name, content string
		options             jobs.SeasonOptions
		err                 error
		text                string
	}{
		{"a name with a blank", "a b", rosterHead + companies(0, 1, "DE"), yearly, jobs.ErrSeason, "no name of a season"},
		{"no time at all", "x", rosterHead + companies(0, 1, "DE"), jobs.SeasonOptions{}, jobs.ErrSeason, "give one of them"},
		{"no schedule", "x", rosterHead + companies(0, 1, "DE"), jobs.SeasonOptions{At: "soon"}, jobs.ErrSeason, "soon"},
		{"no roster", "x", "Not,A,Roster\n1,2,3\n", yearly, jobs.ErrRoster, "header"},
		{"not one row to file", "x", rosterHead + "comp_1,,,,,,\n", yearly, jobs.ErrSeason, "no row of roster.csv can be filed"},
		{"due dates of what has none", "x", agents, ahead, jobs.ErrSeason, "due dates of annual reports"},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, err := jobs.AddSeason(f.Context(), l, jobs.Enrolment{Name: c.name, File: "a/roster.csv", Content: []byte(c.content), Options: c.options, By: "Ana"})
			if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), jobs.ErrSeason.Error()) {
				t.Errorf("%v; want %v with %q", err, c.err, c.text)
			}
			if all, err := l.Seasons(f.Context()); err != nil || len(all) != 0 {
				t.Errorf("kept %+v, %v", all, err)
			}
		})
	}
}

// The same season again is the same season, and another of its name is refused;
// a new version of its roster says what it changes.
func TestSeasonIsAddedOnceAndUpdated(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	l := f.openLedger()
	ask := jobs.Enrolment{Name: "de", File: "roster.csv", Content: []byte(rosterHead + companies(0, 3, "DE")), Options: yearly, By: "Ana"}
	ask.Options.Zone = "UTC"
	first, err := jobs.AddSeason(f.Context(), l, ask)
	f.must(err)
	again, err := jobs.AddSeason(f.Context(), l, ask)
	f.must(err)
	if first.Same || !again.Same || first.Roster.Tally.Ready != 3 || again.Season.Roster != first.Season.Roster {
		t.Errorf("%+v, then %+v", first, again)
	}
	other := ask
	other.Approval = true
	if _, err := jobs.AddSeason(f.Context(), l, other); !errors.Is(err, jobs.ErrTaken) || !errors.Is(err, jobs.ErrSeason) {
		t.Error(err)
	}
	done, err := jobs.UpdateSeason(f.Context(), l, again.Season, "roster-2.csv", []byte(rosterHead+companies(1, 5, "DE")), "Leo")
	f.must(err)
	if p := done.Changes; done.Same || len(p.New) != 2 || len(p.Missing) != 1 || len(p.Unchanged) != 2 || len(p.Changed) != 0 {
		t.Errorf("%+v", done)
	}
	s, err := jobs.FindSeason(f.Context(), l, "de")
	f.must(err)
	if s.File != "roster-2.csv" || s.Roster != done.Season.Roster || s.Roster == first.Season.Roster {
		t.Errorf("%+v", s)
	}
	// Whoever has seen the season before that is too late, and changes nothing.
	if _, err := jobs.UpdateSeason(f.Context(), l, again.Season, "roster-3.csv", []byte(rosterHead+companies(5, 7, "DE")), "Ida"); !errors.Is(err, ledger.ErrStale) {
		t.Error(err)
	}
	if now, err := jobs.FindSeason(f.Context(), l, "de"); err != nil || now.Roster != s.Roster || now.Version != done.Season.Version {
		t.Errorf("%+v, %v", now, err)
	}
	if _, err := jobs.FindSeason(f.Context(), l, "nosuch"); !errors.Is(err, ledger.ErrNotFound) {
		t.Error(err)
	}
	line, err := jobs.LineOf(f.Context(), l, s)
	f.must(err)
	next, err := jobs.NextFirings(f.Context(), l, s, 3)
	f.must(err)
	if len(next) != 3 || !line.Next.Equal(next[0].At) || !next[0].At.After(time.Now()) || next[2].At.Year() != next[0].At.Year()+2 || !strings.HasSuffix(line.When(), "-01-15 06:00 UTC") || line.Came() != "" {
		t.Errorf("%+v, %+v", line, next)
	}
}

// What is fired by hand is rehearsed first; the same roster is fired by hand
// once a day.
func TestSeasonIsRehearsedBeforeItIsFiredByHand(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true})
	var h hand
	h.set("2027-01-01 12:00 UTC")
	l := f.openLedger()
	se := f.plant(l, "de", companies(0, 3, "DE"), yearly, h.now(), false)
	s := f.seasons(l, &h)
	h.set("2027-01-15 06:00 UTC")
	f.must(s.Look(f.Context()))
	r, err := s.Rehearse(f.Context(), se)
	f.must(err)
	if r.Fired != nil || r.Today == nil || r.Plan == nil || r.Plan.Rows != 3 || len(f.firings(l, "de")) != 1 {
		t.Fatalf("%+v", r)
	}
	fired, err := s.FireByHand(f.Context(), se, r.Firing)
	f.must(err)
	r, err = s.Rehearse(f.Context(), se)
	f.must(err)
	if r.Fired == nil || r.Fired.ID != fired.ID || r.Plan != nil {
		t.Errorf("%+v after %+v", r, fired)
	}
	if _, err := s.FireByHand(f.Context(), se, r.Firing); !errors.Is(err, jobs.ErrFiring) {
		t.Error(err)
	}
}
