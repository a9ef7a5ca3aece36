package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/notify"
)

func (a *app) notifyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "notify",
		Short: "Test the notifications set with FILING_NOTIFY",
		Long: `FILING_NOTIFY lists notification targets. run, serve, and the workers send one
notification when funds are insufficient or sufficient again, the API key is
rejected, a batch has ended, rows are uncertain, or filings need a correction.

  FILING_NOTIFY=https://hooks.slack.com/services/T…/B…/…    a Slack channel
  FILING_NOTIFY=slack+https://chat.example.com/hooks/…      another server that accepts Slack messages
  FILING_NOTIFY=https://example.com/hook                    {"title":…,"message":…,"kind":…,"batch":…}
  FILING_NOTIFY=smtp://USER:PASSWORD@mail.example.com:587/?from=A@B&to=C@D,E@F
  FILING_NOTIFY_FILE=/run/secrets/notify                    a file with one target on each line
  FILING_NOTIFY_ON=funds,key,uncertain                      only these kinds`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },

		Annotations: instant,
	}
	c.AddCommand(a.notifyTestCommand())
	return c
}

func (a *app) notifyTestCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "test",
		Short:   "Send a test notification to every target",
		Example: "  FILING_NOTIFY=https://example.com/hook importer notify test",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.testNotifications(c) },
	}
}

func (a *app) testNotifications(c *cobra.Command) error {
	env, err := a.environment()
	if err != nil {
		return err
	}
	// Made whole, so that FILING_NOTIFY_ON is tried too.
	if _, err := env.Notifier(nil, nil); err != nil {
		return err
	}
	targets, err := env.NotifyTargets()
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return errors.New("FILING_NOTIFY is not set (see importer notify --help)")
	}
	failed := 0
	for i, err := range notify.Test(c.Context(), targets) {
		if err != nil {
			failed++
			fmt.Fprintf(a.out, "%s  failed: %v\n", targets[i], err)
		} else {
			fmt.Fprintf(a.out, "%s  accepted the test notification\n", targets[i])
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s did not accept the notification", count(failed, "target"))
	}
	return nil
}
