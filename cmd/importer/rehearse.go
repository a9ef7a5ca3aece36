package main

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/rehearsal"
	"github.com/bulkfiling/bulkfiling/internal/report"
)

// runRehearsal plays a file on a sandbox. It reads no settings, and opens neither the ledger nor the
// filing service.
func runRehearsal(c *cobra.Command, o runOptions, t *terminal, path string) error {
	for _, flag := range []string{"accept-names", "again", "dry-run", "give-up-after", "ledger", "live", "verbose",
		"wait", "yes"} {
		if c.Flags().Changed(flag) {
			return usage("--rehearse and --%s do not go together: a rehearsal has no real orders", flag)
		}
	}
	if name := filepath.Base(o.output); o.output != "" && !strings.Contains(strings.ToLower(name), "rehearsal") {
		return usage(`-o %s: the file name must contain "rehearsal", so that no one takes it for results`, o.output)
	}
	out := &outputFile{
		asked:  o.output,
		input:  path,
		ending: ".rehearsal.xlsx",
		kinds:  []string{".xlsx"},
		ours:   report.IsRehearsal,
	}
	if err := out.check(); err != nil {
		return err
	}
	output, _, err := out.choose()
	if err != nil {
		return err
	}
	o.sheet.Now = time.Now()
	im, err := importer.Open(path, o.sheet)
	if err != nil {
		return err
	}
	defer im.Close()
	t.say("Rehearsal: nothing is sent to the filing service, and nothing is charged.\n%s", im.ColumnSummary())
	playing := t.startPhase("Rehearsing")
	r, err := rehearsal.Play(c.Context(), rehearsal.Config{
		Read:    func(do func(*importer.Import) error) error { return do(im) },
		Output:  output,
		Ordered: playing.at,
	})
	playing.end()
	if c.Context().Err() != nil {
		return &status{exitInterrupted, errors.New("the rehearsal was interrupted. Nothing was filed or charged")}
	}
	if err != nil {
		return err
	}
	for _, note := range im.Notes() {
		t.say("%s", note)
	}
	s := r.Summary
	if o.asJSON {
		t.printJSON(r)
		t.printJSON(s)
	} else {
		s.Output = ""
		t.printLines(s)
		t.print("Rehearsed: %s\n%s\n%s  (a rehearsal: nothing was filed or charged)", r.Played(), t.bold(r.String()),
			output)
	}
	if err := r.Failure(); err != nil {
		return err
	}
	return exit(s.ExitCode())
}
