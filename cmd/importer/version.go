package main

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/metrics"
)

// versionText is what this program was built from, and for what.
func versionText() string {
	b := metrics.ReadBuild()
	text := cmp.Or(b.Version, "unknown") + "\n"
	if b.Revision != "" {
		text += "commit " + b.Revision
		if b.Modified {
			text += ", with changes"
		}
		text += "\n"
	}
	return text + cmp.Or(b.Go, runtime.Version()) + " " + runtime.GOOS + "/" + runtime.GOARCH
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit, and the platform",
		Example: "  importer version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.out, "importer %s\n", versionText())
			return err
		},
	}
}
