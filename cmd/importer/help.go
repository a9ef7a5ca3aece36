package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"bulkfiling/internal/config"
)

// exitMeanings are the exit codes in general, in the order of a help text.
var exitMeanings = []struct {
	code    int
	meaning string
}{
	{exitDone, "success"},
	{exitFailed, "the command failed"},
	{exitCorrect, "done, but some rows need correction"},
	{exitStopped, "declined; nothing was changed"},
	{exitUncertain, "some rows are uncertain; to resolve them: importer resolve"},
	{exitInterrupted, "interrupted; everything is recorded"},
}

// ordered are the exit codes of the commands that report on a whole batch.
var ordered = map[int]string{
	exitDone:        "every row is placed, exists, or was skipped",
	exitCorrect:     "",
	exitStopped:     "stopped early (insufficient funds, rejected key, service down, or declined); rerun to resume",
	exitUncertain:   "",
	exitInterrupted: "",
}

// ownExits are the exit codes of a command beyond 0 and 1 by its path, with their
// meaning where it is not the general one. Every command that asks before it
// changes something can end with 3.
var ownExits = map[string]map[int]string{
	"importer run":            ordered,
	"importer status":         ordered,
	"importer submit":         {exitDone: "the batch is submitted", exitStopped: ordered[exitStopped], exitInterrupted: ""},
	"importer check":          {exitDone: "no errors", exitCorrect: "some rows need correction"},
	"importer resolve import": {exitCorrect: "some decisions need correction; nothing was changed"},
	"importer audit verify":   {exitDone: "the ledger is consistent", exitFailed: "the ledger is not consistent, or cannot be read"},
	"importer documents":      {exitInterrupted: ""},
	"importer demo":           {exitInterrupted: ""},
}

// exitHelp lists the exit codes of a command, a line each.
func exitHelp(c *cobra.Command) string {
	own := ownExits[c.CommandPath()]
	var b strings.Builder
	for _, exit := range exitMeanings {
		meaning, listed := own[exit.code]
		asks := exit.code == exitStopped && c.Flags().Lookup("yes") != nil
		if listed || asks || exit.code == exitDone || exit.code == exitFailed {
			fmt.Fprintf(&b, "  %-4d %s\n", exit.code, cmp.Or(meaning, exit.meaning))
		}
	}
	return b.String()
}

// setHelp adds the exit codes of a command to its help, and the environment to
// the help of root.
func setHelp(root *cobra.Command) {
	cobra.AddTemplateFunc("exitHelp", exitHelp)
	root.SetHelpTemplate(`{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}{{if or .HasParent (not .HasSubCommands)}}
Exit status:
{{exitHelp .}}{{end}}{{if not .HasParent}}
Environment:
` + config.Help(config.Variable{Name: "NO_COLOR", Meaning: "any value turns colors off"}) + `{{end}}`)
}
