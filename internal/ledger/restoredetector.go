package ledger

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// A ledger goes back in time when a standby without the last commits takes over, or when a backup
// is restored while processes run. Orders that were sent since then look unsent and would be placed
// again. Commits are therefore numbered, and every process remembers the highest number that it has
// seen. A process that finds a lower number halts the fleet until a person ends the halt. Every
// live process then writes back the attempts that the ledger lost and the process remembers.

// The limits of this process's memory of its attempts. They cover a database outage of some length
// and keep the memory small.
const (
	rememberFor = time.Hour
	rememberMax = 20000
)

// restoreDetector remembers the ledger's commits and this process's attempts.
type restoreDetector struct {
	mu sync.Mutex
	// numbers are the highest commits seen, by lineage.
	numbers map[string]int64
	// last is the control row that this process committed last, with its lineage and its number.
	last control
	// past are the lineages that ended before the last commit.
	past map[string]bool
	// restored reports whether the lineage changed during the life of this process.
	restored bool
	// changed reports whether the numbers changed since they were saved.
	changed bool
	// next is closed with the next commit. Nil if no caller waits for it.
	next     chan struct{}
	attempts map[attemptID]*pastAttempt
	// order has the attempts, the oldest first.
	order []attemptID
}

// pastAttempt is an attempt that this process began.
type pastAttempt struct {
	intent Intent
	// outcome is nil while the request is in flight.
	outcome *Outcome
	at      time.Duration
}

// highest returns the highest commits seen, by lineage. Call it before reading the control row.
func (h *restoreDetector) highest() map[string]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	numbers := make(map[string]int64, len(h.numbers))
	for lineage, n := range h.numbers {
		numbers[lineage] = n
	}
	return numbers
}

// observe records a commit number.
func (h *restoreDetector) observe(lineage string, number int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.numbers == nil {
		h.numbers = make(map[string]int64)
	}
	if number > h.numbers[lineage] {
		h.numbers[lineage], h.changed = number, true
		if h.next != nil {
			close(h.next)
			h.next = nil
		}
	}
}

// nextCommit returns a channel that is closed when a higher commit number is seen.
func (h *restoreDetector) nextCommit() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next == nil {
		h.next = make(chan struct{})
	}
	return h.next
}

// committed records a commit of this process. known has the highest commits by lineage from before its
// control row was read. Commits may be recorded in another order than they were made.
func (h *restoreDetector) committed(c *control, known map[string]int64) {
	h.observe(c.lineage, c.commits)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.past[c.lineage] || c.lineage == h.last.lineage && c.commits < h.last.commits {
		return
	}
	h.restored = h.restored || (h.last.lineage != "" && h.last.lineage != c.lineage)
	if h.last.lineage != c.lineage {
		h.past = make(map[string]bool)
		for lineage := range known {
			h.past[lineage] = lineage != c.lineage
		}
	}
	h.last = *c
}

// isSuspect reports whether the ledger has another lineage than this process's last commit, which
// means that another process found the ledger restored.
func (h *restoreDetector) isSuspect(c *control) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last.lineage != "" && h.last.lineage != c.lineage
}

// isPast reports whether the lineage of the ledger had ended before.
func (h *restoreDetector) isPast(c *control) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.past[c.lineage]
}

// committedBefore returns the number of this process's last commit if a restart of the server or a
// replacement of the file was noticed since, and zero otherwise. Times are only compared for equality,
// because a clock may be set back.
func (h *restoreDetector) committedBefore(c *control) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last.lineage == c.lineage && h.last.restartedAt != c.restartedAt {
		return h.last.commits
	}
	return 0
}

// wasRestored reports whether the ledger went back in time during the life of this process. If so,
// its rows may be in states from before the changes of this process.
func (h *restoreDetector) wasRestored(c *control) bool {
	if h.isSuspect(c) {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.restored
}

// remember stores the attempts of a group that is about to be committed. It does not replace an
// answer, because a sweep that read the row before the answer may take the attempt for unsent. The
// ledger ignores that. It also stores an answer for a row that the ledger lost, because the row's
// spreadsheet may be uploaded again.
func (h *restoreDetector) remember(group []*transition, at time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attempts == nil {
		h.attempts = make(map[attemptID]*pastAttempt)
	}
	for _, t := range group {
		switch {
		case t.intent != nil && t.begun.Attempt != 0:
			a := attemptID{t.intent.Row, t.begun.Attempt}
			// A lost row may have had the same ID.
			if h.attempts[a] == nil {
				h.order = append(h.order, a)
			}
			h.attempts[a] = &pastAttempt{intent: *t.intent, at: at}
		case t.outcome != nil && (t.err == nil || errors.Is(t.err, ErrNotFound)) && !t.unsent:
			r := h.attempts[attemptID{t.outcome.Row, t.outcome.Attempt}]
			if r != nil && r.intent.Of == t.outcome.Of && (r.outcome == nil || r.outcome.Answer.Kind.Lost()) {
				r.outcome, r.at = t.outcome, at
			}
		}
	}
	for len(h.order) > 0 {
		r := h.attempts[h.order[0]]
		if len(h.order) <= rememberMax && (r.outcome == nil || at-r.at < rememberFor) {
			break
		}
		delete(h.attempts, h.order[0])
		h.order = h.order[1:]
	}
}

// forget removes the attempts that a failed group began, because none of their orders is sent. It
// keeps answers, which are known regardless of the commit.
func (h *restoreDetector) forget(group []*transition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range group {
		if t.intent == nil || t.begun.Attempt == 0 {
			continue
		}
		a := attemptID{t.intent.Row, t.begun.Attempt}
		if r := h.attempts[a]; r != nil && r.outcome == nil {
			delete(h.attempts, a)
			h.order = slices.DeleteFunc(h.order, func(o attemptID) bool { return o == a })
		}
	}
}

// list returns the remembered attempts, the oldest first.
func (h *restoreDetector) list() []pastAttempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]pastAttempt, 0, len(h.order))
	for _, a := range h.order {
		all = append(all, *h.attempts[a])
	}
	return all
}

// Commits returns the ledger's lineage and the highest commit that this process has seen.
func (l Fleet) Commits() (lineage string, number int64) {
	l.restoreDetector.mu.Lock()
	defer l.restoreDetector.mu.Unlock()
	lineage = l.restoreDetector.last.lineage
	return lineage, l.restoreDetector.numbers[lineage]
}

// NextCommit returns a channel that is closed when this process next commits or next notices a
// commit of another process. It notices such a commit in Halt, when it renews its lease, and when
// it commits.
func (l Fleet) NextCommit() <-chan struct{} { return l.restoreDetector.nextCommit() }

// RecordCommit records a commit that another process has seen.
func (l Fleet) RecordCommit(lineage string, number int64) {
	if lineage != "" {
		l.restoreDetector.observe(lineage, number)
	}
}

// newLineage returns the name of a new sequence of commit numbers.
func newLineage() string { return rand.Text()[:16] }

// detectRestore compares the control row with this process's memory of it. known has the highest
// commits by lineage from before the row was read.
func (tx *Tx) detectRestore(ctx context.Context, known map[string]int64) error {
	db, c := tx.db, tx.control
	if c.lineage == "" {
		c.lineage = newLineage()
	}
	restarted := c.serverStarted != "" && c.server != c.serverStarted
	if c.fileReplaced || restarted {
		// The memory of the other processes is available after each of them has renewed its lease
		// once.
		c.restartWaitUntil = c.now + (db.lease / 3).Milliseconds()
		if restarted || db.restoreDetector.committedBefore(c) == 0 {
			// As far as this process knows, it is the first to notice.
			c.restartedAt, c.restartCommits = max(c.now, c.restartedAt+1), c.commits
		}
	}
	c.serverStarted = c.server
	had, has := known[c.lineage], c.commits
	if own := db.restoreDetector.committedBefore(c); own > c.restartCommits {
		// Other processes may have made as many commits since.
		had, has = own, c.restartCommits
	}
	note := ""
	switch {
	case had > has:
		note = fmt.Sprintf("it holds %d commits and had %d", has, had)
	case db.restoreDetector.isPast(c):
		note = "it lacks the last check of a restored ledger"
	}
	if note != "" {
		if err := c.haltRestored(ctx, tx.Tx, note, c.changedAt); err != nil {
			return err
		}
	}
	if !db.restoreDetector.isSuspect(c) {
		return nil
	}
	return tx.writeBack(ctx)
}

// writeBack writes the attempts that the ledger lost and this process remembers. Each becomes
// uncertain again. If it was answered, its answer resolves it.
func (tx *Tx) writeBack(ctx context.Context) error {
	now := tx.control.now
	all := tx.db.restoreDetector.list()
	for len(all) > 0 {
		some := all[:min(maxGroup, len(all))]
		all = all[len(some):]
		var group []*transition
		for i := range some {
			in := some[i].intent
			group = append(group, &transition{intent: &in})
			if some[i].outcome != nil {
				group = append(group, &transition{outcome: some[i].outcome})
			}
		}
		in, err := tx.readSnapshot(ctx, group, now)
		if err != nil {
			return err
		}
		recorded, err := tx.findRecorded(ctx, some)
		if err != nil {
			return err
		}
		d := tx.newDecision(in, now)
		for _, r := range some {
			if err := d.writeBack(r, recorded); err != nil {
				return fmt.Errorf("write back what row %d was sent: %w", r.intent.Row, err)
			}
		}
		if err := tx.write(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// findRecorded returns the attempts of this process whose answers the ledger has.
func (tx *Tx) findRecorded(ctx context.Context, some []pastAttempt) (map[attemptID]bool, error) {
	rows := make([]store.Record, len(some))
	for i, r := range some {
		rows[i] = store.Record{store.Number("id", r.intent.Row), store.Text("owner", tx.db.owner.ID)}
	}
	all := make(map[attemptID]bool)
	err := tx.db.QueryRecords(ctx, tx.Tx, fmt.Sprintf(`SELECT a.row, ABS(a.number) %% %d {{v,}} attempts a
		WHERE a.row = v.id AND a.owner = v.owner AND a.outcome <> '%s'`, renumbered, filing.NoAnswer), rows,
		func(scan func(...any) error) error {
			var a attemptID
			err := scan(&a.row, &a.number)
			all[a] = true
			return err
		})
	return all, store.Wrap("read which answers the ledger has", err)
}

func (d *decision) writeBack(r pastAttempt, recorded map[attemptID]bool) error {
	s, ok := d.rows[r.intent.Row]
	attempt := r.intent.LastAttempt + 1
	if !ok || !s.isAt(r.intent.Of) || recorded[attemptID{r.intent.Row, attempt}] {
		// Either its whole batch is lost or its answer is recorded.
		return nil
	}
	if s.lastAttempt < attempt && s.result == filing.Ready {
		in := r.intent
		s.lastAttempt = r.intent.LastAttempt
		if in.unconfirmed && !s.uncertain {
			d.addLostAttempt(s, productsOf(r.intent.Claims))
		}
		d.reserve(s, &in)
		s.message, s.due, s.uncertain = "sent before the ledger went back in time; the answer is not known", 0, false
		s.blockedOn, s.awaitedKey = "", ""
		s.owner, s.since = d.process.ID, d.now
		d.move(s, filing.Placing)
	}
	if r.outcome == nil {
		// The request is still in flight.
		return nil
	}
	err := d.recordOutcome(r.outcome, false)
	if errors.Is(err, ErrTransition) {
		return nil
	}
	return err
}

// lostOwner is the process ID of a lost attempt.
const lostOwner = "lost"

// addLostAttempt adds the attempt before the one that is written back. The lost attempt may have
// bought the items of the later one, and its process has ended. A 409 to the later attempt then
// shows the row's own purchase.
func (d *decision) addLostAttempt(s *rowState, products []filing.Product) {
	attempt := s.lastAttempt
	// An attempt since the restore has the same number.
	if s.senders[attempt] != "" {
		for attempt = -attempt; s.senders[attempt] != ""; {
			attempt -= renumbered
		}
	}
	a := filing.Attempt{Number: attempt, Products: products, Kind: filing.NoAnswer}
	s.addSender(attempt, lostOwner)
	s.attempts = append(s.attempts, a)
	d.recordAttempt(s, a, lostOwner, &Outcome{Answer: filing.Answer{
		Kind:    a.Kind,
		Message: "sent before the ledger went back in time, by a process that has ended",
	}})
}

// checkForRestore compares the ledger with this process's memory. It waits for other writers only
// if they differ.
func (db *database) checkForRestore(ctx context.Context) error {
	if err := db.Follow(); err != nil {
		return err
	}
	known := db.restoreDetector.highest()
	c, err := db.readControl(ctx, db.Read)
	if err != nil {
		return err
	}
	db.restoreDetector.observe(c.lineage, c.commits)
	if known[c.lineage] <= c.commits && !db.restoreDetector.isSuspect(c) && c.server == c.serverStarted &&
		db.restoreDetector.committedBefore(c) == 0 && !db.restoreDetector.isPast(c) {
		return nil
	}
	return db.commitChange(audit.Without(ctx), func(*Tx) error { return nil })
}

// The highest commits are also stored in a file beside the ledger. A process that starts reads the
// numbers that earlier processes saw.

const commitsFile = "commits.json"

// loadCommits reads the numbers that processes of this data folder have seen.
func (db *database) loadCommits() error {
	content, err := os.ReadFile(filepath.Join(db.Dir, commitsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the numbers of the last commits: %w", err)
	}
	var numbers map[string]int64
	if json.Unmarshal(content, &numbers) != nil {
		// A power failure left the file incomplete. It is not essential.
		return nil
	}
	for lineage, n := range numbers {
		db.restoreDetector.observe(lineage, n)
	}
	return nil
}

// saveCommits saves the numbers if they have changed.
func (db *database) saveCommits() error {
	db.restoreDetector.mu.Lock()
	changed := db.restoreDetector.changed
	db.restoreDetector.changed = false
	db.restoreDetector.mu.Unlock()
	if !changed {
		return nil
	}
	guard := flock.New(filepath.Join(db.Dir, "locks", "commits"))
	if err := guard.Lock(); err != nil {
		return fmt.Errorf("wait to save the number of the last commit: %w", err)
	}
	defer guard.Unlock()
	// This merges the numbers that other processes have saved.
	if err := db.loadCommits(); err != nil {
		return err
	}
	content, err := json.Marshal(db.restoreDetector.highest())
	if err != nil {
		return err
	}
	path := filepath.Join(db.Dir, commitsFile)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("save the number of the last commit: %w", err)
	}
	return os.Rename(path+".new", path)
}
