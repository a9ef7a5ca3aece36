package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
)

func (a *app) usersCommand() *cobra.Command {
	return family("users", "Show or create a user",
		"Users are the customers of the organization. Each user owns companies. Email\naddresses and phone "+
			"numbers are unique across the filing service.",
		"  importer users get ana@harborlight.example\n  importer users create --name \"Ana Ruiz\" --email "+
			"ana@harborlight.example",
		a.usersGetCommand(), a.usersCreateCommand())
}

func (a *app) usersGetCommand() *cobra.Command {
	var m manner
	c := &cobra.Command{
		Use:     "get USER",
		Short:   "Show a user by ID or email address",
		Example: "  importer users get user_81\n  importer users get ana@harborlight.example --json",
		Args:    one("user: an ID (user_…) or an email address"),
		RunE: func(c *cobra.Command, args []string) error {
			if !filing.IsUserID(args[0]) && !filing.IsEmail(args[0]) {
				return fmt.Errorf("%q is neither a user ID (user_…) nor an email address", args[0])
			}
			return a.read(c.Context(), m, func(ctx context.Context, client *filingapi.Client) error {
				_, err := client.User(ctx, args[0])
				return err
			})
		},
	}
	m.reads(c)
	return c
}

func (a *app) usersCreateCommand() *cobra.Command {
	var m manner
	var user filing.User
	c := &cobra.Command{
		Use:   "create --name NAME --email EMAIL",
		Short: "Create a user unless the email address exists",
		Long: `create looks up the email address first. If the user exists, the user is shown and
nothing is created, so running the command again is safe.`,
		Example: "  importer users create --name \"Ana Ruiz\" --email ana@harborlight.example\n  importer users " +
			"create --name \"Ana Ruiz\" --email ana@harborlight.example --phone +13025550142 --yes --json",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case user.FullName == "" || user.Email == "":
				return usage("give --name and --email")
			case !filing.IsEmail(user.Email):
				return fmt.Errorf("--email: %q is not an email address", user.Email)
			case user.PhoneNumber != "" && !filing.IsE164(user.PhoneNumber):
				return fmt.Errorf("--phone: %q is not a phone number in international form, such as +13025550142",
					user.PhoneNumber)
			}
			client, err := a.service()
			if err != nil {
				return err
			}
			return a.createUser(c.Context(), client, user, m)
		},
	}
	c.Flags().StringVar(&user.FullName, "name", "", "the user's full name")
	c.Flags().StringVar(&user.Email, "email", "", "the user's email address")
	c.Flags().StringVar(&user.PhoneNumber, "phone", "", "the user's phone number, such as +13025550142")
	m.changes(c)
	return c
}

// createUser creates the user whom a look-up does not find. A 409 that a second
// look-up does not explain is about the phone number. Source: spec section 7.
func (a *app) createUser(ctx context.Context, client *filingapi.Client, user filing.User, m manner) error {
	var answer json.RawMessage
	there := func(ctx context.Context) (filing.User, error) {
		return client.User(filingapi.KeepBody(ctx, &answer), user.Email)
	}
	found, err := there(ctx)
	if err == nil {
		a.say("%s", already(found, user))
		return a.show(m, answer)
	}
	if !errors.Is(err, filingapi.ErrNotFound) {
		return unanswered(err)
	}
	rows, err := facts(user)
	if err != nil {
		return err
	}
	if err := a.agreed(ctx, m, "A new user:", rows, "Create this user?"); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // what was sent is waited for
	_, err = client.CreateUser(filingapi.KeepBody(ctx, &answer), user)
	if err == nil {
		a.say("The user was created.")
		return a.show(m, answer)
	}
	conflict, doubt := errors.Is(err, filingapi.ErrConflict), errors.Is(err, filingapi.ErrUncertain)
	if !conflict && !doubt {
		return failed(err, "")
	}
	found, again := there(ctx)
	switch {
	case again == nil && doubt:
		a.say("The answer was lost, but the user exists.")
		return a.show(m, answer)
	case again == nil:
		a.say("%s", already(found, user))
		return a.show(m, answer)
	case doubt && errors.Is(again, filingapi.ErrNotFound):
		return failed(err, "no such user was found. Running the same command again is safe")
	case doubt:
		return failed(err, "the user may have been created. Running the same command again is safe")
	case !errors.Is(again, filingapi.ErrNotFound):
		return unanswered(again)
	case user.PhoneNumber == "":
		return fmt.Errorf(
			"the user %s cannot be created: the email address belongs to a user of another "+
				"organization", user.Email)
	default:
		return fmt.Errorf("the user %s cannot be created: the phone number %s belongs to another user of the filing service",
			user.Email, user.PhoneNumber)
	}
}

// already says that a user is there, and what is not as it was asked for.
func already(found, asked filing.User) string {
	text := fmt.Sprintf("The user %s already exists. Nothing was created.", asked.Email)
	if found.FullName != asked.FullName {
		text += fmt.Sprintf(" The name on file is %q.", found.FullName)
	}
	if asked.PhoneNumber != "" && found.PhoneNumber != asked.PhoneNumber {
		text += fmt.Sprintf(" The phone number on file is %q.", found.PhoneNumber)
	}
	return text
}
