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
	"unicode"

	"github.com/spf13/cobra"

	"bulkfiling/internal/filingapi"
)

// manner is how a command of the rest of the service talks.
type manner struct{ json, yes bool }

func (m *manner) reads(c *cobra.Command) {
	c.Flags().BoolVar(&m.json, "json", false, "print the filing service's answer as one JSON line")
}

func (m *manner) changes(c *cobra.Command) {
	m.reads(c)
	c.Flags().BoolVarP(&m.yes, "yes", "y", false, "do not ask")
}

// family is a command that only has subcommands.
func family(use, short, long, example string, members ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:     use,
		Short:   short,
		Long:    long,
		Example: example,
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

// one is the argument check of commands that take one thing.
func one(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("%s takes one %s", c.CommandPath(), what)
		}
		return nil
	}
}

// service makes the client that the environment names.
func (a *app) service() (*filingapi.Client, error) {
	env, err := a.environment()
	if err != nil {
		return nil, err
	}
	return env.Client()
}

// read asks the service and shows its answer.
func (a *app) read(ctx context.Context, m manner, ask func(context.Context, *filingapi.Client) error) error {
	client, err := a.service()
	if err != nil {
		return err
	}
	var answer json.RawMessage
	if err := ask(filingapi.KeepBody(ctx, &answer), client); err != nil {
		return unanswered(err)
	}
	return a.show(m, answer)
}

// field is one fact of a record, by its path in the service's own words.
type field struct{ name, value string }

// fieldsOf takes a JSON document apart, in its own order. A list of plain values
// is one field, and so is an empty one.
func fieldsOf(document json.RawMessage) []field {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var fields []field
	var read func(path string) error
	read = func(path string) error {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'):
			for dec.More() {
				key, err := dec.Token()
				if err != nil {
					return err
				}
				if err := read(strings.TrimPrefix(path+"."+plain(key), ".")); err != nil {
					return err
				}
			}
			_, err = dec.Token()
		case json.Delim('['):
			var list []string
			start, flat := len(fields), true
			for i := 0; dec.More(); i++ {
				at := fmt.Sprintf("%s[%d]", path, i)
				if err := read(at); err != nil {
					return err
				}
				if flat = flat && len(fields) == start+i+1 && fields[start+i].name == at; flat {
					list = append(list, fields[start+i].value)
				}
			}
			if flat {
				fields = append(fields[:start], field{path, strings.Join(list, ", ")})
			}
			_, err = dec.Token()
		default:
			fields = append(fields, field{path, plain(token)})
		}
		return err
	}
	if read("") != nil {
		return nil // no JSON; its reader has said so
	}
	return fields
}

// plain is a value as a terminal shows it: nothing in it can steer one.
func plain(v any) string {
	if v == nil {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, fmt.Sprint(v))
}

// lineUp makes columns of what stands between tabs, once it is flushed.
func lineUp(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// show prints an answer: as it came for a program, taken apart for a person.
func (a *app) show(m manner, answer json.RawMessage) error {
	if m.json {
		_, err := fmt.Fprintf(a.out, "%s\n", answer)
		return err
	}
	table := lineUp(a.out)
	for _, f := range fieldsOf(answer) {
		if f.value != "" {
			fmt.Fprintf(table, "%s\t%s\n", f.name, f.value)
		}
	}
	return table.Flush()
}

// differences are the fields of a change that are not so already, old and new.
func differences(old json.RawMessage, change any) ([][]string, error) {
	document, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("write the change: %w", err)
	}
	before := make(map[string]string)
	for _, f := range fieldsOf(old) {
		before[f.name] = f.value
	}
	var rows [][]string
	for _, f := range fieldsOf(document) {
		if was := before[f.name]; was != f.value {
			rows = append(rows, []string{f.name, cmp.Or(was, "(empty)"), "->", cmp.Or(f.value, "(empty)")})
		}
	}
	return rows, nil
}

// facts are the fields of a new record.
func facts(v any) ([][]string, error) {
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

// agreed shows what is about to be done and asks, unless it was told not to. It
// is nil for a yes.
func (a *app) agreed(ctx context.Context, m manner, what string, rows [][]string, question string) error {
	a.say("%s", what)
	table := lineUp(a.err)
	for _, row := range rows {
		fmt.Fprintf(table, "  %s\n", strings.Join(row, "\t"))
	}
	if err := table.Flush(); err != nil || m.yes {
		return err
	}
	return a.confirm(ctx, question, "Nothing was changed.")
}

// failed is the error of a call that was to change something. advice is for the
// case that it may have: that is told even to somebody who pressed Ctrl-C.
func failed(err error, advice string) error {
	switch {
	case errors.Is(err, filingapi.ErrUncertain):
		return &status{code: exitFailed, err: fmt.Errorf("%w; %s", err, advice)}
	case err != nil:
		return &status{code: exitFailed, err: unanswered(err)}
	}
	return nil
}

// unanswered adds to an error what its reader can do.
func unanswered(err error) error {
	if errors.Is(err, filingapi.ErrKeyRefused) {
		return fmt.Errorf("%w. Correct FILING_API_KEY", err)
	}
	return err
}
