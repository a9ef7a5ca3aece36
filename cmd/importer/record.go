package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

// groupCommand returns a command that only has subcommands.
func groupCommand(use, short, long, example string, members ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:     use,
		Short:   short,
		Long:    long,
		Example: example,

		Annotations: map[string]string{"group": ""},
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

// service returns a client for the filing service in the environment.
func (a *app) service() (*filingapi.Client, error) {
	env, err := a.environment()
	if err != nil {
		return nil, err
	}
	return env.Client()
}

// newTable returns a writer that aligns columns separated by tabs. Flush prints the table.
func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// confirmChange shows the planned change and asks, except with --yes.
func (a *app) confirmChange(ctx context.Context, yes bool, what string, rows [][]string, question string) error {
	a.say("%s", what)
	table := newTable(a.err)
	for _, row := range rows {
		fmt.Fprintf(table, "  %s\n", strings.Join(row, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return a.ask(ctx, yes, question, "Nothing was changed.")
}

// changeError returns the error of a call that changes data at the filing service. advice is for a
// call with an unknown result, and is printed even after a Ctrl-C.
func changeError(err error, advice string) error {
	switch {
	case errors.Is(err, filingapi.ErrUncertain):
		return &status{code: exitFailed, err: fmt.Errorf("%w; %s", err, advice)}
	case err != nil:
		return &status{code: exitFailed, err: withAdvice(err)}
	}
	return nil
}

// withAdvice adds the remedy to an error.
func withAdvice(err error) error {
	if errors.Is(err, filingapi.ErrKeyRefused) {
		return fmt.Errorf("%w. Correct FILING_API_KEY", err)
	}
	return err
}
