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

func (a *app) usersCommand() *cobra.Command {
	return groupCommand("users", "Show or create a user",
		"Users are the customers of the organization. Each user owns companies. Email\naddresses and phone "+
			"numbers are unique across the filing service.",
		"  importer users get ana@harborlight.example\n  importer users create --name \"Ana Ruiz\" --email "+
			"ana@harborlight.example",
		a.usersGetCommand(), a.usersCreateCommand())
}

func (a *app) usersGetCommand() *cobra.Command {
	return a.showCommand(&cobra.Command{
		Use:     "get USER",
		Short:   "Show a user by ID or email address",
		Example: "  importer users get user_81\n  importer users get ana@harborlight.example --json",
		Args:    one("user: an ID (user_…) or an email address"),
	}, checkUserName, func(ctx context.Context, client *filingapi.Client, name string) error {
		_, err := client.User(ctx, name)
		return err
	})
}

// checkUserName refuses what is neither an ID nor an email address.
func checkUserName(name string) error {
	if !filing.IsUserID(name) && !filing.IsEmail(name) {
		return fmt.Errorf("%q is neither a user ID (user_…) nor an email address", name)
	}
	return nil
}

func (a *app) usersCreateCommand() *cobra.Command {
	var o outputFlags
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
			return a.createUser(c.Context(), client, user, o)
		},
	}
	c.Flags().StringVar(&user.FullName, "name", "", "the user's full name")
	c.Flags().StringVar(&user.Email, "email", "", "the user's email address")
	c.Flags().StringVar(&user.PhoneNumber, "phone", "", "the user's phone number, such as +13025550142")
	o.registerChange(c)
	return c
}

// createUser creates a user, unless a lookup finds the email address. If the
// filing service reports a conflict that a second lookup does not explain, the
// phone number is taken. Source: spec section 7.
func (a *app) createUser(ctx context.Context, client *filingapi.Client, user filing.User, o outputFlags) error {
	var answer json.RawMessage
	find := func(ctx context.Context) (filing.User, error) {
		return client.User(filingapi.KeepBody(ctx, &answer), user.Email)
	}
	found, err := find(ctx)
	if err == nil {
		a.say("%s", existsText(found, user))
		return a.showRecord(o, answer)
	}
	if !errors.Is(err, filingapi.ErrNotFound) {
		return withAdvice(err)
	}
	rows, err := newFields(user)
	if err != nil {
		return err
	}
	if err := a.confirmChange(ctx, o, "A new user:", rows, "Create this user?"); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the answer to a request that was sent is awaited
	_, err = client.CreateUser(filingapi.KeepBody(ctx, &answer), user)
	if err == nil {
		a.say("The user was created.")
		return a.showRecord(o, answer)
	}
	uncertain := errors.Is(err, filingapi.ErrUncertain)
	if !uncertain && !errors.Is(err, filingapi.ErrConflict) {
		return changeError(err, "")
	}
	found, lookup := find(ctx)
	switch {
	case lookup == nil && uncertain:
		a.say("The answer was lost, but the user exists.")
		return a.showRecord(o, answer)
	case lookup == nil:
		a.say("%s", existsText(found, user))
		return a.showRecord(o, answer)
	case uncertain && errors.Is(lookup, filingapi.ErrNotFound):
		return changeError(err, "no such user was found. Running the same command again is safe")
	case uncertain:
		return changeError(err, "the user may have been created. Running the same command again is safe")
	case !errors.Is(lookup, filingapi.ErrNotFound):
		return withAdvice(lookup)
	case user.PhoneNumber == "":
		return fmt.Errorf("the user %s cannot be created: the email address belongs to a user of another organization",
			user.Email)
	default:
		return fmt.Errorf(
			"the user %s cannot be created: the phone number %s belongs to another user of the filing service",
			user.Email, user.PhoneNumber)
	}
}

// existsText says that a user exists, and how the record differs from the request.
func existsText(found, asked filing.User) string {
	text := fmt.Sprintf("The user %s already exists. Nothing was created.", asked.Email)
	if found.FullName != asked.FullName {
		text += fmt.Sprintf(" The name on file is %q.", found.FullName)
	}
	if asked.PhoneNumber != "" && found.PhoneNumber != asked.PhoneNumber {
		text += fmt.Sprintf(" The phone number on file is %q.", found.PhoneNumber)
	}
	return text
}
