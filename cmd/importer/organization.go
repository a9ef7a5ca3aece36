package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"bulkfiling/internal/filingapi"
)

func (a *app) organizationCommand() *cobra.Command {
	return family("org", "Show or change the settings of the organization",
		"org shows the filing service's record of the organization that the API key belongs to.",
		"  importer org get\n  importer org update --reply-to-email filings@firm.example",
		a.organizationGetCommand(), a.organizationUpdateCommand())
}

func (a *app) organizationGetCommand() *cobra.Command {
	var m manner
	c := &cobra.Command{
		Use:     "get",
		Short:   "Show the settings of the organization",
		Example: "  importer org get\n  importer org get --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.read(c.Context(), m, func(ctx context.Context, client *filingapi.Client) error {
				_, err := client.Organization(ctx)
				return err
			})
		},
	}
	m.reads(c)
	return c
}

func (a *app) organizationUpdateCommand() *cobra.Command {
	var m manner
	var change filingapi.OrganizationChange
	var notify filingapi.NotificationsChange
	texts := []struct {
		flag, meaning string
		to            **string
	}{
		{"name", "the organization's name", &change.Name},
		{"domain", "its domain", &change.Domain},
		{"subdomain", "its subdomain", &change.Subdomain},
		{"logo-url", "the address of its logo", &change.LogoURL},
		{"icon-url", "the address of its icon", &change.IconURL},
		{"website-url", "the address of its website", &change.WebsiteURL},
		{"primary-color", "branding, such as #14532d", &change.PrimaryColor},
		{"primary-text-color", "branding", &change.PrimaryTextColor},
		{"surface-color", "branding", &change.SurfaceColor},
		{"surface-text-color", "branding", &change.SurfaceTextColor},
		{"reply-to-email", "the address for replies from users", &change.ReplyToEmail},
		// Assumption: values besides admin are not shown; any text is sent.
		{"billed-users", "who is billed, such as admin", &change.BilledUsers},
	}
	switches := []struct {
		flag, meaning string
		to            **bool
	}{
		{"invoiced-enabled", "send invoices", &change.InvoicedEnabled},
		{"show-prices", "show prices to users", &change.ShowPrices},
		{"signup-disabled", "turn sign-up off", &change.SignupDisabled},
		{"support-chat-enabled", "offer users a support chat", &change.SupportChatEnabled},
		{"document-uploaded-email", "email users about documents", &notify.DocumentUploadedEmail},
		{"filing-status-email", "email users about filing status", &notify.FilingStatusEmail},
		{"annual-report-reminder-email", "email users annual report reminders", &notify.AnnualReportReminderEmail},
		{"payment-completed-email", "email users about payments", &notify.PaymentCompletedEmail},
	}
	var keys []string
	c := &cobra.Command{
		Use:   "update --FIELD VALUE ...",
		Short: "Change settings of the organization",
		Long: "update changes only the settings you give. Turn a setting on with --show-prices and\noff with " +
			"--show-prices=false.",
		Example: `  importer org update --reply-to-email filings@firm.example --show-prices=false
  importer org update --signup-key spring-2027 --yes --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			flags := c.Flags()
			for _, t := range texts {
				if flags.Changed(t.flag) {
					v, _ := flags.GetString(t.flag)
					*t.to = &v
				}
			}
			for _, s := range switches {
				if flags.Changed(s.flag) {
					v, _ := flags.GetBool(s.flag)
					*s.to = &v
				}
			}
			if flags.Changed("signup-key") {
				change.SignupKeys = &keys
			}
			if notify != (filingapi.NotificationsChange{}) {
				change.Notifications = &notify
			}
			if change == (filingapi.OrganizationChange{}) {
				return usage("give a setting to change, such as --name NAME")
			}
			client, err := a.service()
			if err != nil {
				return err
			}
			return a.updateOrganization(c.Context(), client, change, m)
		},
	}
	for _, t := range texts {
		c.Flags().String(t.flag, "", t.meaning)
	}
	for _, s := range switches {
		c.Flags().Bool(s.flag, false, s.meaning)
	}
	c.Flags().StringSliceVar(&keys, "signup-key", nil, "all sign-up keys; repeat it for several")
	m.changes(c)
	return c
}

func (a *app) updateOrganization(ctx context.Context, client *filingapi.Client, change filingapi.OrganizationChange,
	m manner) error {
	var answer json.RawMessage
	if _, err := client.Organization(filingapi.KeepBody(ctx, &answer)); err != nil {
		return unanswered(err)
	}
	rows, err := differences(answer, change)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		a.say("Nothing to change.")
		return a.show(m, answer)
	}
	if err := a.agreed(ctx, m, "The organization changes:", rows, "Change it?"); err != nil {
		return err
	}
	_, err = client.UpdateOrganization(filingapi.KeepBody(context.WithoutCancel(ctx), &answer), change)
	if err != nil {
		return failed(err, "it may have been changed. To check: importer org get. Running the same command again is safe")
	}
	a.say("The organization was changed.")
	return a.show(m, answer)
}
