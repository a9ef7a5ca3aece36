package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"bulkfiling/internal/ledger"
)

func (a *app) accountsBreakGlassCommand() *cobra.Command {
	var off bool
	c := &cobra.Command{
		Use:   "break-glass NAME",
		Short: "Let an account sign in when the sign-in provider is down",
		Long: `break-glass lets a local account sign in by its password when the sign-in provider
is down, and when OIDC_ONLY keeps all other passwords out. Give it the role operator,
a long password that is kept in a safe, and a second step of its own. Each sign-in is
recorded and everybody who is notified is told of it.`,
		Example: "  importer accounts add vault --role operator\n  importer accounts password vault\n  importer " +
			"accounts break-glass vault\n  importer accounts break-glass vault --off",
		Args: anAccount,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withAccount(c.Context(), args[0], func(l *ledger.Ledger, account ledger.Account) error {
				note := "on"
				if off {
					note = "off"
				}
				if err := l.Accounts().SetBreakGlass(acting(c.Context(), "account-break-glass", account.Name, note), account.ID,
					!off); err != nil {
					return err
				}
				switch {
				case off:
					fmt.Fprintf(a.out, "%s is not a break-glass account any more.\n", account.Name)
				case !account.HasPassword:
					fmt.Fprintf(
						a.out, "%s is a break-glass account. It has no password yet: importer accounts password %q\n",
						account.Name, account.Name)
				case !account.May(ledger.Operator):
					fmt.Fprintf(
						a.out, "%s is a break-glass account. It is no operator: importer accounts roles %q operator\n",
						account.Name, account.Name)
				default:
					fmt.Fprintf(a.out, "%s is a break-glass account.\n", account.Name)
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&off, "off", false, "take it back")
	return c
}

func (a *app) accountsResetFactorsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reset-factors NAME",
		Short: "Remove the second step of an account whose owner has lost it",
		Long: `reset-factors removes the authenticator apps, passkeys and recovery codes of an
account, and signs it out everywhere. Its owner signs in by the password alone then,
and sets a second step up anew. Make sure that it is the owner who asks.`,
		Example: "  importer accounts reset-factors ana",
		Args:    anAccount,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withAccount(c.Context(), args[0], func(l *ledger.Ledger, account ledger.Account) error {
				if err := l.Accounts().ResetFactors(acting(c.Context(), "factors-reset", account.Name, ""),
					account.ID); err != nil {
					return err
				}
				_, err := l.Notifications().Add(c.Context(), ledger.Notification{
					Kind: ledger.NotifyAccess, Subject: "Bulkfiling: the second step of " + account.Name + " was reset",
					Body: person() + " removed the authenticator apps, passkeys and recovery codes of " +
						account.Name + " at the terminal.\n",
				})
				if err != nil {
					return err
				}
				fmt.Fprintf(a.out, "The second step of %s is removed, and %s is signed out everywhere.\n",
					account.Name, account.Name)
				return nil
			})
		},
	}
}
