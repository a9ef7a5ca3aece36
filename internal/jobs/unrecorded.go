package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Unrecorded is an answer of the filing service that the ledger does not have yet:
// the database did not respond when it came.
type Unrecorded struct {
	Batch   string
	Number  int
	Outcome ledger.Outcome
	Order   *filing.Order `json:",omitempty"` // to explain the outcome by; nil for its message
	Notes   []string      `json:",omitempty"`
}

// Orders are the ids that the answer names.
func (u *Unrecorded) Orders() []string { return orderIDs(u.Outcome.Answer.Items) }

// explain returns the message of the row for its new state.
func (u *Unrecorded) explain(s filing.RowState) string {
	if u.Order == nil {
		return u.Outcome.Message
	}
	return messageFor(u.Outcome.Answer, s, u.Order, u.Notes)
}

// unrecordedPrefix begins the name of a file of answers, and unmatchedSuffix ends
// that of one whose rows this ledger does not have.
const (
	unrecordedPrefix = "unrecorded-"
	unmatchedSuffix  = ".unmatched"
)

// unrecordedFile keeps the answers of this process that are not recorded yet in the
// data folder, for the next process: an order id that no one has noted cannot be
// found again.
type unrecordedFile struct {
	path string

	mu  sync.Mutex
	all []Unrecorded
	err error // of the last time it was written
}

func newUnrecordedFile(l *ledger.Ledger) *unrecordedFile {
	return &unrecordedFile{path: filepath.Join(l.Dir(), unrecordedPrefix+l.Fleet().ID()+".json")}
}

// add keeps an answer.
func (f *unrecordedFile) add(u Unrecorded) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, u)
	f.err = f.write()
	return f.err
}

// remove forgets an answer that is recorded.
func (f *unrecordedFile) remove(o *ledger.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = slices.DeleteFunc(f.all,
		func(u Unrecorded) bool { return u.Outcome.Row == o.Row && u.Outcome.Try == o.Try })
	f.err = f.write()
}

// list returns the answers that are kept, and the file that has them; "" for none.
func (f *unrecordedFile) list() Unsaved {
	f.mu.Lock()
	defer f.mu.Unlock()
	u := Unsaved{Answers: slices.Clone(f.all), Err: f.err}
	slices.SortFunc(u.Answers, func(a, b Unrecorded) int {
		return cmp.Or(strings.Compare(a.Batch, b.Batch), cmp.Compare(a.Number, b.Number))
	})
	if len(u.Answers) > 0 && f.err == nil {
		u.File = f.path
	}
	return u
}

// write replaces the file, or removes the one that has nothing left.
func (f *unrecordedFile) write() error {
	if len(f.all) == 0 {
		if err := os.Remove(f.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	content, err := json.Marshal(f.all)
	if err != nil {
		return fmt.Errorf("encode answers: %w", err)
	}
	fresh, err := os.CreateTemp(filepath.Dir(f.path), "."+unrecordedPrefix+"*") // for its owner alone
	if err != nil {
		return fmt.Errorf("keep answers: %w", err)
	}
	_, err = fresh.Write(content)
	if err = errors.Join(err, fresh.Sync(), fresh.Close()); err == nil {
		err = os.Rename(fresh.Name(), f.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep answers: %w", err), os.Remove(fresh.Name()))
	}
	return nil
}

// Unsaved is what a worker leaves that could not record its answers.
type Unsaved struct {
	Answers []Unrecorded
	File    string // where they are kept for the next process; "" where that failed, too
	Err     error
}

// replayUnrecorded records the answers that earlier processes of this data folder
// could not record. To record one twice changes nothing.
func replayUnrecorded(ctx context.Context, l *ledger.Ledger, log *slog.Logger) error {
	files, err := filepath.Glob(filepath.Join(l.Dir(), unrecordedPrefix+"*.json"))
	if err != nil {
		return fmt.Errorf("find the answers of earlier processes: %w", err)
	}
	for _, file := range files {
		owner := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), unrecordedPrefix), ".json")
		if owner == l.Fleet().ID() {
			continue // this process records them itself
		}
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process was first
		}
		var all []Unrecorded
		if err == nil {
			err = json.Unmarshal(content, &all)
		}
		if err != nil {
			log.Error("answers cannot be read", "file", file, "err", err)
			continue
		}
		matched := true
		for _, u := range all {
			ok, err := replay(ctx, l, owner, u, log)
			if err != nil {
				return fmt.Errorf("record an answer of %s: %w", file, err)
			}
			matched = matched && ok
		}
		if matched {
			err = os.Remove(file)
		} else {
			err = os.Rename(file, file+unmatchedSuffix)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// replay records an answer of another process, unless the row is another one in this
// ledger.
func replay(ctx context.Context, l *ledger.Ledger, owner string, u Unrecorded, log *slog.Logger) (bool, error) {
	about := []any{"batch", u.Batch, "row", u.Number, "row_id", u.Outcome.Row, "attempt", u.Outcome.Try,
		"answer", u.Outcome.Answer.Kind, "orders", u.Orders(), "company", u.Outcome.Answer.CompanyID}
	row, err := l.Row(ctx, u.Outcome.Row)
	switch {
	case errors.Is(err, ledger.ErrNotFound), err == nil && (row.Batch != u.Batch || row.Number != u.Number):
		log.Error("answer kept, its row is not in this ledger", about...)
		return false, nil
	case err != nil:
		return false, err
	}
	out := u.Outcome
	out.Owner, out.Explain = owner, u.explain
	out.Of = ledger.BatchRow{Batch: u.Batch, Number: u.Number}
	switch err := l.RecordOutcome(ctx, out); {
	case errors.Is(err, ledger.ErrTransition):
		log.Error("answer kept, the ledger refuses it", append(about, "err", err)...)
		return false, nil
	case err != nil:
		return false, err
	}
	log.Warn("kept answer recorded", about...)
	return true, nil
}
