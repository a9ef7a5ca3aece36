package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/secret"
)

// Schedule makes backups of a ledger again and again, one for a whole fleet.
type Schedule struct {
	Ledger     *ledger.Ledger
	Name       string // of the ledger; files begin with it
	Dir        string
	Every      time.Duration
	Keep       int
	Passphrase secret.Value
	Log        *slog.Logger
}

// checkInterval is how often a schedule looks whether a backup is due.
const checkInterval = 30 * time.Second

// Run makes backups until ctx ends.
func (s *Schedule) Run(ctx context.Context) {
	tick := time.NewTicker(min(checkInterval, s.Every/4))
	defer tick.Stop()
	for {
		if _, err := s.MakeDue(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("backup failed", "folder", s.Dir, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// MakeDue makes a backup if one is due, and deletes those beyond the number that is
// kept. What failed is recorded in the ledger, and people are notified once until a backup
// succeeds. It reports whether one was made.
func (s *Schedule) MakeDue(ctx context.Context) (bool, error) {
	b, due, err := s.Ledger.Backups().BeginDue(ctx, ledger.Backup{
		File:      s.Dir,
		Encrypted: !s.Passphrase.IsEmpty(),
	}, s.Every)
	if err != nil || !due {
		return false, err
	}
	b.File = filepath.Join(s.Dir, s.fileName(b))
	made, err := s.write(ctx, b)
	b.Bytes, b.Commits = made.Bytes, made.Commits
	after := context.WithoutCancel(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return false, s.Ledger.Backups().Forget(after, b.ID) // the process ends in order: nothing has failed
	case err != nil:
		b.Failure = err.Error()
		return false, errors.Join(err, s.Ledger.Backups().End(after, b), s.notifyFailed(after, err))
	}
	if err := errors.Join(s.Ledger.Backups().End(after, b), s.notifyRecovered(ctx, b)); err != nil {
		return true, err
	}
	s.Log.Info("backup written", "file", b.File, "bytes", b.Bytes, "commits", b.Commits)
	return true, s.deleteOldBackups(after)
}

// write makes the file of a backup, and renews the record of it meanwhile.
func (s *Schedule) write(ctx context.Context, b ledger.Backup) (Summary, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return Summary{}, fmt.Errorf("create the folder of backups: %w", err)
	}
	renewals, stop := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { s.renew(renewals, b.ID) })
	defer renewing.Wait()
	defer stop()
	return Write(ctx, s.Ledger, b.File, s.Passphrase)
}

func (s *Schedule) renew(ctx context.Context, id string) {
	tick := time.NewTicker(ledger.BackupRenewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.Ledger.Backups().Renew(ctx, id); err != nil && ctx.Err() == nil {
			s.Log.Warn("backup not renewed", "err", err)
		}
	}
}

// ending is how the files of a schedule end, by the time and the id of the backup.
var ending = regexp.MustCompile(`^-\d{8}T\d{6}Z-([A-Z0-9]{12})\.backup$`)

// fileName names the file of a backup: names sort by time.
func (s *Schedule) fileName(b ledger.Backup) string {
	return s.Name + "-" + b.StartedAt.UTC().Format("20060102T150405Z") + "-" + b.ID + ".backup"
}

// deleteOldBackups deletes the oldest backups of this ledger. Other files are not touched, and neither
// are those of another ledger with the same name.
func (s *Schedule) deleteOldBackups(ctx context.Context) error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fmt.Errorf("delete old backups: %w", err)
	}
	ids := make(map[string]string) // by file
	for _, e := range entries {
		rest, is := strings.CutPrefix(e.Name(), s.Name)
		if found := ending.FindStringSubmatch(rest); is && e.Type().IsRegular() && found != nil {
			ids[e.Name()] = found[1]
		}
	}
	recorded, err := s.Ledger.Backups().SelectOwn(ctx, slices.Collect(maps.Values(ids)))
	if err != nil {
		return fmt.Errorf("delete old backups: %w", err)
	}
	maps.DeleteFunc(ids, func(_, id string) bool { return !recorded[id] })
	own := slices.Collect(maps.Keys(ids))
	slices.Sort(own)
	var errs []error
	for _, name := range own[:max(len(own)-s.Keep, 0)] {
		if err := os.Remove(filepath.Join(s.Dir, name)); err != nil {
			errs = append(errs, fmt.Errorf("delete an old backup: %w", err))
			continue
		}
		s.Log.Info("backup deleted", "file", filepath.Join(s.Dir, name))
	}
	return errors.Join(errs...)
}

// notifyFailed tells people that a backup failed, once until one succeeds.
func (s *Schedule) notifyFailed(ctx context.Context, why error) error {
	host, _ := os.Hostname()
	_, err := s.Ledger.Notifications().Add(ctx, ledger.Notification{
		Kind:    ledger.NotifyBackup,
		Lasts:   true,
		Subject: "the backup of ledger " + s.Name + " failed",
		Body: fmt.Sprintf(
			"A scheduled backup to %s on %s failed: %v.\n\nIt is tried again. Until one succeeds there is "+
				"no newer backup.", s.Dir, host, why),
		Path: "/settings",
	})
	return err
}

// notifyRecovered tells those who were told of a failure that backups are made again.
func (s *Schedule) notifyRecovered(ctx context.Context, b ledger.Backup) error {
	_, err := s.Ledger.Notifications().Add(ctx, ledger.Notification{
		Kind:    ledger.NotifyBackup,
		Ends:    true,
		Subject: "the backup of ledger " + s.Name + " works again",
		Body:    "A backup was written and checked: " + b.File + ".",
		Path:    "/settings",
	})
	return err
}
