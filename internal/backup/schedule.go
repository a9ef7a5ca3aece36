package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

// look is how often a schedule looks whether a backup is due.
const look = 30 * time.Second

// Run makes backups until ctx ends.
func (s *Schedule) Run(ctx context.Context) {
	tick := time.NewTicker(min(look, s.Every/4))
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
// kept. What failed is recorded in the ledger, and people are told once until a backup
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
	made, err := s.write(ctx, b.File)
	b.Bytes, b.Commits = made.Bytes, made.Commits
	if err != nil {
		b.Failure = err.Error()
		ctx := context.WithoutCancel(ctx)
		return false, errors.Join(err, s.Ledger.Backups().End(ctx, b), s.tellFailed(ctx, err))
	}
	if err := errors.Join(s.Ledger.Backups().End(context.WithoutCancel(ctx), b), s.tellGood(ctx, b)); err != nil {
		return true, err
	}
	s.Log.Info("backup written", "file", b.File, "bytes", b.Bytes, "commits", b.Commits)
	return true, s.tidy()
}

func (s *Schedule) write(ctx context.Context, file string) (Summary, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return Summary{}, fmt.Errorf("create the folder of backups: %w", err)
	}
	return Write(ctx, s.Ledger, file, s.Passphrase)
}

// ending is how the files of a schedule end, by the time and the id of the backup.
var ending = regexp.MustCompile(`^-\d{8}T\d{6}Z-[A-Z0-9]{12}\.backup$`)

// fileName names the file of a backup: names sort by time.
func (s *Schedule) fileName(b ledger.Backup) string {
	return s.Name + "-" + b.StartedAt.UTC().Format("20060102T150405Z") + "-" + b.ID + ".backup"
}

// tidy deletes the oldest backups of this schedule. Other files are not touched.
func (s *Schedule) tidy() error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fmt.Errorf("delete old backups: %w", err)
	}
	var own []string
	for _, e := range entries {
		rest, is := strings.CutPrefix(e.Name(), s.Name)
		if is && e.Type().IsRegular() && ending.MatchString(rest) {
			own = append(own, e.Name())
		}
	}
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

// tellFailed tells people that a backup failed, once until one succeeds.
func (s *Schedule) tellFailed(ctx context.Context, why error) error {
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

// tellGood tells those who were told of a failure that backups are made again.
func (s *Schedule) tellGood(ctx context.Context, b ledger.Backup) error {
	_, err := s.Ledger.Notifications().Add(ctx, ledger.Notification{
		Kind:    ledger.NotifyBackup,
		Ends:    true,
		Subject: "the backup of ledger " + s.Name + " works again",
		Body:    "A backup was written and checked: " + b.File + ".",
		Path:    "/settings",
	})
	return err
}
