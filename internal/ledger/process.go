package ledger

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"bulkfiling/internal/filing"
)

// Process is one that has the ledger open. Its rows in placing are settled as
// crashed only when it is gone: its lock file is free where it can be seen, or
// its lease has run out.
type Process struct {
	ID        string
	Host      string
	PID       int
	What      string // "worker", "run", "serve" as it was announced; "" for a passing command
	Places    bool
	StartedAt time.Time
	ExpiresAt time.Time // its lease
	Alive     bool
	Placing   int // its rows in placing now

	Timeout time.Duration // of the requests that it sends

	lock string // path of the file the living process keeps locked
}

// enlist adds this process to the living.
func (db *database) enlist(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("find the name of this machine: %w", err)
	}
	id := rand.Text()[:12]
	path, err := filepath.Abs(filepath.Join(db.dir, "locks", id))
	if err != nil {
		return fmt.Errorf("find the folder of the lock file: %w", err)
	}
	db.ownerLock = flock.New(path)
	if held, err := db.ownerLock.TryLock(); err != nil || !held {
		return fmt.Errorf("lock %s: held %v: %w", path, held, err)
	}
	db.owner = Process{
		ID:      id,
		Host:    host,
		PID:     os.Getpid(),
		Timeout: db.timeout,
		lock:    path,
	}
	err = db.change(withoutAudit(ctx), func(tx *sql.Tx, c *control) error {
		if err := db.setClock(ctx, tx, c); err != nil {
			return err
		}
		db.owner.StartedAt = fromMillis(c.now)
		return db.enroll(ctx, tx)
	})
	if err != nil {
		db.unlock()
		return err
	}
	return nil
}

// setClock sets the clock of an SQLite ledger by the machine's where no other
// process lives. From then on it goes on by itself: whoever sets the machine's
// clock holds nobody, and the processes agree.
func (db *database) setClock(ctx context.Context, tx *sql.Tx, c *control) error {
	if !db.clock.local || db.clock.fixed != nil {
		return nil
	}
	others, err := db.owners(ctx, tx)
	if err != nil {
		return err
	}
	// Where it is behind the last change, the machine was started since, or is
	// another one.
	if c.now >= c.changedAt && c.clockBase != 0 &&
		slices.ContainsFunc(others, func(o Process) bool { return o.Alive }) {
		return nil
	}
	now := toMillis(db.clock.wall())
	if back := c.changedAt - now; back > 0 {
		// It was ahead: what was to come is as far off as it was.
		for _, at := range []*int64{&c.holdUntil, &c.probeAt, &c.settlingUntil} {
			*at = max(*at-back, 0)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE rows SET due = due - $1 WHERE due > $1`, back); err != nil {
			return fmt.Errorf("set the ledger's clock back: %w", err)
		}
	}
	db.clock.set(now)
	c.now, c.clockBase = now, db.clock.base
	// Written at once: the statements of this change count from it.
	_, err = tx.ExecContext(ctx, `UPDATE control SET clock_base = $1 WHERE id = 1`, c.clockBase)
	return wrap("set the ledger's clock", err)
}

// exclusively runs one statement in this process's turn. Where the context has
// an act to record, both are one change.
func (db *database) exclusively(ctx context.Context, query string, args ...any) (done sql.Result, err error) {
	if a, _ := ctx.Value(auditKey{}).(*auditing); a != nil {
		err = db.change(ctx, func(tx *sql.Tx, _ *control) error {
			done, err = tx.ExecContext(ctx, query, args...)
			return err
		})
		return done, err
	}
	if err := db.writeLock.lock(); err != nil {
		return nil, err
	}
	defer db.writeLock.unlock()
	return db.write.ExecContext(ctx, query, args...)
}

// keepLease renews the lease while the process lives. A renewal that fails is
// tried again: the intents check the lease themselves.
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
			_ = db.look(ctx)
			_ = db.saveCommits()
			cancel()
		}
	}
}

func (db *database) renew(ctx context.Context) error {
	db.renewing.Lock()
	defer db.renewing.Unlock()
	if err := db.writeLock.lock(); err != nil {
		return err
	}
	defer db.writeLock.unlock()
	return db.enroll(ctx, db.write)
}

// enroll puts this process on the list of the living for one more lease.
func (db *database) enroll(ctx context.Context, x execer) error {
	from := db.clock.uptime()
	_, err := x.ExecContext(
		ctx, `INSERT INTO owners (id, host, pid, lock, started_at, what, places, timeout, expires_at)
			VALUES ($1,$2,$3,$4,$5,$6,$7,$8, `+db.clock.sql()+fmt.Sprintf(` + %d)`, db.lease.Milliseconds())+`
			ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, what = excluded.what,
				places = excluded.places`,
		db.owner.ID, db.owner.Host, db.owner.PID, db.owner.lock, toMillis(db.owner.StartedAt), db.owner.What,
		boolInt(db.owner.Places), db.owner.Timeout.Milliseconds())
	if err != nil {
		return fmt.Errorf("renew the lease of process %s: %w", db.owner.ID, err)
	}
	db.leasedUntil.Store(int64(from + db.lease))
	return nil
}

// MaySend reports whether this process still holds its lease with time to spare,
// by its machine's clock alone. It is asked between the commit of an intent and
// the first byte of its order: a process that stood still in between may have
// been given up for dead, and its row sent by another one.
func (l Fleet) MaySend() bool {
	return l.clock.uptime()+l.lease/3 < time.Duration(l.leasedUntil.Load())
}

// Announce says what this process is, and whether it places. Whoever does not
// say counts as a passing command.
func (l Fleet) Announce(ctx context.Context, what string, places bool) error {
	l.renewing.Lock()
	l.owner.What, l.owner.Places = what, places
	l.renewing.Unlock()
	return l.renew(ctx)
}

// retire takes this process off the list.
func (db *database) retire() error {
	defer db.unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	// While rows of it are left it stays on the list, as dead, to tell what its
	// time-out was.
	_, err := db.exclusively(ctx, `UPDATE owners SET expires_at = 0 WHERE id = $1`, db.owner.ID)
	if err == nil {
		_, err = db.exclusively(
			ctx, `DELETE FROM owners WHERE id = $1
				AND NOT EXISTS (SELECT 1 FROM rows WHERE result = 'placing' AND owner = $1)`, db.owner.ID)
	}
	if err != nil {
		return fmt.Errorf("retire process %s: %w", db.owner.ID, err)
	}
	return db.saveCommits()
}

func (db *database) unlock() {
	_ = db.ownerLock.Unlock()
	_ = os.Remove(db.ownerLock.Path())
}

// alive reports whether the owner may still be at work, now at the database.
// On this machine its lock decides. Another machine's lease is compared with the
// clock that wrote it: the observer's own plays no role.
func (db *database) alive(o Process, now int64) bool {
	if o.ID == db.owner.ID {
		return true
	}
	if locked, there := db.locked(o); there {
		return locked
	}
	return now < toMillis(o.ExpiresAt)
}

// locked reports whether the owner's lock can be seen, and is held.
func (db *database) locked(o Process) (held, there bool) {
	if o.Host != db.owner.Host {
		return false, false
	}
	if _, err := os.Stat(o.lock); err != nil {
		// No file to ask: another container with the same name, or a folder
		// that is gone. The lease decides.
		return false, false
	}
	probe := flock.New(o.lock)
	if free, err := probe.TryLock(); err == nil && free {
		_ = probe.Unlock()
		return false, true
	}
	return true, true
}

// owners lists every process on the list, the oldest first, and which of them
// live.
func (db *database) owners(ctx context.Context, q querier) ([]Process, error) {
	rows, err := q.QueryContext(ctx,
		`SELECT id, host, pid, lock, started_at, expires_at, what, places, timeout,
				(SELECT COUNT(*) FROM rows WHERE result = 'placing' AND owner = owners.id), `+db.clock.sql()+
			` FROM owners
			ORDER BY started_at, id`)
	all, err := collect(rows, err, func(scan func(...any) error) (Process, error) {
		var p Process
		var started, expires, timeout, now int64
		err := scan(&p.ID, &p.Host, &p.PID, &p.lock, &started, &expires, &p.What, &p.Places, &timeout, &p.Placing, &now)
		p.StartedAt, p.ExpiresAt, p.Timeout = fromMillis(
			started), fromMillis(expires), time.Duration(timeout)*time.Millisecond
		if err == nil {
			p.Alive = db.alive(p, now)
		}
		return p, err
	})
	return all, wrap("list the living processes", err)
}

// Processes lists who has the ledger open, the oldest first, and those who died
// and are not struck off yet.
func (l Fleet) Processes(ctx context.Context) ([]Process, error) {
	return l.owners(ctx, l.read)
}

// Others counts the living processes besides this one that place.
func (l Fleet) Others(ctx context.Context) (int, error) {
	all, err := l.Processes(ctx)
	n := 0
	for _, p := range all {
		if p.ID != l.owner.ID && p.Places && p.Alive {
			n++
		}
	}
	return n, err
}

// Membership names the set of processes that live: it changes whenever one of them
// comes or goes.
func (l Fleet) Membership(ctx context.Context) (string, error) {
	owners, err := l.owners(ctx, l.read)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, o := range owners {
		if o.Alive {
			ids = append(ids, o.ID)
		}
	}
	slices.Sort(ids)
	sum := sha256.Sum256([]byte(strings.Join(ids, " ")))
	return hex.EncodeToString(sum[:6]), nil
}

// attempt is one sending of one row.
type attempt struct {
	row int64
	try int
}

// out holds the attempts of this process from before their intents are committed
// until after their outcomes are, with the number of those who began them: of
// several only one is let through.
type out struct {
	mu       sync.Mutex
	attempts map[attempt]int
}

func (o *out) begin(a attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.attempts == nil {
		o.attempts = make(map[attempt]int)
	}
	o.attempts[a]++
}

// refused is the end of a beginner who was not let through.
func (o *out) refused(a attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.attempts[a] > 1 {
		o.attempts[a]--
	} else {
		delete(o.attempts, a)
	}
}

// settled is the end of the attempt.
func (o *out) settled(a attempt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.attempts, a)
}

func (o *out) has(a attempt) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.attempts[a] > 0
}

// giveBack settles an intent of this process that was committed while the
// database's word of it was lost: whoever wanted to send the order was told
// that it may not.
func (db *database) giveBack(ctx context.Context, r Row) error {
	a := filing.Answer{Kind: filing.NotSent, Message: "the connection to the ledger broke before the order was sent"}
	o := Outcome{Row: r.ID, Try: r.Tries, Answer: a, Message: "not sent yet: " + a.Message}
	if err := db.submit(ctx, &transition{outcome: &o, unsent: true}); err != nil {
		return fmt.Errorf("release row %d: %w", r.ID, err)
	}
	return nil
}

// Orphan is a row in placing whose process is gone.
type Orphan struct {
	Row
	Due time.Time // until then the service may still be at work on its order
}

// Orphans finds the rows in placing whose process is gone, and strikes such
// processes off the list once nothing of theirs is left.
func (l Fleet) Orphans(ctx context.Context) ([]Orphan, error) {
	// The rows first: whoever owns one of them is on the list by now, unless it
	// is gone. The other way round a process that has just begun would be missed.
	var placing []Row
	for row, err := range l.rows(ctx, `r.result = 'placing' ORDER BY r.id`) {
		if err != nil {
			return nil, err
		}
		placing = append(placing, row)
	}
	owners, err := l.owners(ctx, l.read)
	if err != nil {
		return nil, err
	}
	known := make(map[string]Process, len(owners))
	for _, o := range owners {
		known[o.ID] = o
		if o.Alive {
			continue
		}
		struck, err := affected(l.exclusively(ctx,
			`DELETE FROM owners WHERE id = $1 AND expires_at = $2
				AND NOT EXISTS (SELECT 1 FROM rows WHERE result = 'placing' AND owner = $1)`, o.ID,
			toMillis(o.ExpiresAt)))
		if err != nil {
			return nil, fmt.Errorf("remove process %s: %w", o.ID, err)
		}
		// While rows of it are left its lock stays, to tell whoever looks next
		// that it is dead.
		if struck > 0 && o.Host == l.owner.Host {
			_ = os.Remove(o.lock)
		}
	}
	var orphans []Orphan
	for _, r := range placing {
		o, listed := known[r.Owner]
		switch {
		case r.Owner == l.owner.ID && !l.out.has(attempt{r.ID, r.Tries}):
			if err := l.giveBack(ctx, r); err != nil {
				return nil, err
			}
		case o.Alive:
		case !listed:
			orphans = append(orphans, Orphan{r, r.UpdatedAt.Add(unlistedTimeout)})
		default:
			orphans = append(orphans, Orphan{r, l.quiet(r, o)})
		}
	}
	return orphans, nil
}

// unlistedTimeout is taken for the time-out of a process that is not on the list.
const unlistedTimeout = time.Minute

// quiet is when the request of a dead process has ended. One that is known to be
// dead sent it when the attempt began; one that is only silent may have sent it
// until its lease ran out.
func (db *database) quiet(r Row, o Process) time.Time {
	sent := r.UpdatedAt
	if _, there := db.locked(o); !there && o.ExpiresAt.After(sent) {
		sent = o.ExpiresAt
	}
	if o.Timeout == 0 {
		o.Timeout = unlistedTimeout // a process of an earlier version
	}
	return sent.Add(o.Timeout)
}
