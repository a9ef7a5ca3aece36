package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/metrics"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit, and the platform",
		Example: "  importer version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.out, "importer %s\n", metrics.ReadBuild())
			return err
		},
	}
}
