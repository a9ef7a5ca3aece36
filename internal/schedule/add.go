package schedule

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/importer"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/season"
)

// NewSchedule is a season as somebody asks for it.
type NewSchedule struct {
	Name     string
	File     string // the roster's name
	Content  []byte // of the roster
	Options  Options
	Approval bool // each firing waits for somebody's yes
	By       string
}

// Saved is what came of it.
type Saved struct {
	Season  ledger.Schedule
	Roster  *CompanyList // as it was read, also where nothing of it can be filed; nil where it could not be
	Same    bool         // it was so already: nothing was changed
	Changes season.Plan  // of a new version of the roster, against the one before
	Next    *Plan        // what it does next, as far as is known today; nil where it does not fire
}

// ErrSchedule is true of what keeps a season from being kept as it was asked for,
// beside its roster (ErrCompanyList): the person who asks can put it right.
var ErrSchedule = errors.New("the season cannot be kept like that")

// ErrNameTaken is the ErrSchedule of a name that another season has.
var ErrNameTaken = errors.New("there is a season of that name already, with another roster or schedule")

// unfit is an ErrSchedule that says only why.
type unfit struct{ error }

func (u unfit) Unwrap() error          { return u.error }
func (unfit) Is(target error) bool     { return target == ErrSchedule }
func refused(s string, a ...any) error { return unfit{fmt.Errorf(s, a...)} }

var seasonName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckName reports a name that no season can have. It returns ErrSchedule.
func CheckName(name string) error {
	if name == "new" { // the page has the form of a new one there
		return refused("a season cannot be called new")
	}
	if !seasonName.MatchString(name) {
		return refused("%q is no name of a season: letters, digits, dots and dashes", name)
	}
	return nil
}

// Add checks a season and keeps it with its roster. The same again changes
// nothing. It returns ErrSchedule and ErrCompanyList, and then has kept no season.
func Add(ctx context.Context, l *ledger.Ledger, e NewSchedule) (Saved, error) {
	var done Saved
	if err := CheckName(e.Name); err != nil {
		return done, err
	}
	if err := e.Options.Check(); err != nil {
		return done, unfit{err}
	}
	var err error
	if done.Roster, err = readToFile(ctx, l, e.File, e.Content, e.Options); err != nil {
		return done, err
	}
	if e.Options.Due != "" && done.Roster.Product != filing.AnnualReport {
		return done, refused(
			"a season that fires ahead of the due dates goes by the due dates of annual reports, and the roster is "+
				"of %s: have it fire at a time", done.Roster.Product.Title())
	}
	body, err := json.Marshal(e.Options)
	if err != nil {
		return done, fmt.Errorf("keep the options: %w", err)
	}
	s := ledger.Schedule{
		Name:      e.Name,
		File:      filepath.Base(e.File),
		Options:   body,
		Timing:    cmp.Or(e.Options.At, e.Options.Due),
		Approval:  e.Approval,
		Since:     time.Now(),
		Version:   1,
		CreatedBy: e.By,
	}
	if s.CompanyList, err = l.Schedules().AddCompanyList(ctx, ledger.CompanyList{File: s.File, Content: e.Content, CreatedBy: e.By}); err != nil {
		return done, err
	}
	if done.Next, err = New(Config{Ledger: l}).NextPlan(ctx, s); err != nil {
		return done, err
	}
	if done.Next != nil {
		if why := done.Next.Nothing(); why != "" {
			return done, refused("the season would file nothing: %s", why)
		}
	}
	added, err := l.Schedules().Add(ctx, s)
	if err != nil || added {
		done.Season = s
		return done, err
	}
	if done.Season, err = Find(ctx, l, e.Name); err != nil {
		return done, err
	}
	was := done.Season
	if done.Same = was.CompanyList == s.CompanyList && string(was.Options) == string(s.Options) &&
		was.Approval == s.Approval; !done.Same {
		return done, refused("season %s: %w", e.Name, ErrNameTaken)
	}
	return done, nil
}

// Update gives a season a new version of its roster, which is read as the
// old one was. s is the season as it was seen: it returns ErrCompanyList, and
// ledger.ErrStale where somebody has changed it since.
func Update(ctx context.Context, l *ledger.Ledger, s ledger.Schedule, file string, content []byte,
	by string) (Saved, error) {
	done := Saved{Season: s}
	o, err := DecodeOptions(s)
	if err != nil {
		return done, err
	}
	if done.Roster, err = readToFile(ctx, l, file, content, o); err != nil {
		return done, err
	}
	old, err := LoadVersion(ctx, l, s.CompanyList, o, season.DateOf(time.Now()))
	if err != nil {
		return done, err
	}
	s.File = filepath.Base(file)
	if s.CompanyList, err = l.Schedules().AddCompanyList(ctx, ledger.CompanyList{File: s.File, Content: content, CreatedBy: by}); err != nil {
		return done, err
	}
	if s.CompanyList == done.Season.CompanyList {
		done.Same = true
		return done, nil
	}
	if done.Next, err = New(Config{Ledger: l}).NextPlan(ctx, s); err != nil {
		return done, err
	}
	if done.Next != nil {
		if why := done.Next.Nothing(); why != "" {
			return done, refused("the season would file nothing with it: %s", why)
		}
	}
	if err := l.Schedules().Change(ctx, s); err != nil {
		return done, err
	}
	s.Version++
	done.Season, done.Changes = s, season.Compare(done.Roster.Rows, old.Rows)
	return done, nil
}

// readToFile reads a roster of which something can be filed.
func readToFile(ctx context.Context, l *ledger.Ledger, file string, content []byte, o Options) (*CompanyList, error) {
	on := season.DateOf(time.Now())
	if err := refuseSSNs(ctx, file, content, o, on); err != nil {
		return nil, err
	}
	r, err := ReadCompanyList(ctx, l, file, content, o, on)
	if err == nil && r.Tally.Ready == 0 {
		err = refused("no row of %s can be filed: %d to correct, %d skipped", filepath.Base(file), r.Tally.Invalid,
			r.Tally.Skipped)
	}
	return r, err
}

// refuseSSNs refuses a roster in which a Social Security number stands, wherever:
// it would be kept for as long as the ledger, and nothing of a season needs it. One
// that cannot be read is refused for that, by who reads it next.
func refuseSSNs(ctx context.Context, file string, content []byte, o Options, on season.Date) error {
	options, err := o.importerOptions(on, nil)
	if err != nil {
		return nil
	}
	im, err := importer.OpenReader(file, bytes.NewReader(content), int64(len(content)), options)
	if err != nil {
		return nil
	}
	defer im.Close()
	if im.HoldsSecrets() {
		return nil // said by who reads it next
	}
	where, err := im.FindSSN(ctx)
	if err != nil || where == "" {
		return nil
	}
	return fmt.Errorf(
		"%w: %s looks like a Social Security number, and a company list is kept: remove the number, or run the "+
			"sheet by hand", ErrCompanyList, where)
}

// Find finds a season by its name. It returns ledger.ErrNotFound.
func Find(ctx context.Context, l *ledger.Ledger, name string) (ledger.Schedule, error) {
	seasons, err := l.Schedules().List(ctx)
	if err != nil {
		return ledger.Schedule{}, err
	}
	for _, s := range seasons {
		if s.Name == name {
			return s, nil
		}
	}
	return ledger.Schedule{}, fmt.Errorf("there is no season %s: %w", name, ledger.ErrNotFound)
}

// LocalZone is the name of this machine's zone: a season is kept with the name,
// for each machine may be in another.
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
