package schedule

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/season"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Records stores the schedules, their company lists and their runs. Their reminders follow the firm's time
// zone.
type Records struct {
	db    *store.DB
	fleet ledger.Fleet
}

// NewRecords returns the schedules of the database of a ledger.
func NewRecords(l *ledger.Ledger) *Records { return &Records{l.DB, l.Fleet()} }

// ListFile is a spreadsheet of companies, stored by its content.
type ListFile struct {
	Hash string
	// File is its name as it was given.
	File      string
	Content   []byte
	CreatedBy string
	CreatedAt time.Time
}

// Schedule places the filings of a company list when they are due.
type Schedule struct {
	Name string
	// CompanyList is the hash of the company list.
	CompanyList string
	// File is the name of the company list.
	File string
	// Options determine how the company list is read, and when it is filed.
	Options Options
	// Timing is the timing as it was typed.
	Timing string
	// Approval reports whether each run waits for approval.
	Approval bool
	Paused   bool
	// Since excludes earlier due dates. Reports that were due earlier are not filed.
	Since time.Time
	// Changed is when the schedule got its present company list.
	Changed time.Time
	// Version counts the changes.
	Version   int
	CreatedBy string
	CreatedAt time.Time
}

// RunState is the state of a run.
type RunState string

// The states of a run.
const (
	// RunBegun means that a process is making the batch.
	RunBegun RunState = "begun"
	// RunDone means that the batch exists.
	RunDone RunState = "done"
	// RunFailed means that there is no batch. The note has the reason.
	RunFailed RunState = "failed"
)

// Run is one due time of a schedule.
type Run struct {
	// ID is derived from the schedule and the time, so it is the same on every machine.
	ID       string
	Schedule string
	Due      time.Time
	// CompanyList is the company list that the run used.
	CompanyList string
	// Missed counts the earlier due times that passed while nothing ran.
	Missed  int
	BeganAt time.Time
	EndedAt time.Time
	State   RunState
	Batch   string
	// Plan is the plan of the run for display. It is nil before the batch is made.
	Plan *Plan
	Note string
}

// ErrNoSharedKey is returned for a company list that only this machine could open again. The
// database is shared, and any of its machines may run the schedule.
var ErrNoSharedKey = errors.New(
	"the database is shared, and FILING_SEAL_KEY is not set: only this machine could open the " +
		"company list again. Set FILING_SEAL_KEY to the same value on every machine: the content of sealing.key in " +
		"the data " +
		"folder where that exists, or a new key (openssl rand -hex 32)")

// AddCompanyList saves a company list and returns its hash. It adds no audit event, because the
// change of the schedule that uses the list is the audit event. It returns ErrNoSharedKey if only
// this machine could open the list again.
func (l *Records) AddCompanyList(ctx context.Context, r ListFile) (hash string, err error) {
	if !l.db.IsKeyShared() {
		return "", ErrNoSharedKey
	}
	r.File = filing.HideSSNsInName(r.File)
	sum := sha256.Sum256(r.Content)
	hash = hex.EncodeToString(sum[:])[:16]
	sealed, err := l.db.Seal("company list|"+hash, r.Content)
	if err != nil {
		return "", fmt.Errorf("save the company list %s: %w", r.File, err)
	}
	_, err = l.db.Exec(audit.Without(ctx),
		`INSERT INTO company_lists (hash, file, content, created_by, created_at)
			VALUES ($1,$2,$3,$4,$5) ON CONFLICT (hash) DO NOTHING`,
		hash, r.File, sealed, r.CreatedBy, store.ToMillis(l.db.Now()))
	if err != nil {
		return "", fmt.Errorf("save the company list %s: %w", r.File, err)
	}
	return hash, nil
}

// FindCompanyList finds a company list. It returns ErrNotFound and ErrSealed.
func (l *Records) FindCompanyList(ctx context.Context, hash string) (ListFile, error) {
	r, err := store.Find[ListFile](ctx, l.db.Read, store.ErrNotFound, "read the company list "+hash,
		`SELECT hash, file, content, created_by, created_at FROM company_lists WHERE hash = $1`, hash)
	if err != nil {
		return ListFile{}, err
	}
	r.Content, err = l.db.Unseal("company list|"+hash, r.Content)
	return r, store.Wrap("read the company list "+hash, err)
}

// Add adds a schedule. If a schedule of that name exists, it reports false and changes nothing.
func (l *Records) Add(ctx context.Context, s Schedule) (added bool, err error) {
	since := s.Since
	if since.IsZero() {
		since = l.db.Now()
	}
	err = l.db.Change(ctx, func(tx *sql.Tx) error {
		n, err := store.Affected(tx.ExecContext(ctx,
			`INSERT INTO schedules (name, company_list, list_changed_at, options, schedule, approval, paused, since,
					created_by, created_at)
				VALUES ($1,$2,$7,$3,$4,$5,$6,$7,$8,$9) ON CONFLICT (name) DO NOTHING`, s.Name, s.CompanyList,
			s.Options.text(), s.Timing, store.BoolInt(s.Approval), store.BoolInt(s.Paused), store.ToMillis(since),
			s.CreatedBy, store.ToMillis(l.db.Now())))
		if added = n == 1; err != nil || !added {
			return err
		}
		if err := noteList(ctx, tx, s.Name); err != nil {
			return err
		}
		return approval.ContributeToSchedule(ctx, tx, s.Name, s.CompanyList, cmp.Or(audit.Person(ctx), s.CreatedBy),
			approval.PartSchedule)
	})
	if err != nil {
		return false, fmt.Errorf("save the schedule %s: %w", s.Name, err)
	}
	return added, nil
}

// noteList records when a schedule got its company list.
func noteList(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := tx.ExecContext(ctx,
		`INSERT INTO schedule_lists (schedule, since, company_list)
			SELECT name, list_changed_at, company_list FROM schedules WHERE name = $1
			ON CONFLICT (schedule, since) DO UPDATE SET company_list = excluded.company_list`, name)
	return err
}

// ListSince is a company list of a schedule and the time from which it applies.
type ListSince struct {
	// CompanyList is the hash of the company list.
	CompanyList string
	Since       time.Time
}

// ListsOf lists the company lists that a schedule has had, the oldest first.
func (l *Records) ListsOf(ctx context.Context, name string) ([]ListSince, error) {
	return store.List[ListSince](ctx, l.db.Read, "list the company lists of the schedule "+name,
		`SELECT company_list AS company_list, since FROM schedule_lists WHERE schedule = $1 ORDER BY since`, name)
}

// Change changes the filings and the timing of a schedule. A paused schedule stays paused. It
// returns ErrStale if s.Version is outdated, because another person has changed, paused, resumed or
// removed the schedule since.
func (l *Records) Change(ctx context.Context, s Schedule) error {
	err := l.db.Change(ctx, func(tx *sql.Tx) error {
		err := store.RequireChange(ledger.ErrStale)(tx.ExecContext(ctx, `UPDATE schedules
				SET list_changed_at = CASE WHEN company_list = $3 THEN list_changed_at ELSE $8 END,
					company_list = $3, options = $4, schedule = $5, approval = $6, since = $7, version = version + 1
				WHERE name = $1 AND version = $2`, s.Name, s.Version, s.CompanyList, s.Options.text(), s.Timing,
			store.BoolInt(s.Approval), store.ToMillis(s.Since), store.ToMillis(l.db.Now())))
		if err != nil {
			return err
		}
		if err := noteList(ctx, tx, s.Name); err != nil {
			return err
		}
		return approval.ContributeToSchedule(ctx, tx, s.Name, s.CompanyList, audit.Person(ctx), approval.PartList)
	})
	return store.Wrap("change the schedule "+s.Name, err)
}

// List lists all schedules by name.
func (l *Records) List(ctx context.Context) ([]Schedule, error) {
	return store.List[Schedule](ctx, l.db.Read, "list the schedules",
		`SELECT s.name, s.company_list AS company_list, r.file, s.options, s.schedule AS timing, s.approval, s.paused,
				s.since, s.version, s.created_by, s.created_at, s.list_changed_at AS changed
			FROM schedules s JOIN company_lists r ON r.hash = s.company_list
			ORDER BY s.name`)
}

// SetPaused pauses or resumes a schedule. Filings that were due during the pause are skipped. It
// ignores concurrent changes, because a pause must always take effect. It returns ErrNotFound if
// there is no such schedule.
func (l *Records) SetPaused(ctx context.Context, name string, paused bool) error {
	return store.Wrap("change the schedule "+name, store.RequireChange(store.ErrNotFound)(l.db.ExecChange(ctx,
		`UPDATE schedules SET paused = $2, since = $3, version = version + 1 WHERE name = $1`, name,
		store.BoolInt(paused), store.ToMillis(l.db.Now()))))
}

// Remove deletes a schedule. The company lists, its runs and their batches stay. It returns
// ErrNotFound if there is no such schedule.
func (l *Records) Remove(ctx context.Context, name string) error {
	return store.Wrap("change the schedule "+name,
		store.RequireChange(store.ErrNotFound)(l.db.ExecChange(ctx, `DELETE FROM schedules WHERE name = $1`, name)))
}

// ClaimRun claims a run for this process. Only one process can claim a run. If that process dies
// before the run has ended, another one can claim it again.
func (l *Records) ClaimRun(ctx context.Context, f Run) (claimed bool, err error) {
	err = l.db.Change(ctx, func(tx *sql.Tx) error {
		was, err := store.Find[struct {
			Owner string
			State RunState
		}](ctx, tx, nil, "read the run", `SELECT owner, state FROM schedule_runs WHERE id = $1`, f.ID)
		switch {
		case err != nil:
			return err
		case was.State == "":
			claimed = true
			_, err := tx.ExecContext(ctx,
				`INSERT INTO schedule_runs (id, schedule, due, company_list, missed, owner, began_at, state)
					VALUES ($1,$2,$3,$4,$5,$6,$7,$8)`, f.ID, f.Schedule, store.ToMillis(f.Due), f.CompanyList,
				f.Missed, l.fleet.ID(), store.ToMillis(l.db.Now()), string(RunBegun))
			return err
		case was.State != RunBegun || was.Owner == l.fleet.ID():
			return nil
		}
		if alive, err := l.fleet.IsAlive(ctx, tx, was.Owner); err != nil || alive {
			return err
		}
		claimed = true
		_, err = tx.ExecContext(ctx, `UPDATE schedule_runs SET owner = $2, began_at = $3 WHERE id = $1`, f.ID,
			l.fleet.ID(),
			store.ToMillis(l.db.Now()))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("claim the run %s: %w", f.ID, err)
	}
	return claimed, nil
}

// EndRun records the result of a run of this process.
func (l *Records) EndRun(ctx context.Context, f Run) error {
	plan := ""
	if f.Plan != nil {
		body, err := json.Marshal(f.Plan)
		if err != nil {
			return fmt.Errorf("store the plan of %s: %w", f.ID, err)
		}
		plan = string(body)
	}
	_, err := l.db.Exec(
		ctx, `UPDATE schedule_runs
			SET state = $2, batch = $3, plan = $4, note = $5, ended_at = $6, company_list = $8
			WHERE id = $1 AND owner = $7`,
		f.ID, string(f.State), f.Batch, plan, f.Note, store.ToMillis(l.db.Now()), l.fleet.ID(), f.CompanyList)
	return store.Wrap("end the run "+f.ID, err)
}

// ListRuns lists the runs of a schedule, or of all schedules if schedule is empty, the newest first.
func (l *Records) ListRuns(ctx context.Context, schedule string) ([]Run, error) {
	return l.selectRuns(ctx,
		`, plan, note FROM schedule_runs WHERE $1 = '' OR schedule = $1 ORDER BY due DESC, id`, schedule)
}

// ListRunsInBrief lists all runs without their plans and notes, for callers that check every few
// seconds for due runs.
func (l *Records) ListRunsInBrief(ctx context.Context) ([]Run, error) {
	return l.selectRuns(ctx, ` FROM schedule_runs ORDER BY due DESC, id`)
}

func (l *Records) selectRuns(ctx context.Context, rest string, args ...any) ([]Run, error) {
	return store.List[Run](ctx, l.db.Read, "list runs",
		`SELECT id, schedule, due, company_list, missed, began_at, ended_at, state, batch`+rest,
		args...)
}

// FirmZone returns the firm's time zone, or an empty string if none is chosen.
func (l *Records) FirmZone(ctx context.Context) (string, error) {
	var zone string
	err := l.db.Read.QueryRowContext(ctx, `SELECT zone FROM firm_zone WHERE id = 1`).Scan(&zone)
	return zone, store.Wrap("read the firm's time zone", err)
}

// SetFirmZone sets the firm's time zone, a name of the IANA database.
func (l *Records) SetFirmZone(ctx context.Context, zone string) error {
	if _, err := time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" {
		return fmt.Errorf("%q is not a time zone such as America/New_York", zone)
	}
	return store.Wrap("set the firm's time zone", l.db.Change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE firm_zone SET zone = $1, changed_by = $2, changed_at = $3 WHERE id = 1`,
			zone, audit.Person(ctx), store.ToMillis(l.db.Now()))
		return err
	}))
}

// manualMark separates the day from the company list in the ID of a run that a person started.
const manualMark = "+"

// RunID returns the ID of a schedule's run on a day. The ID is the same on every machine and at
// every attempt, regardless of their time zones. The schedule runs once because the ledger claims
// an ID once.
func RunID(schedule string, day season.Date) string { return schedule + "@" + day.String() }

// ManualRunID returns the ID of a run that a person starts. Runs with the same company list on the
// same day have the same ID.
func ManualRunID(schedule string, day season.Date, companyList string) string {
	return RunID(schedule, day) + manualMark + companyList[:min(8, len(companyList))]
}

// Date returns the day of the run in the schedule's time zone. It parses the stored ID, because no
// column has the day. Only Date and IsManual parse an ID.
func (r *Run) Date() (season.Date, error) {
	_, text, _ := strings.Cut(r.ID, "@")
	text, _, _ = strings.Cut(text, manualMark)
	d, err := season.ParseDate(text)
	return d, store.Wrap("read the day of the run "+r.ID, err)
}

// IsManual reports whether a person started the run. Manual runs do not count as scheduled runs.
// Like Date, it parses the stored ID.
func (r *Run) IsManual() bool { return strings.Contains(r.ID, manualMark) }
