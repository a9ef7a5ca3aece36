package main

import (
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
			g.terminal.print("importer %s", metrics.ReadBuild())
			return nil
		},
	}
}
