package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func (a *app) accountsCommand() *cobra.Command {
	return groupCommand("accounts", "Manage accounts for the page",
		`accounts manages who can sign in to the page of `+"`importer serve`"+` and what they can do
there. Roles:

  preparer  uploads spreadsheets and submits them
  approver  approves what was submitted
  operator  looks after money, workers, uncertain rows, schedules and accounts
  auditor   looks at everything, the audit log included, and changes nothing

Every role can view and download the work of all clients. An account without a role
sees only its own sessions.

People sign in with a one-time link, a passkey that they add on the page, or their
company account (OIDC_ISSUER). Links are stored as SHA-256 hashes.`,
		"  importer accounts add ana@example.com --role operator --url https://filings.example.com\n  importer "+
			"accounts link ana@example.com --for 30m",
		a.accountsAddCommand(), a.accountsListCommand(), a.accountsLinkCommand(), a.accountsRolesCommand(),
		a.accountsDisableCommand(true), a.accountsDisableCommand(false))
}

func (a *app) accountsListCommand() *cobra.Command {
	return a.listCommand("accounts list", "List the accounts", "No accounts yet", "account", a.listAccounts)
}

func (a *app) listAccounts(ctx context.Context, l *ledger.Ledger, asJSON bool) error {
	all, err := l.Accounts().List(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		// Encode [] in JSON, not null.
		all[i].Roles = append([]ledger.Role{}, all[i].Roles...)
	}
	return list[ledger.Account]{
		empty:   "No accounts yet. To add one: importer accounts add NAME --role operator",
		columns: "NAME\tROLES\tPASSKEY\tSIGNED IN\tSTATE",
		cells: func(account ledger.Account) []any {
			signedIn, passkey, state := "never", "no", "enabled"
			if !account.SignedInAt.IsZero() {
				signedIn = localTime(account.SignedInAt)
			}
			if account.HasPasskey {
				passkey = "yes"
			}
			if account.Disabled {
				state = "disabled"
			}
			return []any{legible(account.Name), roleText(account.Roles), passkey, signedIn, state}
		},
	}.print(a, all, asJSON)
}

// roleText lists roles for a person.
func roleText(roles []ledger.Role) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r)
	}
	return cmp.Or(strings.Join(words, ", "), "none")
}

// parseRoles parses the names of roles.
func parseRoles(words []string) ([]ledger.Role, error) {
	var roles []ledger.Role
	for _, w := range words {
		if !slices.Contains(ledger.Roles, ledger.Role(w)) {
			return nil, usage("%q is not a role: use one of %s", w, roleText(ledger.Roles))
		}
		roles = append(roles, ledger.Role(w))
	}
	return roles, nil
}

func (a *app) accountsAddCommand() *cobra.Command {
	var words []string
	var base string
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "Add an account and print its one-time sign-in link",
		Long: `add adds an account and prints its first one-time sign-in link. Pass it on with care:
it is not shown again. Without --url and PUBLIC_URL, only the path below the page's
address is printed. For another link: importer accounts link

NAME is a name or an email address. If serve has a mail server (FILING_NOTIFY), people
whose account has an address get further links by email from the sign-in page.`,
		Example: "  importer accounts add ana@example.com --role operator --role preparer --url " +
			"https://filings.example.com\n  importer accounts add leo --role approver",
		Args: one("name"),
		RunE: func(c *cobra.Command, args []string) error {
			roles, err := parseRoles(words)
			if err != nil {
				return err
			}
			page, err := a.pageAddress(base)
			if err != nil {
				return err
			}
			return a.withAnyLedger(c.Context(), func(l *ledger.Ledger) error {
				account, err := l.Accounts().Add(withAudit(c.Context(), "account-add", strings.ToLower(args[0]),
					"roles "+roleText(roles)), args[0], roles)
				if err != nil {
					return err
				}
				fmt.Fprintf(a.out, "Account %s was added with the roles %s.\n", account.Name, roleText(account.Roles))
				if err := a.makeLink(c.Context(), l, account, page, linkLife); err != nil {
					return fmt.Errorf(
						"the account was added, but its sign-in link was not made: %w. To make one: importer "+
							"accounts link %q",
						err, account.Name)
				}
				return nil
			})
		},
	}
	c.Flags().StringSliceVar(&words, "role", nil,
		"preparer, approver, operator, or auditor; repeat it for several")
	c.Flags().StringVar(&base, "url", "", urlUsage)
	return c
}

// accountCommand completes a command about one existing account, its first argument. do gets the
// remaining arguments.
func (a *app) accountCommand(c *cobra.Command,
	do func(ctx context.Context, l *ledger.Ledger, account ledger.Account, args []string) error) *cobra.Command {
	if c.Args == nil {
		c.Args = one("account name (importer accounts list shows them)")
	}
	c.RunE = a.onLedger(func(ctx context.Context, l *ledger.Ledger, args []string) error {
		account, err := l.Accounts().Find(ctx, args[0])
		if errors.Is(err, ledger.ErrNotFound) {
			return fmt.Errorf("there is no account %q (importer accounts list shows them)", args[0])
		}
		if err != nil {
			return err
		}
		return do(ctx, l, account, args[1:])
	})
	return c
}

func (a *app) accountsRolesCommand() *cobra.Command {
	return a.accountCommand(&cobra.Command{
		Use:   "roles NAME ROLE...",
		Short: "Change an account's roles",
		Long: `roles gives an account exactly the roles you name. "none" removes all roles; the
account then sees only its own sessions. The change applies at once, also to people
who are signed in.`,
		Example: "  importer accounts roles ana operator approver\n  importer accounts roles leo none",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("%s takes an account and its roles, or the word none", c.CommandPath())
			}
			return nil
		},
	}, func(ctx context.Context, l *ledger.Ledger, account ledger.Account, words []string) error {
		if len(words) == 1 && words[0] == "none" {
			words = nil
		}
		roles, err := parseRoles(words)
		if err != nil {
			return err
		}
		note := fmt.Sprintf("roles %s, before: %s", roleText(roles), roleText(account.Roles))
		if err := l.Accounts().Change(withAudit(ctx, "account-roles", account.Name, note), account.ID, roles,
			account.Disabled); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "Roles of %s: %s.\n", account.Name, roleText(roles))
		return nil
	})
}

// accountsDisableCommand returns the command that disables an account, or the one that enables it
// again.
func (a *app) accountsDisableCommand(disabled bool) *cobra.Command {
	use, short, said := "enable", "Enable a disabled account", "Account %s is enabled.\n"
	if disabled {
		use, short, said = "disable", "Disable an account and sign it out everywhere", "Account "+
			"%s is disabled and signed out. Its sign-in links no longer work.\n"
	}
	return a.accountCommand(&cobra.Command{
		Use:     use + " NAME",
		Short:   short,
		Example: "  importer accounts " + use + " leo",
	}, func(ctx context.Context, l *ledger.Ledger, account ledger.Account, _ []string) error {
		if err := l.Accounts().Change(withAudit(ctx, "account-"+use, account.Name, ""), account.ID,
			account.Roles, disabled); err != nil {
			return err
		}
		fmt.Fprintf(a.out, said, account.Name)
		return nil
	})
}

// The default and the longest validity of a link.
const (
	linkLife = 24 * time.Hour
	maxLink  = 7 * 24 * time.Hour
)

const urlUsage = "the page's address, such as https://filings.example.com (default: PUBLIC_URL)"

// pageAddress returns the address of the page from --url or PUBLIC_URL. It is empty without both.
func (a *app) pageAddress(asked string) (*url.URL, error) {
	name := "--url"
	if asked == "" {
		name, asked = "PUBLIC_URL", strings.TrimSpace(a.getenv("PUBLIC_URL"))
	}
	if asked == "" {
		return &url.URL{}, nil
	}
	return webAddress(name, asked, "the page's address, such as https://filings.example.com")
}

// webAddress parses an http or https address. what describes the flag or variable for errors.
func webAddress(name, text, what string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, usage("%s must be %s", name, what)
	}
	return u, nil
}

// makeLink creates a one-time sign-in link for an account and prints it. It cannot
// be shown again.
func (a *app) makeLink(ctx context.Context, l *ledger.Ledger, account ledger.Account, page *url.URL,
	life time.Duration) error {
	secret, err := l.Accounts().MakeSignInLink(withAudit(ctx, "account-link", account.Name, "for "+life.String()),
		account.ID, life)
	if errors.Is(err, ledger.ErrSignInLink) {
		return fmt.Errorf("account %s is disabled. To enable it: importer accounts enable %q", account.Name,
			account.Name)
	}
	if err != nil {
		return err
	}
	a.say("One-time sign-in link for %s, valid until %s:", account.Name,
		time.Now().Add(life).Format("2006-01-02 15:04"))
	_, err = fmt.Fprintln(a.out, strings.TrimSuffix(page.String(), "/")+linkPath(secret))
	return err
}

func (a *app) accountsLinkCommand() *cobra.Command {
	var base string
	var life time.Duration
	c := a.accountCommand(&cobra.Command{
		Use:   "link NAME",
		Short: "Make a one-time sign-in link",
		Long: `link prints a link that signs in the owner of an account once. Older links of the
account stop working. Pass it on with care: it is not shown again. Without --url and
PUBLIC_URL, only the path below the page's address is printed.

You and the account count as one person for approvals until its owner signs in with a
passkey or a company account.`,
		Example: "  importer accounts link ana --url https://filings.example.com\n  importer accounts link ana " +
			"--for 30m",
	}, func(ctx context.Context, l *ledger.Ledger, account ledger.Account, _ []string) error {
		if life <= 0 || life > maxLink {
			return usage("--for must be more than 0 and at most %s", maxLink)
		}
		page, err := a.pageAddress(base)
		if err != nil {
			return err
		}
		return a.makeLink(ctx, l, account, page, life)
	})
	c.Flags().StringVar(&base, "url", "", urlUsage)
	c.Flags().DurationVar(&life, "for", linkLife, "how long the link is valid")
	return c
}
