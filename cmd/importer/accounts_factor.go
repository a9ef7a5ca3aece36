package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func (a *app) accountsBreakGlassCommand() *cobra.Command {
	var off bool
	c := a.accountCommand(&cobra.Command{
		Use:   "break-glass NAME",
		Short: "Let an account sign in while the sign-in provider is down",
		Long: `break-glass lets a local account sign in with its password while the sign-in
provider is down, even if OIDC_ONLY refuses all other passwords. Give the account
the role operator, a long password kept in a safe, and its own second step. Each
sign-in is recorded and sent as a notification.`,
		Example: "  importer accounts add vault --role operator\n  importer accounts password vault\n  importer " +
			"accounts break-glass vault\n  importer accounts break-glass vault --off",
	}, func(ctx context.Context, l *ledger.Ledger, account ledger.Account) error {
		note := "on"
		if off {
			note = "off"
		}
		audited := withAudit(ctx, "account-break-glass", account.Name, note)
		if err := l.Accounts().SetBreakGlass(audited, account.ID, !off); err != nil {
			return err
		}
		switch {
		case off:
			fmt.Fprintf(a.out, "%s is no longer a break-glass account.\n", account.Name)
		case !account.HasPassword:
			fmt.Fprintf(
				a.out, "%s is a break-glass account. It has no password yet. To set one: importer accounts "+
					"password %q\n",
				account.Name, account.Name)
		case !account.May(ledger.Operator):
			fmt.Fprintf(
				a.out, "%s is a break-glass account without the role operator. To add it: importer accounts "+
					"roles %q operator\n",
				account.Name, account.Name)
		default:
			fmt.Fprintf(a.out, "%s is a break-glass account.\n", account.Name)
		}
		return nil
	})
	c.Flags().BoolVar(&off, "off", false, "make it an ordinary account again")
	return c
}

func (a *app) accountsResetFactorsCommand() *cobra.Command {
	return a.accountCommand(&cobra.Command{
		Use:   "reset-factors NAME",
		Short: "Remove the second step of an account whose owner lost it",
		Long: `reset-factors removes the authenticator apps, passkeys, and recovery codes of an
account and signs it out everywhere. The owner then signs in with the password alone
and sets up a new second step. Make sure the request comes from the owner.`,
		Example: "  importer accounts reset-factors ana",
	}, func(ctx context.Context, l *ledger.Ledger, account ledger.Account) error {
		if err := l.Accounts().ResetFactors(withAudit(ctx, "factors-reset", account.Name, ""),
			account.ID); err != nil {
			return err
		}
		_, err := l.Notifications().Add(ctx, ledger.Notification{
			Kind: ledger.NotifyAccess, Subject: "Bulkfiling: the second step of " + account.Name + " was reset",
			Body: currentUser() + " removed the authenticator apps, passkeys and recovery codes of " +
				account.Name + " at the terminal.\n",
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "The second step of %s was removed, and %s was signed out everywhere.\n",
			account.Name, account.Name)
		return nil
	})
}
