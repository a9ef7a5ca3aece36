package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"

	"github.com/bulkfiling/bulkfiling/internal/store"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// CompanyList is a spreadsheet of companies, stored by its content.
type CompanyList struct {
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
	// Options determine how the company list is read, in the form of the caller.
	Options json.RawMessage
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
	// Plan is the plan of the run for display.
	Plan json.RawMessage
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
func (l Schedules) AddCompanyList(ctx context.Context, r CompanyList) (hash string, err error) {
	if !l.IsKeyShared() {
		return "", ErrNoSharedKey
	}
	r.File = filing.HideSSNsInName(r.File)
	sum := sha256.Sum256(r.Content)
	hash = hex.EncodeToString(sum[:])[:16]
	sealed, err := l.Seal("roster|"+hash, r.Content)
	if err != nil {
		return "", fmt.Errorf("save the company list %s: %w", r.File, err)
	}
	_, err = l.Exec(audit.Without(ctx),
		`INSERT INTO company_lists (hash, file, content, created_by, created_at)
			VALUES ($1,$2,$3,$4,$5) ON CONFLICT (hash) DO NOTHING`,
		hash, r.File, sealed, r.CreatedBy, store.ToMillis(l.Now()))
	if err != nil {
		return "", fmt.Errorf("save the company list %s: %w", r.File, err)
	}
	return hash, nil
}

// FindCompanyList finds a company list. It returns ErrNotFound and ErrSealed.
func (l Schedules) FindCompanyList(ctx context.Context, hash string) (CompanyList, error) {
	r, err := store.Find[CompanyList](ctx, l.Read, ErrNotFound, "read the company list "+hash,
		`SELECT hash, file, content, created_by, created_at FROM company_lists WHERE hash = $1`, hash)
	if err != nil {
		return CompanyList{}, err
	}
	r.Content, err = l.Unseal("roster|"+hash, r.Content)
	return r, store.Wrap("read the company list "+hash, err)
}

// Add adds a schedule. If a schedule of that name exists, it reports false and changes nothing.
func (l Schedules) Add(ctx context.Context, s Schedule) (added bool, err error) {
	since := s.Since
	if since.IsZero() {
		since = l.Now()
	}
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		n, err := store.Affected(tx.ExecContext(
			ctx,
			`INSERT INTO schedules (name, company_list, list_changed_at, options, schedule, approval, paused, since,
					created_by, created_at)
				VALUES ($1,$2,$7,$3,$4,$5,$6,$7,$8,$9) ON CONFLICT (name) DO NOTHING`,
			s.Name,
			s.CompanyList,
			string(s.Options),
			s.Timing,
			store.BoolInt(s.Approval),
			store.BoolInt(s.Paused),
			store.ToMillis(since),
			s.CreatedBy,
			store.ToMillis(l.Now()),
		))
		if added = n == 1; err != nil || !added {
			return err
		}
		if err := noteList(ctx, tx, s.Name); err != nil {
			return err
		}
		return contribute(ctx, tx, scheduleObject(s.Name, s.CompanyList), cmp.Or(audit.Person(ctx), s.CreatedBy),
			PartSchedule)
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
func (l Schedules) ListsOf(ctx context.Context, name string) ([]ListSince, error) {
	return store.List[ListSince](ctx, l.Read, "list the company lists of the schedule "+name,
		`SELECT company_list AS company_list, since FROM schedule_lists WHERE schedule = $1 ORDER BY since`, name)
}

// Change changes the filings and the timing of a schedule. A paused schedule stays paused. It
// returns ErrStale if s.Version is outdated, because another person has changed, paused, resumed or
// removed the schedule since.
func (l Schedules) Change(ctx context.Context, s Schedule) error {
	err := l.change(ctx, func(tx *sql.Tx, _ *control) error {
		err := store.Changed(ErrStale)(tx.ExecContext(
			ctx,
			`UPDATE schedules
				SET list_changed_at = CASE WHEN company_list = $3 THEN list_changed_at ELSE $8 END,
					company_list = $3, options = $4, schedule = $5, approval = $6, since = $7, version = version + 1
				WHERE name = $1 AND version = $2`,
			s.Name,
			s.Version,
			s.CompanyList,
			string(s.Options),
			s.Timing,
			store.BoolInt(s.Approval),
			store.ToMillis(s.Since),
			store.ToMillis(l.Now()),
		))
		if err != nil {
			return err
		}
		if err := noteList(ctx, tx, s.Name); err != nil {
			return err
		}
		return contribute(ctx, tx, scheduleObject(s.Name, s.CompanyList), audit.Person(ctx), PartList)
	})
	return store.Wrap("change the schedule "+s.Name, err)
}

// List lists all schedules by name.
func (l Schedules) List(ctx context.Context) ([]Schedule, error) {
	return store.List[Schedule](ctx, l.Read, "list the schedules",
		`SELECT s.name, s.company_list AS company_list, r.file, s.options, s.schedule AS timing, s.approval, s.paused,
				s.since, s.version, s.created_by, s.created_at, s.list_changed_at AS changed
			FROM schedules s JOIN company_lists r ON r.hash = s.company_list
			ORDER BY s.name`)
}

// SetPaused pauses or resumes a schedule. Filings that were due during the pause are skipped. It
// ignores concurrent changes, because a pause must always take effect. It returns ErrNotFound if
// there is no such schedule.
func (l Schedules) SetPaused(ctx context.Context, name string, paused bool) error {
	return store.Wrap("change the schedule "+name, store.Changed(ErrNotFound)(l.Exec(
		ctx,
		`UPDATE schedules SET paused = $2, since = $3, version = version + 1 WHERE name = $1`,
		name,
		store.BoolInt(paused),
		store.ToMillis(l.Now()),
	)))
}

// Remove deletes a schedule. The company lists, its runs and their batches stay. It returns
// ErrNotFound if there is no such schedule.
func (l Schedules) Remove(ctx context.Context, name string) error {
	return store.Wrap("change the schedule "+name,
		store.Changed(ErrNotFound)(l.Exec(ctx, `DELETE FROM schedules WHERE name = $1`, name)))
}

// ClaimRun claims a run for this process. Only one process can claim a run. If that process dies
// before the run has ended, another one can claim it again.
func (l Schedules) ClaimRun(ctx context.Context, f Run) (claimed bool, err error) {
	err = l.change(ctx, func(tx *sql.Tx, _ *control) error {
		was, err := store.Find[struct {
			Owner string
			State RunState
		}](ctx, tx, nil, "read the run", `SELECT owner, state FROM schedule_runs WHERE id = $1`, f.ID)
		switch {
		case err != nil:
			return err
		case was.State == "":
			claimed = true
			_, err := tx.ExecContext(
				ctx, `INSERT INTO schedule_runs (id, schedule, due, company_list, missed, owner, began_at, state)
					VALUES ($1,$2,$3,$4,$5,$6,$7,$8)`,
				f.ID, f.Schedule, store.ToMillis(f.Due), f.CompanyList, f.Missed, l.owner.ID, store.ToMillis(l.Now()),
				string(RunBegun))
			return err
		case was.State != RunBegun || was.Owner == l.owner.ID:
			return nil
		}
		owners, err := l.owners(ctx, tx)
		if err != nil {
			return err
		}
		for _, o := range owners {
			if o.ID == was.Owner && o.Alive {
				return nil
			}
		}
		claimed = true
		_, err = tx.ExecContext(ctx, `UPDATE schedule_runs SET owner = $2, began_at = $3 WHERE id = $1`, f.ID,
			l.owner.ID,
			store.ToMillis(l.Now()))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("claim the run %s: %w", f.ID, err)
	}
	return claimed, nil
}

// EndRun records the result of a run of this process.
func (l Schedules) EndRun(ctx context.Context, f Run) error {
	_, err := l.Exec(
		ctx, `UPDATE schedule_runs
			SET state = $2, batch = $3, plan = $4, note = $5, ended_at = $6, company_list = $8
			WHERE id = $1 AND owner = $7`,
		f.ID, string(f.State), f.Batch, string(f.Plan), f.Note, store.ToMillis(l.Now()), l.owner.ID, f.CompanyList)
	return store.Wrap("end the run "+f.ID, err)
}

// ListRuns lists the runs of a schedule, or of all schedules if season is empty, the newest first.
func (l Schedules) ListRuns(ctx context.Context, season string) ([]Run, error) {
	return l.selectRuns(ctx,
		`, plan, note FROM schedule_runs WHERE $1 = '' OR schedule = $1 ORDER BY due DESC, id`, season)
}

// ListRunsInBrief lists all runs without their plans and notes, for callers that check every few
// seconds for due runs.
func (l Schedules) ListRunsInBrief(ctx context.Context) ([]Run, error) {
	return l.selectRuns(ctx, ` FROM schedule_runs ORDER BY due DESC, id`)
}

func (l Schedules) selectRuns(ctx context.Context, rest string, args ...any) ([]Run, error) {
	return store.List[Run](ctx, l.Read, "list runs",
		`SELECT id, schedule, due, company_list, missed, began_at, ended_at, state, batch`+rest,
		args...)
}

// PriorPurchase is a purchase that prevents a row from buying the same.
type PriorPurchase struct {
	Batch string
	// Root is the root of the batch. See Batch.Root.
	Root string
	// Number is the number of the row with the purchase, in its sheet.
	Number int
	// Bought is false while that row's request is in flight.
	Bought bool
	// Covers reports whether it is a different purchase with a subscription that covers this one.
	Covers bool

	Row int64
	// Canceled reports whether its filing was canceled.
	Canceled bool
	// Order is the order that opened the subscription.
	Order string
	// Status is the service's term for the subscription's status.
	Status string
}

// FindPriorPurchases returns the purchases that already have the claims of a new batch, as Begin
// will find them. It decides nothing.
func (l *Ledger) FindPriorPurchases(ctx context.Context, claims []Claim) (map[filing.Key]PriorPurchase, error) {
	var keys []filing.Key
	for _, c := range claims {
		keys = append(keys, c.Key)
	}
	held := make(map[filing.Key]PriorPurchase)
	if len(keys) > 0 {
		in, args := store.Among(l.Dialect, keys)
		found, err := store.List[struct {
			PriorPurchase
			Key filing.Key
		}](ctx, l.Read, "find purchases", `SELECT p.key, o.id AS "row", o.batch, b.root, o.number, p.bought,
				CASE WHEN `+isCanceled("p")+` THEN 1 ELSE 0 END AS canceled
			FROM purchases p JOIN rows o ON o.id = p.row JOIN batches b ON b.id = o.batch
			WHERE p.key `+in+` ORDER BY p.bought, canceled DESC, p.twin DESC`, args...)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			held[f.Key] = f.PriorPurchase
		}
	}
	subscribed, err := l.subscriptionsOf(ctx, claims)
	if err != nil {
		return nil, err
	}
	for _, c := range claims {
		if _, same := held[c.Key]; same {
			continue
		}
		for _, s := range subscribed[c.Cover] {
			if s.Year < c.Year && s.Lapsed == "" {
				held[c.Key] = PriorPurchase{
					Batch:  s.Batch,
					Root:   s.Root,
					Number: s.Number,
					Row:    s.Row,
					Bought: true,
					Covers: true,
					Order:  s.Order,
					Status: s.Status,
				}
				break
			}
		}
	}
	return held, nil
}
