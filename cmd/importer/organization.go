package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

func (a *app) organizationCommand() *cobra.Command {
	return groupCommand("org", "Show or change the settings of the organization",
		"org shows the filing service's record of the organization that the API key belongs to.",
		"  importer org get\n  importer org update --reply-to-email filings@firm.example",
		a.organizationGetCommand(), a.organizationUpdateCommand())
}

func (a *app) organizationGetCommand() *cobra.Command {
	return a.showCommand(&cobra.Command{
		Use:     "get",
		Short:   "Show the settings of the organization",
		Example: "  importer org get\n  importer org get --json",
		Args:    cobra.NoArgs,
	}, func(string) error { return nil }, func(ctx context.Context, client *filingapi.Client, _ string) error {
		_, err := client.Organization(ctx)
		return err
	})
}

func (a *app) organizationUpdateCommand() *cobra.Command {
	var o outputFlags
	var change filingapi.OrganizationChange
	var notify filingapi.NotificationsChange
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
			if c.Flags().Changed("signup-key") {
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
			return a.updateOrganization(c.Context(), client, change, o)
		},
	}
	for _, f := range []struct {
		name, meaning string
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
	} {
		c.Flags().Func(f.name, f.meaning, func(value string) error {
			*f.to = &value
			return nil
		})
	}
	for _, f := range []struct {
		name, meaning string
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
	} {
		c.Flags().BoolFunc(f.name, f.meaning, func(value string) error {
			on, err := strconv.ParseBool(value)
			if err != nil {
				return errors.New("use true or false")
			}
			*f.to = &on
			return nil
		})
	}
	c.Flags().StringSliceVar(&keys, "signup-key", nil, "all sign-up keys; repeat it for several")
	o.registerChange(c)
	return c
}

func (a *app) updateOrganization(ctx context.Context, client *filingapi.Client, change filingapi.OrganizationChange,
	o outputFlags) error {
	var answer json.RawMessage
	if _, err := client.Organization(filingapi.KeepBody(ctx, &answer)); err != nil {
		return withAdvice(err)
	}
	rows, err := differences(answer, change)
	if err != nil {
		return err
	}
	changed, err := a.applyChange(ctx, o, recordChange{
		name:  "The organization",
		old:   answer,
		rows:  rows,
		check: "importer org get",
		send: func(ctx context.Context) error {
			_, err := client.UpdateOrganization(filingapi.KeepBody(ctx, &answer), change)
			return err
		},
	})
	if err != nil || !changed {
		return err
	}
	return a.showRecord(o, answer)
}
