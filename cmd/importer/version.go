package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/metrics"
)

func newVersionCommand(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit, and the platform",
		Example: "  importer version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(g.terminal.out, "importer %s\n", metrics.ReadBuild())
			return err
		},
	}
}
