//go:build man

package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// A release is built with the man pages of a build with the tag man: their generator
// is in no program that users have.
func init() {
	releaseCommands = append(releaseCommands, func(a *app) *cobra.Command {
		return &cobra.Command{
			Use:    "man FOLDER",
			Short:  "Write the man pages",
			Hidden: true,
			Args:   cobra.ExactArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				root := c.Root()
				root.DisableAutoGenTag = true
				return doc.GenManTree(root, &doc.GenManHeader{Source: "Bulkfiling", Manual: "Bulkfiling"}, args[0])
			},
		}
	})
}
