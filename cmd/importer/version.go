package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/metrics"
)

// versionLine is what this program was built from, and for what.
type versionLine struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // where it was built from a checkout
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readVersion() versionLine {
	b := metrics.ReadBuild()
	return versionLine{
		Version:  cmp.Or(b.Version, "unknown"),
		Commit:   b.Revision,
		Modified: b.Modified,
		Go:       cmp.Or(b.Go, runtime.Version()),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

func (v versionLine) String() string {
	text := v.Version + "\n"
	if v.Commit != "" {
		text += "commit " + v.Commit
		if v.Modified {
			text += ", with changes"
		}
		text += "\n"
	}
	return text + v.Go + " " + v.Platform
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit, and the platform",
		Example: "  importer version\n  importer version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return json.NewEncoder(a.out).Encode(readVersion())
			}
			_, err := fmt.Fprintf(a.out, "importer %s\n", readVersion())
			return err
		},

		Annotations: instant,
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON line")
	return c
}
