package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// outputFlags are the flags of a command about a record at the filing service.
type outputFlags struct{ json, yes bool }

// registerJSON adds the flag of a command that shows a record.
func (o *outputFlags) registerJSON(c *cobra.Command) {
	c.Flags().BoolVar(&o.json, "json", false, "print the filing service's answer as one JSON line")
}

// registerChange adds the flags of a command that changes a record.
func (o *outputFlags) registerChange(c *cobra.Command) {
	o.registerJSON(c)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
}

// groupCommand is a command that only has subcommands.
func groupCommand(use, short, long, example string, members ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:     use,
		Short:   short,
		Long:    long,
		Example: example,

		Annotations: instant,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q for %q", args[0], c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(members...)
	return c
}

// one returns the argument check of a command that takes one thing.
func one(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("%s takes one %s", c.CommandPath(), what)
		}
		return nil
	}
}

// service returns a client for the filing service in the environment.
func (a *app) service() (*filingapi.Client, error) {
	env, err := a.environment()
	if err != nil {
		return nil, err
	}
	return env.Client()
}

// showCommand completes a command that shows a record: get asks for it by the
// first argument, which check accepted.
func (a *app) showCommand(c *cobra.Command, check func(name string) error,
	get func(ctx context.Context, client *filingapi.Client, name string) error) *cobra.Command {
	var o outputFlags
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := check(first(args)); err != nil {
			return err
		}
		client, err := a.service()
		if err != nil {
			return err
		}
		var answer json.RawMessage
		if err := get(filingapi.KeepBody(c.Context(), &answer), client, first(args)); err != nil {
			return withAdvice(err)
		}
		return a.showRecord(o, answer)
	}
	o.registerJSON(c)
	return c
}

// field is one value of a record, named by its path in the filing service's
// terms.
type field struct{ name, value string }

// fieldsOf flattens a JSON document, in its own order. A list of plain values is
// one field, and so is an empty list. It returns nothing for a document that is
// not JSON: its reader has reported that.
func fieldsOf(document json.RawMessage) []field {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	fields, err := readFields(dec, "")
	if err != nil {
		return nil
	}
	return fields
}

// readFields reads the fields of one value.
func readFields(dec *json.Decoder, path string) (fields []field, err error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	opening, nested := token.(json.Delim)
	if !nested {
		return []field{{path, plain(token)}}, nil
	}
	var values []string // of a list of plain values
	flat := opening == '['
	for i := 0; dec.More(); i++ {
		name := fmt.Sprintf("%s[%d]", path, i)
		if opening == '{' {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			name = strings.TrimPrefix(path+"."+plain(key), ".")
		}
		inner, err := readFields(dec, name)
		if err != nil {
			return nil, err
		}
		fields = append(fields, inner...)
		if flat = flat && len(inner) == 1 && inner[0].name == name; flat {
			values = append(values, inner[0].value)
		}
	}
	if flat {
		fields = []field{{path, strings.Join(values, ", ")}}
	}
	_, err = dec.Token() // the closing bracket
	return fields, err
}

// plain is a value on one line that cannot steer a terminal.
func plain(v any) string {
	if v == nil {
		return ""
	}
	return text.Line(fmt.Sprint(v))
}

// newTable aligns what is written to it in columns that tabs separate. Flush
// prints it.
func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// showRecord prints an answer of the filing service: unchanged with --json,
// otherwise its fields.
func (a *app) showRecord(o outputFlags, answer json.RawMessage) error {
	if o.json {
		_, err := fmt.Fprintf(a.out, "%s\n", answer)
		return err
	}
	table := newTable(a.out)
	for _, f := range fieldsOf(answer) {
		if f.value != "" {
			fmt.Fprintf(table, "%s\t%s\n", f.name, f.value)
		}
	}
	return table.Flush()
}

// differences lists the fields of a change that differ from the old record, with
// both values.
func differences(old json.RawMessage, change any) ([][]string, error) {
	fields, err := newFields(change)
	if err != nil {
		return nil, err
	}
	before := make(map[string]string)
	for _, f := range fieldsOf(old) {
		before[f.name] = f.value
	}
	var rows [][]string
	for _, f := range fields {
		if was := before[f[0]]; was != f[1] {
			rows = append(rows, []string{f[0], cmp.Or(was, "(empty)"), "->", cmp.Or(f[1], "(empty)")})
		}
	}
	return rows, nil
}

// newFields lists the fields of a new record.
func newFields(v any) ([][]string, error) {
	document, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	var rows [][]string
	for _, f := range fieldsOf(document) {
		rows = append(rows, []string{f.name, f.value})
	}
	return rows, nil
}

// confirmChange shows what is about to change and asks, except with --yes.
func (a *app) confirmChange(ctx context.Context, o outputFlags, what string, rows [][]string, question string) error {
	a.say("%s", what)
	table := newTable(a.err)
	for _, row := range rows {
		fmt.Fprintf(table, "  %s\n", strings.Join(row, "\t"))
	}
	if err := table.Flush(); err != nil || o.yes {
		return err
	}
	return a.confirm(ctx, question, "Nothing was changed.")
}

// recordChange is a change of a record at the filing service.
type recordChange struct {
	name  string          // of the record, as a sentence begins with it
	old   json.RawMessage // the record
	rows  [][]string      // what differences returned
	check string          // the command that shows the record
	send  func(context.Context) error
}

// applyChange shows a change, asks, and sends it. It reports whether it was sent.
func (a *app) applyChange(ctx context.Context, o outputFlags, c recordChange) (bool, error) {
	if len(c.rows) == 0 {
		a.say("Nothing to change.")
		return false, a.showRecord(o, c.old)
	}
	if err := a.confirmChange(ctx, o, c.name+" changes:", c.rows, "Change it?"); err != nil {
		return false, err
	}
	if err := c.send(context.WithoutCancel(ctx)); err != nil {
		return false, changeError(err, "it may have been changed. To check: "+c.check+
			". Running the same command again is safe")
	}
	a.say("%s was changed.", c.name)
	return true, nil
}

// changeError is the error of a call that changes something. advice is for a call
// that may have changed it: it is printed even after a Ctrl-C.
func changeError(err error, advice string) error {
	switch {
	case errors.Is(err, filingapi.ErrUncertain):
		return &status{code: exitFailed, err: fmt.Errorf("%w; %s", err, advice)}
	case err != nil:
		return &status{code: exitFailed, err: withAdvice(err)}
	}
	return nil
}

// withAdvice adds to an error what its reader can do.
func withAdvice(err error) error {
	if errors.Is(err, filingapi.ErrKeyRefused) {
		return fmt.Errorf("%w. Correct FILING_API_KEY", err)
	}
	return err
}
