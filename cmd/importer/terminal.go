package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/bulkfiling/bulkfiling/internal/store"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// terminal is the terminal of a command, or the files that take its place.
type terminal struct {
	in io.Reader
	// out receives results.
	out io.Writer
	// err receives progress, questions, and errors.
	err io.Writer
	// live reports whether err is a terminal.
	live   bool
	colors bool

	// lost is the first error of a write of results.
	lost error
}

func newTerminal(in io.Reader, out, err io.Writer, getenv func(string) string) *terminal {
	t := &terminal{in: in, out: out, err: err, live: isTerminal(err)}
	t.colors = t.live && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return t
}

// isTerminal reports whether an input or output is a terminal.
func isTerminal(file any) bool {
	f, ok := file.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// print prints a line of the results.
func (t *terminal) print(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// printJSON prints a JSON line of the results.
func (t *terminal) printJSON(value any) { _ = json.NewEncoder(t).Encode(value) }

// Write writes results. The first error is kept, because a command whose results are lost has failed.
func (t *terminal) Write(p []byte) (int, error) {
	n, err := t.out.Write(p)
	t.lost = cmp.Or(t.lost, err)
	return n, err
}

// say prints a line to stderr, separate from the results.
func (t *terminal) say(format string, args ...any) { fmt.Fprintf(t.err, format+"\n", args...) }

func (t *terminal) color(code, s string) string {
	if !t.colors {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (t *terminal) red(s string) string    { return t.color("31", s) }
func (t *terminal) green(s string) string  { return t.color("32", s) }
func (t *terminal) yellow(s string) string { return t.color("33", s) }
func (t *terminal) bold(s string) string   { return t.color("1", s) }
func (t *terminal) dim(s string) string    { return t.color("2", s) }

// printError prints an error for a person. Errors of the database are replaced by their remedies.
func (t *terminal) printError(err error) {
	message := err.Error()
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(message, w) })
	}
	switch {
	case has("file is not a database", "database disk image is malformed"):
		message = "the ledger is damaged, or the file is not a ledger (" + message + "). Do not delete it: no other " +
			"record says what was ordered. Stop every process, then put the latest backup in its place: importer " +
			"restore BACKUP"
	case has("database or disk is full", "no space left on device"):
		message = "the disk is full. Nothing more can be recorded, so nothing more is sent. Free some space, then " +
			"run the same command again (" + message + ")"
	case isDatabaseDown(err) && store.IsOfDatabase(err):
		recorded := "Everything that was done is recorded"
		if _, lost := errors.AsType[*unrecordedError](err); lost {
			recorded = "Everything else that was done is recorded"
		}
		message = fmt.Sprintf("the database is not responding: %s. %s. Run the same command again later: it resumes, "+
			"and orders nothing twice", store.DownText(err), recorded)
	}
	t.say("%s %s", t.red("importer:"), message)
}

// unrecordedError is the error of a run that could not record answers of the filing service.
type unrecordedError struct{ error }

func (e *unrecordedError) Unwrap() error { return e.error }

// errDeclined is the error for a question that was not answered with yes. Nothing has changed, and
// the same command asks again.
var errDeclined = exit(exitStopped)

// ask asks a yes-or-no question and returns nil for yes. Any other answer and Ctrl-C change nothing.
// unchanged is the text for this case. It does not ask if yes is set.
func (t *terminal) ask(ctx context.Context, yes bool, question, unchanged string) error {
	switch {
	case yes:
		return nil
	case !isTerminal(t.in):
		return errors.New("stdin is not a terminal; use --yes to skip the prompt")
	}
	// A person who types before the question appears has not read it.
	if err := dropTyped(t.in.(*os.File)); err != nil {
		return fmt.Errorf("discard what was typed before the question: %w", err)
	}
	fmt.Fprintf(t.err, "%s [y/N] ", question)
	answer, err := readTyped(ctx, func() (word string, err error) {
		_, err = fmt.Fscanln(t.in, &word)
		return word, err
	})
	answer = strings.ToLower(answer)
	switch {
	case err == nil && (answer == "y" || answer == "yes"):
		return nil
	case ctx.Err() != nil:
		t.say("\n%s", unchanged)
		return ctx.Err()
	}
	t.say("%s Run the same command again to be asked again.", unchanged)
	return errDeclined
}

// askLine asks for a line at the terminal. The line is not shown if hidden is set. The terminal is
// in raw mode before the question appears, so that Ctrl-C always restores it and pasted text is
// never shown. In raw mode Ctrl-C is read as a key.
func (t *terminal) askLine(ctx context.Context, question string, hidden bool) (string, error) {
	fd := int(t.in.(*os.File).Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer term.Restore(fd, before)
	raw := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{t.in, t.err}, question)
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		// The size only affects redrawing.
		_ = raw.SetSize(width, height)
	}
	answer, err := readTyped(ctx, func() (string, error) {
		if hidden {
			return raw.ReadPassword(question)
		}
		return raw.ReadLine()
	})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		fmt.Fprint(t.err, "\r\n")
		return "", &status{code: exitInterrupted, err: errInterrupted}
	}
	return answer, err
}

// readSecret reads a secret from a file, or from stdin if the file is "-".
func (t *terminal) readSecret(ctx context.Context, file string) (string, error) {
	in, name := t.in, "stdin"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("read the secret: %w", err)
		}
		defer f.Close()
		in, name = f, file
	}
	const longest = 4096
	content, err := readTyped(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(in, longest+1)) })
	secret := strings.TrimSpace(string(content))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the secret: %w", err)
	case secret == "":
		return "", fmt.Errorf("read the secret: %s is empty", name)
	case len(content) > longest || strings.ContainsAny(secret, " \t\r\n"):
		return "", fmt.Errorf("read the secret: %s has more than one word", name)
	}
	return secret, nil
}

// readTyped returns the input of a person from read, or the error of ctx as soon as it ends. A read
// of a terminal cannot be interrupted, so it is then abandoned.
func readTyped[T any](ctx context.Context, read func() (T, error)) (value T, err error) {
	done := make(chan struct{})
	var typed T
	var failed error
	go func() {
		typed, failed = read()
		close(done)
	}()
	select {
	case <-ctx.Done():
	case <-done:
		if ctx.Err() == nil {
			return typed, failed
		}
	}
	return value, ctx.Err()
}

// currentUser names the user at the keyboard.
func currentUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown user"
}

// count and countOf format a number and its noun.
var count, countOf = text.Count, text.CountOf

// legible returns foreign text in a form that is safe on a terminal: one line, without control
// characters, and of limited length.
func legible(s string) string { return text.Shorten(text.Line(s), 500) }

// localTime formats a time for the tables.
func localTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// localTimeSeconds formats a time to the second.
func localTimeSeconds(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// localTimeZone formats a time to the second with its zone, for a person who enters it again.
func localTimeZone(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// newTable returns a writer that aligns columns separated by tabs. Flush prints the table. Its error
// is kept by the terminal.
func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// list prints items as a table, or as JSON lines.
type list[T any] struct {
	// empty is printed instead of an empty table.
	empty string
	// columns are the headers, separated by tabs.
	columns string
	cells   func(T) []any
}

func (p list[T]) print(t *terminal, items []T, asJSON bool) {
	switch {
	case asJSON:
		for _, item := range items {
			t.printJSON(item)
		}
		return
	case len(items) == 0:
		t.say("%s", p.empty)
		return
	}
	table := newTable(t)
	fmt.Fprintln(table, p.columns)
	for _, item := range items {
		cells := p.cells(item)
		fmt.Fprintf(table, strings.TrimSuffix(strings.Repeat("%v\t", len(cells)), "\t")+"\n", cells...)
	}
	table.Flush()
}
