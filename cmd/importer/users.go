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
	return family("users", "Look a user up, or create one",
		"users are the customers of the organization; each owns companies. Their e-mail\naddresses and phone "+
			"numbers are unique across the whole service.",
		"  importer users get ana@harborlight.example\n  importer users create --name \"Ana Ruiz\" --email "+
			"ana@harborlight.example",
		a.usersGetCommand(), a.usersCreateCommand())
}

func (a *app) usersGetCommand() *cobra.Command {
	var m manner
	c := &cobra.Command{
		Use:     "get USER",
		Short:   "Look a user up by id or by e-mail",
		Example: "  importer users get user_81\n  importer users get ana@harborlight.example --json",
		Args:    one("user: an id (user_…) or an e-mail address"),
		RunE: func(c *cobra.Command, args []string) error {
			if !filing.IsUserID(args[0]) && !filing.IsEmail(args[0]) {
				return fmt.Errorf("%q is neither a user id (user_…) nor an e-mail address", args[0])
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
		Short: "Create a user, unless there is one of that e-mail",
		Long: `create looks the e-mail up first: a user who is there already is shown, and none
is created. The same command again is therefore safe.`,
		Example: "  importer users create --name \"Ana Ruiz\" --email ana@harborlight.example\n  importer users " +
			"create --name \"Ana Ruiz\" --email ana@harborlight.example --phone +13025550142 --yes --json",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case user.FullName == "" || user.Email == "":
				return usage("a user needs --name and --email")
			case !filing.IsEmail(user.Email):
				return fmt.Errorf("--email: %q is not an e-mail address", user.Email)
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
	c.Flags().StringVar(&user.Email, "email", "", "the user's e-mail address")
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
		a.say("The answer was lost, and the user is there.")
		return a.show(m, answer)
	case again == nil:
		a.say("%s", already(found, user))
		return a.show(m, answer)
	case doubt && errors.Is(again, filingapi.ErrNotFound):
		return failed(err, "a look-up finds no such user; the same command again is safe, for it looks first")
	case doubt:
		return failed(err, "the user may have been created; the same command again is safe, for it looks first")
	case !errors.Is(again, filingapi.ErrNotFound):
		return unanswered(again)
	case user.PhoneNumber == "":
		return fmt.Errorf(
			"the user %s cannot be created: the e-mail belongs to a user whom the service does not show to this "+
				"organization", user.Email)
	default:
		return fmt.Errorf("the user %s cannot be created: the phone number %s belongs to another user of the service",
			user.Email, user.PhoneNumber)
	}
}

// already says that a user is there, and what is not as it was asked for.
func already(found, asked filing.User) string {
	text := fmt.Sprintf("The user %s is there already; nothing was created.", asked.Email)
	if found.FullName != asked.FullName {
		text += fmt.Sprintf(" The name is %q there.", found.FullName)
	}
	if asked.PhoneNumber != "" && found.PhoneNumber != asked.PhoneNumber {
		text += fmt.Sprintf(" The phone number is %q there.", found.PhoneNumber)
	}
	return text
}
