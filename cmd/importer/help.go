package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/config"
)

// exitMeanings are the exit codes in general, in the order of a help text.
var exitMeanings = []struct {
	code    int
	meaning string
}{
	{exitDone, "success"},
	{exitFailed, "the command failed"},
	{exitCorrect, "done, but some rows need correction"},
	{exitStopped, "stopped or declined; rerun to resume"},
	{exitUncertain, "some rows are uncertain; to resolve them: importer resolve"},
	{exitInterrupted, "interrupted; everything is recorded"},
}

// batchExits are the exit codes of the commands that report on a whole batch.
var batchExits = map[int]string{
	exitDone:      "every row is placed, exists, or was skipped",
	exitCorrect:   "",
	exitStopped:   "stopped early (insufficient funds, rejected key, service down, or declined); rerun to resume",
	exitUncertain: "",
}

// ownExits are the exit codes of a command, by its path, that exitCodes does not
// know otherwise, with their meaning if it is not the general one.
var ownExits = map[string]map[int]string{
	"importer run":            batchExits,
	"importer status":         batchExits,
	"importer submit":         {exitDone: "the batch is submitted", exitStopped: batchExits[exitStopped]},
	"importer check":          {exitDone: "no errors", exitCorrect: "some rows need correction"},
	"importer resolve import": {exitCorrect: "some decisions need correction; nothing was changed"},
	"importer documents":      {exitStopped: "some documents could not be fetched; rerun to retry"},
	"importer audit verify": {
		exitDone:   "the ledger is consistent",
		exitFailed: "the ledger is not consistent, or cannot be read",
	},
}

// instant annotates commands that end before they can be interrupted.
var instant = map[string]string{"instant": "yes"}

// exitCodes are the exit codes of a command and their meanings.
func exitCodes(c *cobra.Command) map[int]string {
	own := ownExits[c.CommandPath()]
	codes := make(map[int]string)
	for _, exit := range exitMeanings {
		meaning, listed := own[exit.code]
		switch exit.code {
		case exitDone, exitFailed:
			listed = true
		case exitStopped:
			if c.Flags().Lookup("yes") != nil { // every command that asks has this flag
				listed, meaning = true, cmp.Or(meaning, "declined; nothing was changed")
			}
		case exitInterrupted:
			listed = c.Annotations["instant"] == ""
		}
		if listed {
			codes[exit.code] = cmp.Or(meaning, exit.meaning)
		}
	}
	return codes
}

// exitHelp lists the exit codes of a command, a line each.
func exitHelp(c *cobra.Command) string {
	var b strings.Builder
	codes := exitCodes(c)
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		fmt.Fprintf(&b, "  %-4d %s\n", code, codes[code])
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
