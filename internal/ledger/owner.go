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

	"bulkfiling/internal/filing"

	"github.com/gofrs/flock"
)

// Owner is a process that places orders. Its rows in placing are settled as
// crashed only when it is gone: its lock file is free where it can be seen, or
// its lease has run out.
type Owner struct {
	ID        string
	Host      string
	PID       int
	Lock      string // path of the file the living process keeps locked
	StartedAt time.Time
	ExpiresAt time.Time
}

// enlist adds this process to the living.
func (l *Ledger) enlist(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name this machine: %w", err)
	}
	id := rand.Text()[:12]
	path, err := filepath.Abs(filepath.Join(l.dir, "locks", id))
	if err != nil {
		return fmt.Errorf("place the lock file: %w", err)
	}
	l.ownerLock = flock.New(path)
	if held, err := l.ownerLock.TryLock(); err != nil || !held {
		return fmt.Errorf("lock %s: held %v: %w", path, held, err)
	}
	now := l.now()
	l.owner = Owner{ID: id, Host: host, PID: os.Getpid(), Lock: path, StartedAt: now, ExpiresAt: now.Add(l.lease)}
	_, err = l.exclusively(ctx, `INSERT INTO owners (id, host, pid, lock, started_at, expires_at) VALUES ($1,$2,$3,$4,$5,$6)`,
		id, host, l.owner.PID, path, millis(now), millis(l.owner.ExpiresAt))
	if err != nil {
		l.unlock()
		return fmt.Errorf("enlist process %s: %w", id, err)
	}
	return nil
}

// exclusively runs one statement in this process's turn.
func (l *Ledger) exclusively(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := l.turns.take(); err != nil {
		return nil, err
	}
	defer l.turns.end()
	return l.write.ExecContext(ctx, query, args...)
}

// keepLease renews the lease while the process lives. A renewal that fails is
// tried again: the intents check the lease themselves.
func (l *Ledger) keepLease() {
	defer l.stopped.Done()
	tick := time.NewTicker(l.lease / 6)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(context.Background(), l.lease/3)
			_ = l.renew(ctx)
			cancel()
		}
	}
}

func (l *Ledger) renew(ctx context.Context) error {
	now := l.now()
	_, err := l.exclusively(ctx, `INSERT INTO owners (id, host, pid, lock, started_at, expires_at) VALUES ($1,$2,$3,$4,$5,$6)
		ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at`,
		l.owner.ID, l.owner.Host, l.owner.PID, l.owner.Lock, millis(l.owner.StartedAt), millis(now.Add(l.lease)))
	if err != nil {
		return fmt.Errorf("renew the lease of process %s: %w", l.owner.ID, err)
	}
	return nil
}

// retire takes this process off the list.
func (l *Ledger) retire() error {
	defer l.unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := l.exclusively(ctx, `DELETE FROM owners WHERE id = $1`, l.owner.ID); err != nil {
		return fmt.Errorf("retire process %s: %w", l.owner.ID, err)
	}
	return nil
}

func (l *Ledger) unlock() {
	_ = l.ownerLock.Unlock()
	_ = os.Remove(l.ownerLock.Path())
}

// alive reports whether the owner may still be at work.
func (l *Ledger) alive(o Owner) bool {
	if o.ID == l.owner.ID {
		return true
	}
	if o.Host == l.owner.Host {
		if _, err := os.Stat(o.Lock); err == nil {
			probe := flock.New(o.Lock)
			if free, err := probe.TryLock(); err == nil && free {
				_ = probe.Unlock()
				return false
			}
			return true
		}
		// No file to ask: another container with the same name, or a folder
		// that is gone. The lease decides.
	}
	return l.now().Before(o.ExpiresAt)
}

// owners lists every process on the list.
func (l *Ledger) owners(ctx context.Context, q querier) ([]Owner, error) {
	rows, err := q.QueryContext(ctx, `SELECT id, host, pid, lock, started_at, expires_at FROM owners`)
	if err != nil {
		return nil, fmt.Errorf("list the living processes: %w", err)
	}
	defer rows.Close()
	var all []Owner
	for rows.Next() {
		var o Owner
		var started, expires int64
		if err := rows.Scan(&o.ID, &o.Host, &o.PID, &o.Lock, &started, &expires); err != nil {
			return nil, fmt.Errorf("read a living process: %w", err)
		}
		o.StartedAt, o.ExpiresAt = moment(started), moment(expires)
		all = append(all, o)
	}
	return all, rows.Err()
}

// Crew names the set of processes that live: it changes whenever one of them
// comes or goes.
func (l *Ledger) Crew(ctx context.Context) (string, error) {
	owners, err := l.owners(ctx, l.read)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, o := range owners {
		if l.alive(o) {
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
func (l *Ledger) giveBack(ctx context.Context, r Row) error {
	a := filing.Answer{Class: filing.NotSent, Message: "the connection to the ledger broke before the order was sent"}
	o := Outcome{Row: r.ID, Try: r.Tries, Answer: a, Verdict: filing.Decide(a, filing.Standing{Doubt: r.Doubt}), Message: "not sent yet: " + a.Message}
	if err := l.submit(ctx, &transition{outcome: &o, unsent: true}); err != nil {
		return fmt.Errorf("give row %d back: %w", r.ID, err)
	}
	return nil
}

// Orphans finds the rows in placing whose process is gone, and strikes such
// processes off the list once nothing of theirs is left.
func (l *Ledger) Orphans(ctx context.Context) ([]Row, error) {
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
	living := make(map[string]bool, len(owners))
	for _, o := range owners {
		if living[o.ID] = l.alive(o); living[o.ID] {
			continue
		}
		struck, err := affected(l.exclusively(ctx, `DELETE FROM owners WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM rows WHERE result = 'placing' AND owner = $1)`, o.ID))
		if err != nil {
			return nil, fmt.Errorf("strike off process %s: %w", o.ID, err)
		}
		// While rows of it are left its lock stays, to tell whoever looks next
		// that it is dead.
		if struck > 0 && o.Host == l.owner.Host {
			_ = os.Remove(o.Lock)
		}
	}
	for _, r := range placing {
		if r.Owner == l.owner.ID && !l.out.has(attempt{r.ID, r.Tries}) {
			if err := l.giveBack(ctx, r); err != nil {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(placing, func(r Row) bool { return living[r.Owner] }), nil
}
