package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bulkfiling/internal/ledger"
	"bulkfiling/internal/season"
)

// SeasonLine is a season in a line: when it fires next, and what came of the
// last time.
type SeasonLine struct {
	Name     string    `json:"name"`
	File     string    `json:"file"`
	Roster   string    `json:"roster"`
	Schedule string    `json:"schedule"`
	Approval bool      `json:"approval"`
	Paused   bool      `json:"paused"`
	Next     time.Time `json:"next,omitzero"` // in its own zone; zero: never
	Last     string    `json:"last"`          // its last firing; "" for none
	Batch    string    `json:"batch"`         // of that firing
	State    string    `json:"state"`         // of that firing, or what is wrong with the roster
}

// LineOf is the line of a season.
func LineOf(ctx context.Context, l *ledger.Ledger, s ledger.Schedule) (SeasonLine, error) {
	return NewSeasons(SeasonsConfig{Ledger: l}).Line(ctx, s)
}

// Line is LineOf for whoever asks again and again.
func (s *Seasons) Line(ctx context.Context, se ledger.Schedule) (SeasonLine, error) {
	line := SeasonLine{
		Name:     se.Name,
		File:     se.File,
		Roster:   se.CompanyList,
		Approval: se.Approval,
		Paused:   se.Paused,
	}
	o, err := OptionsOf(se)
	if err != nil {
		return line, err
	}
	line.Schedule = o.String()
	next, err := s.Upcoming(ctx, se, 1)
	switch {
	case errors.Is(err, ErrRoster): // its firing will say so, too
		line.State = err.Error()
		return line, nil
	case err != nil:
		return line, err
	case len(next) > 0 && !se.Paused:
		line.Next = next[0].At
	}
	firings, err := s.c.Ledger.Schedules().ListRuns(ctx, se.Name)
	if err == nil && len(firings) > 0 {
		line.Last, line.Batch, line.State = firings[0].ID, firings[0].Batch, string(firings[0].State)
	}
	return line, err
}

// When says when it fires next.
func (l *SeasonLine) When() string {
	switch {
	case l.Paused:
		return "paused"
	case l.Next.IsZero():
		return "never"
	}
	return l.Next.Format("2006-01-02 15:04 MST")
}

// Came says what came of the last time; "" where there was none.
func (l *SeasonLine) Came() string {
	last := strings.TrimPrefix(l.Last, l.Name+"@")
	if l.State != "" && l.State != string(ledger.RunDone) {
		last = strings.TrimSpace(last + " " + l.State)
	}
	return last
}

// NextFirings are the next n turns of a season, their times in its own zone;
// fewer where it does not fire as often. It returns ErrRoster.
func NextFirings(ctx context.Context, l *ledger.Ledger, s ledger.Schedule, n int) ([]season.Firing, error) {
	return NewSeasons(SeasonsConfig{Ledger: l}).Upcoming(ctx, s, n)
}

// Upcoming is NextFirings for whoever asks again and again.
func (s *Seasons) Upcoming(ctx context.Context, se ledger.Schedule, n int) ([]season.Firing, error) {
	schedule, err := s.schedule(ctx, se)
	if err != nil {
		return nil, err
	}
	return schedule.Upcoming(s.c.Now(), n), nil
}

// Roster is the present roster of a season, as it was read at most a while ago:
// for looking at, not to be changed. It returns ErrRoster.
func (s *Seasons) Roster(ctx context.Context, se ledger.Schedule) (*Roster, error) {
	return s.Version(ctx, se, se.CompanyList)
}

// Version is a version of a season's roster, as Roster has the present one. It
// returns ErrRoster, and ledger.ErrNotFound.
func (s *Seasons) Version(ctx context.Context, se ledger.Schedule, hash string) (*Roster, error) {
	o, err := OptionsOf(se)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, s.c.Ledger, hash, o, season.DateOf(s.c.Now()))
}

// Fired reports whether a turn of a season was fired already: where a season of
// that name was there before it, or its schedule was another, it fires once a
// day all the same, and goes on with the turn after.
func Fired(ctx context.Context, l *ledger.Ledger, s ledger.Schedule, turn season.Firing) (bool, error) {
	firings, err := l.Schedules().ListRuns(ctx, s.Name)
	for _, f := range firings {
		if f.ID == turn.ID(s.Name) {
			return true, err
		}
	}
	return false, err
}

// FiringText is a firing in a line.
func FiringText(f ledger.Run) string {
	text := f.ID + ": "
	if f.Batch != "" {
		text += "batch " + f.Batch
	} else {
		text += string(f.State)
	}
	if f.Note != "" {
		text += ", " + f.Note
	}
	return text
}

// TurnOf is the day that a firing stands for, and whether a person asked for it.
func TurnOf(f ledger.Run) (on season.Date, hand bool, err error) {
	on, err = dateOf(f)
	return on, byHand(f.ID), err
}

// RosterVersions are the present version of a season's roster and those of its
// firings, without their content.
func RosterVersions(ctx context.Context, l *ledger.Ledger, s ledger.Schedule,
	firings []ledger.Run) ([]ledger.CompanyList, error) {
	var all []ledger.CompanyList
	seen := make(map[string]bool)
	for _, f := range append([]ledger.Run{{CompanyList: s.CompanyList}}, firings...) {
		if seen[f.CompanyList] {
			continue
		}
		seen[f.CompanyList] = true
		r, err := l.Schedules().FindCompanyList(ctx, f.CompanyList)
		if err != nil {
			return nil, err
		}
		r.Content = nil
		all = append(all, r)
	}
	return all, nil
}

// NextPlan is what a season would do at its next turn, as far as is known today;
// nil where it has none. It writes nothing. It returns ErrRoster.
func (s *Seasons) NextPlan(ctx context.Context, se ledger.Schedule) (*Plan, error) {
	if se.Paused {
		return nil, nil
	}
	f, ok, err := s.Next(ctx, se)
	if err != nil || !ok {
		return nil, err
	}
	return s.Plan(ctx, se, f)
}

// Rehearsal is a firing that a person asks for today, as it would be.
type Rehearsal struct {
	Firing ledger.Run
	Fired  *ledger.Run // the same one, done already: there is nothing to fire, and no plan
	Today  *ledger.Run // the one that the schedule had today
	Plan   *Plan
}

// Rehearse says what firing a season by hand would do. It writes nothing. It
// returns ErrRoster.
func (s *Seasons) Rehearse(ctx context.Context, se ledger.Schedule) (Rehearsal, error) {
	var r Rehearsal
	var err error
	if r.Firing, err = s.ByHand(se); err != nil {
		return r, err
	}
	firings, err := s.c.Ledger.Schedules().ListRuns(ctx, se.Name)
	if err != nil {
		return r, err
	}
	today, _, _ := strings.Cut(r.Firing.ID, handMark)
	for i, f := range firings {
		switch {
		case f.ID == r.Firing.ID && f.State != ledger.RunBegun:
			r.Fired = &firings[i]
		case f.ID == today:
			r.Today = &firings[i]
		}
	}
	if r.Fired == nil {
		r.Plan, err = s.Plan(ctx, se, r.Firing)
	}
	return r, err
}

// ErrFiring is returned where another process is at the same firing.
var ErrFiring = errors.New("a worker is at it")

// FireByHand fires what was rehearsed. It returns ErrFiring and, where the
// firing failed for good, ErrRoster.
func (s *Seasons) FireByHand(ctx context.Context, se ledger.Schedule, f ledger.Run) (ledger.Run, error) {
	f, fired, err := s.Fire(ctx, se, f)
	switch {
	case err != nil:
		return f, err
	case !fired:
		return f, ErrFiring
	case f.State == ledger.RunFailed:
		return f, failedFor(f.Note)
	}
	return f, nil
}

// failedFor is an ErrRoster that says only why, as its firing has kept it.
type failedFor string

func (f failedFor) Error() string      { return string(f) }
func (failedFor) Is(target error) bool { return target == ErrRoster }

// CalendarRoster reads a roster for what is due of its companies alone: it need
// not say for which year it is filed. It returns ErrRoster.
func CalendarRoster(ctx context.Context, l *ledger.Ledger, file string, content []byte, o SeasonOptions,
	today season.Date) (*Roster, error) {
	if o.FilingYear == "" {
		o.FilingYear = fmt.Sprint(today.Year)
	}
	return ReadRoster(ctx, l, file, content, o, today)
}

// SeasonRoster reads the present roster of a season; rules, where there are any,
// go before the built-in ones in place of its own. It returns ErrRoster.
func SeasonRoster(ctx context.Context, l *ledger.Ledger, s ledger.Schedule, rules string,
	today season.Date) (*Roster, error) {
	o, err := OptionsOf(s)
	if err != nil {
		return nil, err
	}
	if rules != "" {
		o.Rules = rules
	}
	return ReadVersion(ctx, l, s.CompanyList, o, today)
}
