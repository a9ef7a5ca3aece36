package schedule

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// Summary is a schedule in a line: when it runs next, and the result of its last
// run.
type Summary struct {
	Name        string    `json:"name"`
	File        string    `json:"file"`
	CompanyList string    `json:"roster"`
	Schedule    string    `json:"schedule"`
	Approval    bool      `json:"approval"`
	Paused      bool      `json:"paused"`
	Next        time.Time `json:"next,omitzero"` // in its own zone; zero: never
	Last        string    `json:"last"`          // its last run; "" for none
	Batch       string    `json:"batch"`         // of that run
	State       string    `json:"state"`         // of that run, or what is wrong with the company list

	last ledger.Run
}

// Summary loads the summary of a schedule.
func (s *Scheduler) Summary(ctx context.Context, se ledger.Schedule) (Summary, error) {
	line := Summary{
		Name:        se.Name,
		File:        se.File,
		CompanyList: se.CompanyList,
		Approval:    se.Approval,
		Paused:      se.Paused,
	}
	o, err := DecodeOptions(se)
	if err != nil {
		return line, err
	}
	line.Schedule = o.Words()
	next, err := s.Upcoming(ctx, se, 1)
	switch {
	case errors.Is(err, ErrCompanyList): // its run reports the same
		line.State = err.Error()
		return line, nil
	case err != nil:
		return line, err
	case len(next) > 0 && !se.Paused:
		line.Next = next[0].At
	}
	runs, err := s.c.Ledger.Schedules().ListRuns(ctx, se.Name)
	if err == nil && len(runs) > 0 {
		line.last = runs[0]
		line.Last, line.Batch, line.State = line.last.ID, line.last.Batch, string(line.last.State)
	}
	return line, err
}

// When returns when it runs next, in words.
func (l *Summary) When() string {
	switch {
	case l.Paused:
		return "paused"
	case l.Next.IsZero():
		return "never"
	}
	return l.Next.Format("2006-01-02 15:04 MST")
}

// LastText returns the day of the last run and, unless it is done, its state; the
// text of the state alone where there was no run.
func (l *Summary) LastText() string {
	var parts []string
	if day, err := l.last.Date(); err == nil {
		parts = append(parts, day.String())
	}
	if l.last.IsManual() {
		parts = append(parts, "by hand")
	}
	if l.State != "" && l.State != string(ledger.RunDone) {
		parts = append(parts, l.State)
	}
	return strings.Join(parts, " ")
}

// Upcoming lists the next n times of a schedule in its own zone, or fewer where
// it does not run as often. It returns ErrCompanyList.
func (s *Scheduler) Upcoming(ctx context.Context, se ledger.Schedule, n int) ([]season.Run, error) {
	times, err := s.loadTimes(ctx, se)
	if err != nil {
		return nil, err
	}
	return times.Upcoming(s.c.Now(), n), nil
}

// LoadCompanyList returns the present company list of a schedule, read at most
// listTTL ago. It is shared and not to be changed. It returns ErrCompanyList.
func (s *Scheduler) LoadCompanyList(ctx context.Context, se ledger.Schedule) (*CompanyList, error) {
	return s.Version(ctx, se, se.CompanyList)
}

// Version returns a version of a schedule's company list, read at most listTTL ago.
// It returns ErrCompanyList and ledger.ErrNotFound.
func (s *Scheduler) Version(ctx context.Context, se ledger.Schedule, hash string) (*CompanyList, error) {
	o, err := DecodeOptions(se)
	if err != nil {
		return nil, err
	}
	return s.loadList(ctx, hash, o, o.readingDay(s.c.Now()))
}

// RunText returns a run in a line.
func RunText(f ledger.Run) string {
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

// NextPlan returns what a schedule would do at its next run, as far as is known
// today; nil where it has none. It writes nothing. It returns ErrCompanyList.
func (s *Scheduler) NextPlan(ctx context.Context, se ledger.Schedule) (*Plan, error) {
	if se.Paused {
		return nil, nil
	}
	f, ok, err := s.Next(ctx, se)
	if err != nil || !ok {
		return nil, err
	}
	return s.Plan(ctx, se, f)
}

// Preview is the run that a person would start today.
type Preview struct {
	Run   ledger.Run
	Done  *ledger.Run // the same run, done already: there is no plan then
	Today *ledger.Run // the schedule's own run today
	Plan  *Plan
}

// Preview returns what running a schedule by hand would do. It writes nothing. It
// returns ErrCompanyList.
func (s *Scheduler) Preview(ctx context.Context, se ledger.Schedule) (Preview, error) {
	var r Preview
	var err error
	if r.Run, err = s.ManualRun(se); err != nil {
		return r, err
	}
	runs, err := s.c.Ledger.Schedules().ListRuns(ctx, se.Name)
	if err != nil {
		return r, err
	}
	day, err := r.Run.Date()
	if err != nil {
		return r, err
	}
	for i, f := range runs {
		switch {
		case f.ID == r.Run.ID && f.State != ledger.RunBegun:
			r.Done = &runs[i]
		case f.ID == ledger.RunID(se.Name, day):
			r.Today = &runs[i]
		}
	}
	if r.Done == nil {
		r.Plan, err = s.Plan(ctx, se, r.Run)
	}
	return r, err
}

// ErrRunning is returned where another process executes the same run.
var ErrRunning = errors.New("a worker is already running it")

// RunNow executes the run of a Preview. It returns ErrRunning and, where the run
// failed for good, ErrCompanyList.
func (s *Scheduler) RunNow(ctx context.Context, se ledger.Schedule, f ledger.Run) (ledger.Run, error) {
	f, done, err := s.Execute(ctx, se, f)
	switch {
	case err != nil:
		return f, err
	case !done:
		return f, ErrRunning
	case f.State == ledger.RunFailed:
		return f, failedFor(f.Note)
	}
	return f, nil
}

// failedFor is an ErrCompanyList whose text is the stored note of its run.
type failedFor string

func (f failedFor) Error() string      { return string(f) }
func (failedFor) Is(target error) bool { return target == ErrCompanyList }
