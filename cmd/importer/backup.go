package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bulkfiling/bulkfiling/internal/backup"
	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/secret"
)

// backupLine is what backup and restore print with --json.
type backupLine struct {
	File      string    `json:"file"`
	At        time.Time `json:"at"` // of the ledger in the file
	Schema    int64     `json:"schema"`
	Commits   int64     `json:"commits"`
	Batches   int64     `json:"batches"`
	Rows      int       `json:"rows"`
	Purchases int       `json:"purchases"`
	Bytes     int64     `json:"bytes"`
	Encrypted bool      `json:"encrypted"`
	SealKey   bool      `json:"sealKey"` // the sealing key is in the file

	Uncertain *int     `json:"uncertain,omitempty"` // restore: rows that were being sent at the backup
	Kept      string   `json:"kept,omitempty"`      // restore: where the former ledger is
	Schedules []string `json:"pausedSchedules,omitempty"`
}

func lineOf(s backup.Summary) backupLine {
	return backupLine{
		File:      s.File,
		At:        s.At,
		Schema:    s.Schema,
		Commits:   s.Commits,
		Batches:   s.Batches,
		Rows:      s.Rows,
		Purchases: s.Purchases,
		Bytes:     s.Bytes,
		Encrypted: s.Encrypted,
		SealKey:   s.Keys,
	}
}

func (a *app) backupCommand() *cobra.Command {
	var encrypt, asJSON bool
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the whole ledger to one file",
		Long: `backup writes the ledger to a new file while workers and the page keep running, reads
the file back, and checks it like importer audit verify. The file is the same for SQLite
and PostgreSQL, and restore reads it into either.

In the file: batches, rows, orders, the balance, companies, uploads, spreadsheets,
schedules, events, accounts, and settings of the firm. Not in the file: sessions, sign-in
links, documents that were downloaded, the settings file, and API keys.

Social Security numbers, uploads, and signing secrets stay sealed in the file. An
encrypted backup includes the sealing key of the data folder. An unencrypted one does
not: keep a copy of sealing.key in another place. FILING_SEAL_KEY is never included.

With FILING_BACKUP_PASSPHRASE every backup is encrypted. --encrypt asks for a
passphrase. A lost passphrase cannot be recovered. To decrypt a file without this
program: age --decrypt FILE | tar xz`,
		Example: `  importer backup ledger.backup --encrypt
  FILING_BACKUP_PASSPHRASE_FILE=/run/secrets/backup importer backup /backups/ledger.backup --json`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withLedgerUnchanged(c.Context(), func(l *ledger.Ledger) error {
				return a.backup(c.Context(), l, args[0], encrypt, asJSON)
			})
		},
	}
	c.Flags().BoolVar(&encrypt, "encrypt", false, "ask for a passphrase, and encrypt the backup with it")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON line")
	return c
}

func (a *app) backup(ctx context.Context, l *ledger.Ledger, name string, encrypt, asJSON bool) error {
	file, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s: %w; name another one", name, backup.ErrExists)
	}
	passphrase := a.env.Backups.Passphrase
	if passphrase.IsEmpty() && encrypt {
		if passphrase, err = a.askPassphrase(ctx, "Passphrase: ", "Repeat the passphrase: "); err != nil {
			return err
		}
	}
	b, err := l.Backups().Begin(withAudit(ctx, "backup", "", filepath.Base(file)), ledger.Backup{
		File:      file,
		Encrypted: !passphrase.IsEmpty(),
	})
	if err != nil {
		return err
	}
	s, err := backup.Write(ctx, l, file, passphrase)
	if err != nil {
		b.Failure = err.Error()
		return errors.Join(err, l.Backups().End(context.WithoutCancel(ctx), b))
	}
	b.Bytes, b.Commits = s.Bytes, s.Commits
	if err := l.Backups().End(context.WithoutCancel(ctx), b); err != nil {
		return err
	}
	a.sayKeys(s)
	if asJSON {
		return json.NewEncoder(a.out).Encode(lineOf(s))
	}
	fmt.Fprintf(a.out, "Backup written and checked: %s (%s).\n", name, describe(s))
	return nil
}

// describe says what is in a backup.
func describe(s backup.Summary) string {
	form := "not encrypted"
	if s.Encrypted {
		form = "encrypted"
	}
	return fmt.Sprintf("%s, %s, %s, as of %s, schema %d, %s", countOf(int(s.Batches), "batch", "batches"),
		count(s.Rows, "row"), count(s.Purchases, "purchase"), localTimeZone(s.At), s.Schema, form)
}

// sayKeys warns of sealed values that the file alone does not open.
func (a *app) sayKeys(s backup.Summary) {
	if s.Sealed > s.Closed && !s.Keys {
		a.say("%s The sealing key is not in the backup, and without it %s not open after a restore: Social Security "+
			"numbers, uploads, company lists, and signing secrets. Keep a copy of sealing.key or FILING_SEAL_KEY in "+
			"another place, or encrypt the backup.", a.paint.yellow("Warning:"),
			countOf(s.Sealed-s.Closed, "sealed value does", "sealed values do"))
	}
	if s.Closed > 0 {
		a.say("%s %s already lost: no key here opens them.", a.paint.yellow("Warning:"),
			countOf(s.Closed, "sealed value is", "sealed values are"))
	}
}

// askPassphrase asks for a passphrase without showing it, once for each question.
func (a *app) askPassphrase(ctx context.Context, questions ...string) (secret.Value, error) {
	var none secret.Value
	if !a.terminal(a.in) {
		return none, errors.New(
			"stdin is not a terminal; set FILING_BACKUP_PASSPHRASE or FILING_BACKUP_PASSPHRASE_FILE")
	}
	fd := int(a.in.(*os.File).Fd())
	before, err := term.MakeRaw(fd) // Ctrl-C at any moment restores it: it is read as a key
	if err != nil {
		return none, fmt.Errorf("read the passphrase: %w", err)
	}
	defer term.Restore(fd, before)
	terminal := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{a.in, a.err}, "")
	var typed string
	for i, question := range questions {
		line, err := readTyped(ctx, func() (string, error) { return terminal.ReadPassword(question) })
		switch {
		case ctx.Err() != nil || errors.Is(err, io.EOF):
			fmt.Fprint(a.err, "\r\n")
			return none, &status{code: exitInterrupted, err: errInterrupted}
		case err != nil:
			return none, fmt.Errorf("read the passphrase: %w", err)
		case line == "":
			return none, errors.New("the passphrase is empty")
		case i > 0 && line != typed:
			return none, errors.New("the passphrases differ")
		}
		typed = line
	}
	return secret.New(typed), nil
}

// restoreFlags are the options of restore.
type restoreFlags struct{ yes, json, withoutKeys bool }

func (a *app) restoreCommand() *cobra.Command {
	var f restoreFlags
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace the ledger with the one of a backup; nothing is sent until you resolve its rows",
		Long: `restore reads a backup into a new ledger, checks it, and puts it in the place of the
current one. The current ledger is kept: in a folder before_restore_… of the data folder,
or in a PostgreSQL schema of that name. If anything fails, nothing is changed. Stop every
worker, serve and run first.

Orders that were placed after the backup are not in it. Sent again, they would be bought
twice. So the restored ledger starts halted: nothing is sent, rows that were being sent
at the backup are uncertain, and schedules are paused. A process that was running before
the restore can no longer send orders.

Next: submit again every file that was submitted after the backup, then run
importer resolve restored. It marks the ready rows as uncertain. Events, the dashboard,
or you resolve them. Files that are submitted later are held until you check them. The
page leads through the same steps under Restore.`,
		Example: `  importer restore ledger.backup
  importer restore ledger.backup --yes --json
  importer resolve restored`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error { return a.restore(c.Context(), args[0], f) },
	}
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&f.json, "json", false, "print the result as one JSON line")
	c.Flags().BoolVar(&f.withoutKeys, "without-seal-key", false,
		"restore although no key opens some sealed values, which are lost")
	return c
}

func (a *app) restore(ctx context.Context, name string, f restoreFlags) error {
	env, err := a.environment()
	if err != nil {
		return err
	}
	archive, err := a.openBackup(ctx, name, env.Backups.Passphrase)
	if err != nil {
		return err
	}
	defer archive.Close()
	chosen, err := a.chooseLedger(ctx, &env)
	if err != nil {
		return err
	}
	at, err := env.Location()
	if err != nil {
		return err
	}
	if err := a.checkOwner(ctx, archive, env, at); err != nil {
		return err
	}
	if err := ledger.CheckUnused(ctx, at); err != nil {
		return err
	}
	s := archive.Header.Snapshot
	a.say("Backup of %s, made by %s. It replaces the ledger %s (%s). If that ledger exists, it is kept beside it.",
		localTimeZone(s.At), archive.Header.Program, chosen.Name, chosen.Path)
	a.say("Orders placed after the backup are not in it. Nothing is sent until you resolve its rows.")
	if !f.yes {
		if err := a.confirm(ctx, "Restore it?", "Nothing was changed."); err != nil {
			return err
		}
	}
	file, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // empty if it is not known
	done, err := backup.Restore(ctx, archive, at, f.withoutKeys,
		ledger.Restore{By: currentUser(), Host: host, File: file})
	switch {
	case errors.Is(err, backup.ErrKeys):
		return fmt.Errorf("%w. Put the key that sealed them behind the current one in sealing.key or FILING_SEAL_KEY, "+
			"or accept the loss with --without-seal-key. Nothing was changed", err)
	case err != nil:
		return fmt.Errorf("%w. Nothing was changed", err)
	}
	done.File = name
	return a.showRestored(done, f.json)
}

// openBackup opens a backup, and asks for its passphrase if there is none.
func (a *app) openBackup(ctx context.Context, name string, passphrase secret.Value) (*backup.Archive, error) {
	encrypted, err := backup.IsEncrypted(name)
	if err != nil {
		return nil, err
	}
	if encrypted && passphrase.IsEmpty() {
		if passphrase, err = a.askPassphrase(ctx, "Passphrase: "); err != nil {
			return nil, err
		}
	}
	return backup.Open(name, passphrase)
}

// checkOwner refuses a backup of another filing account than that of the ledger.
func (a *app) checkOwner(ctx context.Context, archive *backup.Archive, env config.Environment,
	at ledger.Location) error {
	mode, known := env.Owner()
	if err := archive.Header.Snapshot.CheckOwner(mode, known); err != nil {
		return fmt.Errorf("%w. Nothing was changed", err)
	}
	mode, known, err := ledger.Owner(ctx, at)
	if err != nil {
		a.say("%s The current ledger cannot be read (%v). It is kept as it is.", a.paint.yellow("Warning:"), err)
		return nil
	}
	if err := archive.Header.Snapshot.CheckOwner(mode, known); err != nil {
		return fmt.Errorf("%w. Nothing was changed", err)
	}
	return nil
}

func (a *app) showRestored(done backup.Restored, asJSON bool) error {
	if done.Closed > 0 {
		a.say("%s %s lost: no key opens them.", a.paint.yellow("Warning:"),
			countOf(done.Closed, "sealed value is", "sealed values are"))
	}
	if asJSON {
		line := lineOf(done.Summary)
		line.Uncertain, line.Kept, line.Schedules = &done.Uncertain, done.Kept, done.Schedules
		return json.NewEncoder(a.out).Encode(line)
	}
	fmt.Fprintf(a.out, "Restored: %s.\n", describe(done.Summary))
	if done.Kept != "" {
		fmt.Fprintf(a.out, "The former ledger is kept: %s\n", done.Kept)
	}
	if done.Uncertain > 0 {
		fmt.Fprintf(a.out, "%s being sent at the backup and %s uncertain now.\n",
			countOf(done.Uncertain, "row was", "rows were"), countOf(done.Uncertain, "is", "are"))
	}
	for _, name := range done.Schedules {
		fmt.Fprintf(a.out, "Schedule %s is paused.\n", name)
	}
	fmt.Fprintf(a.out, `Nothing is sent. Next:
  1. Submit again every file that was submitted after %s: importer submit FILE
  2. importer resolve restored
  3. importer resolve
  4. When every file of that time is here: importer resolve restored --end-check
Or follow the steps on the page, under Restore.
`, localTimeZone(done.At))
	return nil
}

// makeBackups makes the scheduled backups, if a folder is set for them.
func (p *page) makeBackups(ctx context.Context) {
	b := p.env.Backups
	if b.Dir == "" || p.sample != nil {
		return
	}
	s := backup.Schedule{
		Ledger:     p.ledger,
		Name:       p.env.LedgerName(),
		Dir:        b.Dir,
		Every:      b.Every,
		Keep:       b.Keep,
		Passphrase: b.Passphrase,
		Log:        p.log,
	}
	s.Run(ctx)
}
