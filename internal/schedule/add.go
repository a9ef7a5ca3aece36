package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// NewSchedule is a schedule to add.
type NewSchedule struct {
	Name string
	// File is the name of the company list.
	File string
	// Content is the content of the company list.
	Content []byte
	Options Options
	// Approval makes each run wait for approval.
	Approval bool
	By       string
}

// Saved is the result of Add and Update.
type Saved struct {
	Schedule Schedule
	// CompanyList is set even if none of it can be filed. It is nil if it cannot be read.
	CompanyList *CompanyList
	// Same reports whether the schedule was already the same, so that nothing changed.
	Same bool
	// Added counts the companies of a new version of the list that the previous one does not have.
	Added int
	// Removed counts the companies that only the previous version has.
	Removed int
	// Next is the plan of the next run, as far as known today. It is nil if no run is planned.
	Next *Plan
}

// ErrSchedule matches errors of a schedule that the person who adds it can fix. Errors of its
// company list match ErrCompanyList.
var ErrSchedule = errors.New("the schedule is not valid")

// ErrNameTaken is the ErrSchedule for a name that another schedule has.
var ErrNameTaken = errors.New("this name is taken by a schedule with another company list or other times")

// unfit is an ErrSchedule whose text is only the reason.
type unfit struct{ error }

func (u unfit) Unwrap() error          { return u.error }
func (unfit) Is(target error) bool     { return target == ErrSchedule }
func refused(s string, a ...any) error { return unfit{fmt.Errorf(s, a...)} }

var scheduleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckName returns ErrSchedule if no schedule can have the name.
func CheckName(name string) error {
	// The page has its form for new schedules at this path.
	if name == "new" {
		return refused("a schedule cannot be called new")
	}
	if !scheduleName.MatchString(name) {
		return refused("%q is not a name for a schedule: use letters, digits, dots and dashes", name)
	}
	return nil
}

// Add checks a schedule and adds it with its company list. If the same schedule exists, nothing
// changes. It returns ErrSchedule and ErrCompanyList, and adds nothing in these cases.
func Add(ctx context.Context, l *ledger.Ledger, e NewSchedule) (Saved, error) {
	var done Saved
	if err := CheckName(e.Name); err != nil {
		return done, err
	}
	if err := e.Options.Check(); err != nil {
		return done, unfit{err}
	}
	var err error
	if done.CompanyList, err = readToFile(ctx, l, e.File, e.Content, e.Options); err != nil {
		return done, err
	}
	if e.Options.Due != "" && done.CompanyList.Product != filing.AnnualReport {
		return done, refused(
			"a schedule ahead of the due dates goes by the due dates of annual reports, and the company list is "+
				"of %s: let it run at a time", done.CompanyList.Product.Title())
	}
	s := Schedule{
		Name:      e.Name,
		File:      filepath.Base(e.File),
		Options:   e.Options,
		Timing:    cmp.Or(e.Options.At, e.Options.Due),
		Approval:  e.Approval,
		Since:     time.Now(),
		Version:   1,
		CreatedBy: e.By,
	}
	list := ListFile{File: s.File, Content: e.Content, CreatedBy: e.By}
	if s.CompanyList, err = NewRecords(l).AddCompanyList(ctx, list); err != nil {
		return done, err
	}
	done.Schedule = s
	if err := done.planNext(ctx, l, s); err != nil {
		return done, err
	}
	added, err := NewRecords(l).Add(ctx, s)
	if err != nil || added {
		done.Schedule = s
		return done, err
	}
	if done.Schedule, err = Find(ctx, l, e.Name); err != nil {
		return done, err
	}
	was := done.Schedule
	if done.Same = was.CompanyList == s.CompanyList && was.Options.text() == s.Options.text() &&
		was.Approval == s.Approval; !done.Same {
		return done, refused("schedule %s: %w", e.Name, ErrNameTaken)
	}
	return done, nil
}

// planNext plans the next run of a schedule. It returns ErrSchedule if the run would file none of
// its rows.
func (done *Saved) planNext(ctx context.Context, l *ledger.Ledger, s Schedule) (err error) {
	if done.Next, err = New(Config{Ledger: l}).NextPlan(ctx, s); err != nil || done.Next == nil {
		return err
	}
	if why := done.Next.Nothing(); why != "" {
		return refused("the schedule would file nothing: %s", why)
	}
	return nil
}

// Update gives a schedule a new version of its company list, which is read with the same options. s
// is the schedule as the person saw it. Update returns ledger.ErrStale if it was changed since, and
// ErrCompanyList.
func Update(ctx context.Context, l *ledger.Ledger, s Schedule, file string, content []byte,
	by string) (Saved, error) {
	done := Saved{Schedule: s}
	var err error
	if done.CompanyList, err = readToFile(ctx, l, file, content, s.Options); err != nil {
		return done, err
	}
	old, err := loadCompanyList(ctx, l, s.CompanyList, s.Options, season.DateOf(time.Now()))
	if err != nil {
		return done, err
	}
	s.File, s.Changed = filepath.Base(file), time.Now()
	list := ListFile{File: s.File, Content: content, CreatedBy: by}
	if s.CompanyList, err = NewRecords(l).AddCompanyList(ctx, list); err != nil {
		return done, err
	}
	if s.CompanyList == done.Schedule.CompanyList {
		done.Same = true
		return done, nil
	}
	if err := done.planNext(ctx, l, s); err != nil {
		return done, err
	}
	if err := NewRecords(l).Change(ctx, s); err != nil {
		return done, err
	}
	s.Version++
	done.Schedule = s
	done.Added = len(season.Added(done.CompanyList.Rows, old.Rows))
	done.Removed = len(season.Added(old.Rows, done.CompanyList.Rows))
	return done, nil
}

// readToFile reads a company list that must have at least one row that can be filed.
func readToFile(ctx context.Context, l *ledger.Ledger, file string, content []byte, o Options) (*CompanyList, error) {
	on := o.readingDay(time.Now())
	r, err := readCompanyList(ctx, l, file, content, o, on, true)
	if err != nil || r.Tally.Ready > 0 {
		return r, err
	}
	return r, refused("no row of %s can be filed: %d need attention, %d skipped", filepath.Base(file), r.Tally.Invalid,
		r.Tally.Skipped)
}

// Find finds a schedule by its name. It returns ledger.ErrNotFound.
func Find(ctx context.Context, l *ledger.Ledger, name string) (Schedule, error) {
	schedules, err := NewRecords(l).List(ctx)
	if err != nil {
		return Schedule{}, err
	}
	for _, s := range schedules {
		if s.Name == name {
			return s, nil
		}
	}
	return Schedule{}, fmt.Errorf("there is no schedule %s: %w", name, ledger.ErrNotFound)
}

// LocalZone returns the name of this machine's zone. A schedule is stored with the name, because
// each machine may be in another zone.
func LocalZone(getenv func(string) string) string {
	names := []string{getenv("TZ")}
	if link, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		if _, name, found := strings.Cut(link, "zoneinfo/"); found {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if name = strings.TrimPrefix(name, ":"); name != "" {
			if _, err := season.LoadZone(name); err == nil {
				return name
			}
		}
	}
	return "UTC"
}
