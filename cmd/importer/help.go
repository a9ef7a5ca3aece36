package main

import (
	"fmt"
	"slices"
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

// dailyGroups are the groups of commands on the first page of the help. The other groups are for
// operators.
var dailyGroups = []string{"daily", "batch", "money"}

// setHelp writes the first page of the help, and adds the topics that continue it.
func setHelp(root *cobra.Command) {
	var codes strings.Builder
	for _, exit := range exitMeanings {
		fmt.Fprintf(&codes, "  %-4d %s\n", exit.code, exit.meaning)
	}
	root.SetHelpTemplate(`{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{if .HasParent}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}{{else}}Usage:
  importer [command]

Examples:
{{.Example}}
` + commandList(root, true) + `
Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}

Exit status:
` + codes.String() + `
importer COMMAND --help explains a command. importer help operators lists the other commands,
importer help environment the environment variables.
{{end}}`)
	root.AddCommand(
		&cobra.Command{
			Use:   "operators",
			Short: "List the commands for operators",
			Long: "These commands are for those who run the page, the workers, and the ledger.\n" +
				commandList(root, false),
		},
		&cobra.Command{
			Use:   "environment",
			Short: "List the environment variables",
			Long: "Environment variables win over the settings file of importer setup.\n\n" +
				config.Help(config.Variable{Name: "NO_COLOR", Meaning: "any value turns colors off"}),
		})
}

// commandList lists the commands of the daily groups, or of the others.
func commandList(root *cobra.Command, daily bool) string {
	var b strings.Builder
	for _, group := range root.Groups() {
		if slices.Contains(dailyGroups, group.ID) != daily {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", group.Title)
		for _, c := range root.Commands() {
			if c.GroupID == group.ID {
				fmt.Fprintf(&b, "  %-11s %s\n", c.Name(), c.Short)
			}
		}
	}
	return b.String()
}
