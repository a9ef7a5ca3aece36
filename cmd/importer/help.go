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

// setHelp adds the exit codes and the environment to the help of root.
func setHelp(root *cobra.Command) {
	var codes strings.Builder
	for _, exit := range exitMeanings {
		fmt.Fprintf(&codes, "  %-4d %s\n", exit.code, exit.meaning)
	}
	root.SetHelpTemplate(`{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}{{if not .HasParent}}
Exit status:
` + codes.String() + `
Environment:
` + config.Help(config.Variable{Name: "NO_COLOR", Meaning: "any value turns colors off"}) + `{{end}}`)
}
