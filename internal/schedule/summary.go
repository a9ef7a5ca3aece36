package schedule

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/season"
)

// Summary describes a schedule in one line, with its next run and the result of its last run.
type Summary struct {
	Name        string `json:"name"`
	File        string `json:"file"`
	CompanyList string `json:"companyList"`
	Schedule    string `json:"schedule"`
	Approval    bool   `json:"approval"`
	Paused      bool   `json:"paused"`
	// Next is in the schedule's zone. Zero means never.
	Next time.Time `json:"next,omitzero"`
	// Last is the last run. Empty if the schedule has not run.
	Last string `json:"last"`
	// Batch is the batch of the last run.
	Batch string `json:"batch"`
	// State is the state of the last run, or the error of the company list.
	State string `json:"state"`

	last Run
}

// Summary loads the summary of a schedule.
func (s *Scheduler) Summary(ctx context.Context, se Schedule) (Summary, error) {
	line := Summary{
		Name:        se.Name,
		File:        se.File,
		CompanyList: se.CompanyList,
		Approval:    se.Approval,
		Paused:      se.Paused,
		Schedule:    se.Options.Words(),
	}
	next, err := s.Upcoming(ctx, se, 1)
	switch {
	// The run reports the same error.
	case errors.Is(err, ErrCompanyList):
		line.State = err.Error()
		return line, nil
	case err != nil:
		return line, err
	case len(next) > 0 && !se.Paused:
		line.Next = next[0].At
	}
	runs, err := NewRecords(s.c.Ledger).ListRuns(ctx, se.Name)
	if err == nil && len(runs) > 0 {
		line.last = runs[0]
		line.Last, line.Batch, line.State = line.last.ID, line.last.Batch, string(line.last.State)
	}
	return line, err
}

// When returns the time of the next run in words.
func (l *Summary) When() string {
	switch {
	case l.Paused:
		return "paused"
	case l.Next.IsZero():
		return "never"
	}
	return l.Next.Format("2006-01-02 15:04 MST")
}

// LastText returns the day of the last run and, unless it is done, its state. It returns only the
// text of the state if the schedule has not run.
func (l *Summary) LastText() string {
	var parts []string
	if day, err := l.last.Date(); err == nil {
		parts = append(parts, day.String())
	}
	if l.last.IsManual() {
		parts = append(parts, "by hand")
	}
	if l.State != "" && l.State != string(RunDone) {
		parts = append(parts, l.State)
	}
	return strings.Join(parts, " ")
}

// Upcoming lists the next n times of a schedule in its zone, or fewer if it does not run as often.
// It returns ErrCompanyList.
func (s *Scheduler) Upcoming(ctx context.Context, se Schedule, n int) ([]season.Run, error) {
	times, err := s.loadTimes(ctx, se)
	if err != nil {
		return nil, err
	}
	return times.Upcoming(s.c.Now(), n), nil
}

// LoadCompanyList returns the current company list of a schedule, at most listTTL old. It is shared
// and must not be changed. It returns ErrCompanyList.
func (s *Scheduler) LoadCompanyList(ctx context.Context, se Schedule) (*CompanyList, error) {
	return s.Version(ctx, se, se.CompanyList)
}

// Version returns a version of a schedule's company list, at most listTTL old. It returns
// ErrCompanyList and ledger.ErrNotFound.
func (s *Scheduler) Version(ctx context.Context, se Schedule, hash string) (*CompanyList, error) {
	return s.loadList(ctx, hash, se.Options, se.Options.readingDay(s.c.Now()))
}

// RunText describes a run in one line.
func RunText(f Run) string {
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

// NextPlan returns the plan of a schedule's next run, as far as known today. It returns nil if no
// run is planned. It writes nothing. It returns ErrCompanyList.
func (s *Scheduler) NextPlan(ctx context.Context, se Schedule) (*Plan, error) {
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
	Run Run
	// Done is the same run if it is already done. There is no plan then.
	Done *Run
	// Today is the scheduled run of today.
	Today *Run
	Plan  *Plan
}

// Preview returns the effect of running a schedule manually. It writes nothing. It returns
// ErrCompanyList.
func (s *Scheduler) Preview(ctx context.Context, se Schedule) (Preview, error) {
	var r Preview
	var err error
	if r.Run, err = s.ManualRun(se); err != nil {
		return r, err
	}
	runs, err := NewRecords(s.c.Ledger).ListRuns(ctx, se.Name)
	if err != nil {
		return r, err
	}
	day, err := r.Run.Date()
	if err != nil {
		return r, err
	}
	for i, f := range runs {
		switch {
		case f.ID == r.Run.ID && f.State != RunBegun:
			r.Done = &runs[i]
		case f.ID == RunID(se.Name, day):
			r.Today = &runs[i]
		}
	}
	if r.Done == nil {
		r.Plan, err = s.Plan(ctx, se, r.Run)
	}
	return r, err
}

// ErrRunning is returned if another process executes the same run.
var ErrRunning = errors.New("a worker is already running it")

// RunNow executes the run of a Preview. It returns ErrRunning, and ErrCompanyList if the run failed
// permanently.
func (s *Scheduler) RunNow(ctx context.Context, se Schedule, f Run) (Run, error) {
	f, done, err := s.Execute(ctx, se, f)
	switch {
	case err != nil:
		return f, err
	case !done:
		return f, ErrRunning
	case f.State == RunFailed:
		return f, failedFor(f.Note)
	}
	return f, nil
}

// failedFor is an ErrCompanyList whose text is the stored note of its run.
type failedFor string

func (f failedFor) Error() string      { return string(f) }
func (failedFor) Is(target error) bool { return target == ErrCompanyList }
