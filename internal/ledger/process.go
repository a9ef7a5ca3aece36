package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Process is a process that has the ledger open. Its placing rows are swept only when it is gone.
// It is gone if its lock file is free, or, if the file is not visible, if its lease has expired.
type Process struct {
	ID   string
	Host string
	PID  int
	// What is "worker", "run" or "serve", as the process announced it. Empty for a short-lived
	// command.
	What   string
	Places bool
	// Hold is the reason that the process sends no rows, as SetHold announced it. Empty while it
	// sends rows.
	Hold      string
	StartedAt time.Time
	// ExpiresAt is the end of its lease.
	ExpiresAt time.Time
	Alive     bool
	// Placing is the number of its rows in placing now.
	Placing int

	// Timeout is the timeout of the requests that it sends.
	Timeout time.Duration

	// lock is the path of the file that the live process keeps locked.
	lock string
}

// ID identifies this process among all processes that ever opened the ledger.
func (l Fleet) ID() string { return l.owner.ID }

// register registers this process in the ledger.
func (db *database) register(ctx context.Context) error {
	from := db.Clock.Uptime()
	err := db.change(audit.Without(ctx), func(tx *Tx) error {
		if err := db.setClock(ctx, tx.Tx, tx.control); err != nil {
			return err
		}
		db.owner.StartedAt = store.FromMillis(tx.control.now)
		return db.writeRegistration(ctx, tx)
	})
	if err == nil {
		db.leasedUntil.Store(int64(from + db.lease))
	}
	return err
}

// setClock sets the clock of an SQLite ledger from the machine's clock if no other process is live.
// From then on the clock follows the machine's uptime, so that a change of the machine's clock
// delays nothing and all processes agree.
func (db *database) setClock(ctx context.Context, tx *sql.Tx, c *control) error {
	if !db.Clock.IsUptime() {
		return nil
	}
	others, err := db.listProcesses(ctx, tx)
	if err != nil {
		return err
	}
	// A clock behind the last change means that the machine has restarted since or is a different
	// machine.
	if c.now >= c.changedAt && c.clockBase != 0 &&
		slices.ContainsFunc(others, func(o Process) bool { return o.Alive }) {
		return nil
	}
	now := store.ToMillis(db.Clock.Wall())
	if back := c.changedAt - now; back > 0 {
		// The clock was ahead. Keep the remaining time of everything that is due later.
		for _, at := range []*int64{&c.holdUntil, &c.probeAt, &c.restartWaitUntil} {
			*at = max(*at-back, 0)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE rows SET due = due - $1 WHERE due > $1`, back); err != nil {
			return fmt.Errorf("set the ledger's clock back: %w", err)
		}
	}
	c.now, c.clockBase = now, db.Clock.Restart(now)
	// This is written at once because the statements of this change use it.
	_, err = tx.ExecContext(ctx, `UPDATE control SET clock_base = $1 WHERE id = 1`, c.clockBase)
	return store.Wrap("set the ledger's clock", err)
}

// keepLease renews the lease while the process runs. It retries a failed renewal. Intents check the
// lease themselves.
func (db *database) keepLease() {
	defer db.stopped.Done()
	tick := time.NewTicker(db.lease / 6)
	defer tick.Stop()
	for {
		select {
		case <-db.stop:
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(context.Background(), db.lease/3)
			_ = db.renew(ctx)
			_ = db.checkForRestore(ctx)
			_ = db.saveCommits()
			cancel()
		}
	}
}

func (db *database) renew(ctx context.Context) error {
	db.renewing.Lock()
	defer db.renewing.Unlock()
	from := db.Clock.Uptime()
	err := db.Transact(audit.Without(ctx), func(tx *sql.Tx) error { return db.writeRegistration(ctx, tx) })
	if err == nil {
		db.leasedUntil.Store(int64(from + db.lease))
	}
	return err
}

// writeRegistration renews the registration of this process for one more lease.
func (db *database) writeRegistration(ctx context.Context, x store.Execer) error {
	_, err := x.ExecContext(
		ctx, `INSERT INTO processes (id, host, pid, lock, started_at, what, hold, places, timeout, expires_at)
			VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9, `+db.Clock.SQL()+fmt.Sprintf(` + %d)`, db.lease.Milliseconds())+`
			ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, what = excluded.what,
				hold = excluded.hold, places = excluded.places`,
		db.owner.ID, db.owner.Host, db.owner.PID, db.owner.lock, store.ToMillis(db.owner.StartedAt), db.owner.What,
		db.owner.Hold, store.BoolInt(db.owner.Places), db.owner.Timeout.Milliseconds())
	return store.Wrap("renew the lease of process "+db.owner.ID, err)
}

// MaySend reports whether this process still has its lease with time to spare. It uses only its
// machine's clock. It is called between the commit of an intent and the first byte of its order,
// because a process that was suspended in between may count as dead and another process may send
// its row.
func (l Fleet) MaySend() bool {
	return l.Clock.Uptime()+l.lease/3 < time.Duration(l.leasedUntil.Load())
}

// Lease returns the time until which this process counts as alive without a renewal. After that
// time the process sends nothing more.
func (l Fleet) Lease(ctx context.Context) (until time.Time, err error) {
	var at int64
	if err := l.Read.QueryRowContext(ctx, `SELECT COALESCE((SELECT expires_at FROM processes WHERE id = $1), 0)`,
		l.owner.ID).Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("read the lease of process %s: %w", l.owner.ID, err)
	}
	return store.FromMillis(at), nil
}

// Announce records the role of this process and whether it places orders. Without it the process
// counts as a short-lived command.
func (l Fleet) Announce(ctx context.Context, what string, places bool) error {
	l.renewing.Lock()
	l.owner.What, l.owner.Places = what, places
	l.renewing.Unlock()
	return l.renew(ctx)
}

// SetHold announces the reason that this process sends no rows. An empty hold means that it sends
// rows. The other processes read it in Process.Hold.
func (l Fleet) SetHold(ctx context.Context, hold string) error {
	l.renewing.Lock()
	l.owner.Hold = hold
	l.renewing.Unlock()
	return l.renew(ctx)
}

// unregister ends the registration of this process.
func (db *database) unregister() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	// While the process has placing rows, it stays listed as dead, because the sweep needs its
	// timeout.
	_, err := db.Exec(ctx, `UPDATE processes SET expires_at = 0 WHERE id = $1`, db.owner.ID)
	if err == nil {
		_, err = db.Exec(
			ctx, `DELETE FROM processes WHERE id = $1
				AND NOT EXISTS (SELECT 1 FROM rows WHERE result = 'placing' AND owner = $1)`, db.owner.ID)
	}
	if store.IsDown(err) {
		// The lease expires without this.
		err = nil
	}
	return errors.Join(store.Wrap("retire process "+db.owner.ID, err), db.saveCommits())
}

// isAlive reports whether the owner may still be running at the time now of the database. For a
// process on this machine, its lock decides. For another machine, the lease is compared with the
// clock that wrote it, never with this machine's clock.
func (db *database) isAlive(o Process, now int64) bool {
	if o.ID == db.owner.ID {
		return true
	}
	if locked, there := db.Lock.IsLocked(o.Host, o.lock); there {
		return locked
	}
	return now < store.ToMillis(o.ExpiresAt)
}

// listProcesses lists all registered processes, the oldest first, and which of them are alive.
func (db *database) listProcesses(ctx context.Context, q store.Querier) ([]Process, error) {
	found, err := store.List[struct {
		Process
		Path         string
		Milliseconds int64
		Now          int64
	}](ctx, q, "list the living processes",
		`SELECT id, host, pid, lock AS path, started_at, expires_at, what, hold, places, timeout AS milliseconds,
				(SELECT COUNT(*) FROM rows WHERE result = 'placing' AND owner = processes.id) AS placing,
				`+db.Clock.SQL()+` AS now
			FROM processes
			ORDER BY started_at, id`)
	all := make([]Process, len(found))
	for i, f := range found {
		p := f.Process
		p.lock, p.Timeout = f.Path, time.Duration(f.Milliseconds)*time.Millisecond
		p.Alive = db.isAlive(p, f.Now)
		all[i] = p
	}
	return all, err
}

// IsAlive reports within a change whether a process has the ledger open.
func (l Fleet) IsAlive(ctx context.Context, tx *sql.Tx, id string) (bool, error) {
	all, err := l.listProcesses(ctx, tx)
	return slices.ContainsFunc(all, func(p Process) bool { return p.ID == id && p.Alive }), err
}

// Processes lists the processes that have the ledger open, the oldest first, and the dead ones that
// are not removed yet.
func (l Fleet) Processes(ctx context.Context) ([]Process, error) {
	return l.listProcesses(ctx, l.Read)
}

// CountOthers counts the other live processes that place orders.
func (l Fleet) CountOthers(ctx context.Context) (int, error) {
	all, err := l.Processes(ctx)
	n := 0
	for _, p := range all {
		if p.ID != l.owner.ID && p.Places && p.Alive {
			n++
		}
	}
	return n, err
}

// attemptID identifies one attempt of one row.
type attemptID struct {
	row    int64
	number int
}

// inFlight counts the callers of each attempt of this process, from before the commit of its intent
// until after the commit of its outcome. Of several callers only one may send.
type inFlight struct {
	mu       sync.Mutex
	attempts map[attemptID]int
}

func (f *inFlight) addCaller(a attemptID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.attempts == nil {
		f.attempts = make(map[attemptID]int)
	}
	f.attempts[a]++
}

// removeCaller removes a caller that may not send.
func (f *inFlight) removeCaller(a attemptID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.attempts[a] > 1 {
		f.attempts[a]--
	} else {
		delete(f.attempts, a)
	}
}

// removeAttempt removes the attempt.
func (f *inFlight) removeAttempt(a attemptID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.attempts, a)
}

func (f *inFlight) has(a attemptID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.attempts[a] > 0
}

// releaseIntent resolves an intent of this process that was committed although the confirmation was
// lost. Its caller did not send the order.
func (db *database) releaseIntent(ctx context.Context, r Row) error {
	a := filing.Answer{Kind: filing.NotSent, Message: "the connection to the ledger broke before the order was sent"}
	o := Outcome{Row: r.ID, Attempt: r.LastAttempt, Answer: a, Message: "not sent yet: " + a.Message}
	return store.Wrap(fmt.Sprintf("release row %d", r.ID), db.submit(ctx, &transition{outcome: &o, unsent: true}))
}

// withoutAnswer returns the outcome that replaces "not sent" after the ledger went back in time.
// This process may have sent the order so long ago that it no longer remembers the answer.
func (o *Outcome) withoutAnswer() *Outcome {
	lost := *o
	lost.Answer = filing.Answer{
		Kind:    filing.NoAnswer,
		Message: "the ledger went back in time to before the answer",
	}
	lost.Message = "may have been sent before the ledger went back in time. Check the company's dashboard, then " +
		"resolve the row (importer resolve, or Uncertain on the page); it is not sent again automatically"
	return &lost
}

// Orphan is a placing row whose process is gone.
type Orphan struct {
	Row
	// Claims are the claims of the attempt, because a ledger that goes back in time may lose them.
	Claims []Claim
	// Due is the time until which the filing service may still be processing the order.
	Due time.Time
}

// placingRows selects the rows in flight. The plus keeps SQLite from reading all rows in the order
// of their IDs.
const placingRows = `r.result = 'placing' ORDER BY +r.id`

// CollectOrphans lists the placing rows whose process is gone, and removes dead processes that have no
// placing rows left.
func (l Fleet) CollectOrphans(ctx context.Context) ([]Orphan, error) {
	// Rows are read before processes, so that the owner of each row is already registered, unless
	// it is gone. In the reverse order, a process that has just begun would be missed.
	var placing []Row
	for row, err := range streamRows(ctx, l.Read, selectRows+placingRows) {
		if err != nil {
			return nil, err
		}
		placing = append(placing, row)
	}
	owners, err := l.listProcesses(ctx, l.Read)
	if err != nil {
		return nil, err
	}
	known := make(map[string]Process, len(owners))
	for _, o := range owners {
		known[o.ID] = o
		if o.Alive {
			continue
		}
		struck, err := store.Affected(l.Exec(ctx,
			`DELETE FROM processes WHERE id = $1 AND expires_at = $2
				AND NOT EXISTS (SELECT 1 FROM rows WHERE result = 'placing' AND owner = $1)`, o.ID,
			store.ToMillis(o.ExpiresAt)))
		if err != nil {
			return nil, fmt.Errorf("remove process %s: %w", o.ID, err)
		}
		// While the process has placing rows, its lock stays to show the next sweep that it is
		// dead.
		if struck > 0 && o.Host == l.owner.Host {
			_ = os.Remove(o.lock)
		}
	}
	var orphans []Orphan
	for _, r := range placing {
		o, listed := known[r.Owner]
		switch {
		case r.Owner == l.owner.ID && !l.inFlight.has(attemptID{r.ID, r.LastAttempt}):
			if err := l.releaseIntent(ctx, r); err != nil {
				return nil, err
			}
		case o.Alive:
		case !listed:
			orphans = append(orphans, Orphan{Row: r, Due: r.UpdatedAt.Add(unlistedTimeout)})
		default:
			orphans = append(orphans, Orphan{Row: r, Due: l.requestEnd(r, o)})
		}
	}
	for i := range orphans {
		if orphans[i].Claims, err = l.claimsInFlight(ctx, &orphans[i].Row); err != nil {
			return nil, err
		}
	}
	return orphans, nil
}

// claimsInFlight returns the claims of the order of a placing row.
func (db *database) claimsInFlight(ctx context.Context, r *Row) (claims []Claim, err error) {
	s := rowState{dropped: filing.JoinProducts(r.Dropped, ","), creating: r.Creating}
	of := make(map[filing.Product]Claim)
	rows, err := db.Read.QueryContext(ctx, `SELECT key, product, cover, year, why, bought FROM purchases
		WHERE row = $1 ORDER BY key DESC`, r.ID)
	err = store.Each(rows, err, func(scan func(...any) error) error {
		var p purchase
		var why string
		err := scan(&p.key, &p.product, &p.cover, &p.year, &why, &p.bought)
		s.claims = append(s.claims, &p)
		of[p.product] = Claim{Product: p.product, Key: p.key, Cover: p.cover, Year: p.year, Why: why}
		return err
	})
	for _, product := range s.inFlight() {
		if c, ok := of[product]; ok {
			claims = append(claims, c)
		}
	}
	return claims, store.Wrap("read the claims of a row in flight", err)
}

// unlistedTimeout is the assumed timeout of a process that is not registered.
const unlistedTimeout = time.Minute

// requestEnd returns when the request of a dead process has ended. If the process is known to be
// dead, it sent the request when the attempt began. If it is only silent, it may have sent the
// request until its lease expired.
func (db *database) requestEnd(r Row, o Process) time.Time {
	sent := r.UpdatedAt
	if _, there := db.Lock.IsLocked(o.Host, o.lock); !there && o.ExpiresAt.After(sent) {
		sent = o.ExpiresAt
	}
	if o.Timeout == 0 {
		// The process has an earlier version.
		o.Timeout = unlistedTimeout
	}
	return sent.Add(o.Timeout)
}
