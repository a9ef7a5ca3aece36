package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/config"
)

// exitMeanings are the exit codes, in the order of a help text.
var exitMeanings = []struct {
	code    int
	meaning string
}{
	{exitDone, "success; of a batch: every row is placed, exists, or was skipped"},
	{exitFailed, "the command failed"},
	{exitCorrect, "done, but some rows need correction"},
	{exitStopped, "stopped or declined; rerun to resume"},
	{exitUncertain, "some rows are uncertain; to resolve them: importer resolve"},
	{exitInterrupted, "interrupted; everything is recorded"},
}

// addHelp adds the exit codes to the help of the root command, and the topic of the environment
// variables.
func addHelp(root *cobra.Command) {
	var codes strings.Builder
	for _, exit := range exitMeanings {
		fmt.Fprintf(&codes, "  %-4d %s\n", exit.code, exit.meaning)
	}
	root.SetHelpTemplate(root.HelpTemplate() + "{{if not .HasParent}}\nExit status:\n" + codes.String() + "{{end}}")
	root.AddCommand(&cobra.Command{
		Use:   "environment",
		Short: "Help about the environment variables",
		Long: "Environment variables win over the settings file of importer setup.\n\n" +
			config.Help(config.Variable{Name: "NO_COLOR", Meaning: "any value turns colors off"}),
	})
}
