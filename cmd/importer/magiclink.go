package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

func (a *app) magicLinkCommand() *cobra.Command {
	var o outputFlags
	var user, company string
	c := &cobra.Command{
		Use:   "magic-link --user USER --company COMPANY",
		Short: "Make a link that signs a user in to a company's dashboard",
		Long: `magic-link prints a link that signs the user in to the company's dashboard for seven
days. Anyone who has the link can use it, so pass it on with care. It is not stored.`,
		Example: "  importer magic-link --user ana@harborlight.example --company comp_17",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if user == "" || company == "" {
				return usage("give --user and --company")
			}
			client, err := a.service()
			if err != nil {
				return err
			}
			ctx := c.Context()
			userID, err := findUserID(ctx, client, user)
			if err != nil {
				return err
			}
			companyID, err := findCompanyID(ctx, client, company)
			if err != nil {
				return err
			}
			var answer json.RawMessage
			link, err := client.MagicLink(filingapi.KeepBody(ctx, &answer), userID, companyID)
			if err != nil {
				return withAdvice(err)
			}
			if o.json {
				return a.showRecord(o, answer)
			}
			a.say("Valid for seven days. Anyone with this link is signed in as %s:", user)
			_, err = fmt.Fprintln(a.out, plain(link))
			return err
		},
	}
	c.Flags().StringVar(&user, "user", "", "the user: an ID (user_…) or an email address")
	c.Flags().StringVar(&company, "company", "", "the company: an ID (comp_…) or a slug")
	o.registerJSON(c)
	return c
}

// findUserID returns the ID of a user who is named by ID or by email address.
func findUserID(ctx context.Context, client *filingapi.Client, name string) (string, error) {
	if filing.IsUserID(name) {
		return name, nil
	}
	if err := checkUserName(name); err != nil {
		return "", fmt.Errorf("--user: %w", err)
	}
	user, err := client.User(ctx, name)
	if errors.Is(err, filingapi.ErrNotFound) {
		return "", fmt.Errorf(
			"the filing service has no user %s. To create one: importer users create --name NAME --email %s",
			name, name)
	}
	return user.ID, withAdvice(err)
}

// findCompanyID returns the ID of a company that is named by ID or by slug.
func findCompanyID(ctx context.Context, client *filingapi.Client, name string) (string, error) {
	if filing.IsCompanyID(name) {
		return name, nil
	}
	if err := checkCompanyName(name); err != nil {
		return "", err
	}
	company, err := client.Company(ctx, name)
	return company.ID, withAdvice(err)
}

// checkCompanyName refuses what is neither an ID nor a slug.
func checkCompanyName(name string) error {
	if !filing.IsCompanyID(name) && !filing.IsSlug(name) {
		return fmt.Errorf("%q is neither a company ID (comp_…) nor a slug from the company's web address",
			name)
	}
	return nil
}
