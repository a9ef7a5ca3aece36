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

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func newAccountsCommand(g *global) *cobra.Command {
	return newGroupCommand("accounts", "Manage accounts for the page",
		`accounts manages who can sign in to the page of `+"`importer serve`"+` and what they can do
there. Roles:

  preparer  uploads spreadsheets and submits them
  approver  approves what was submitted
  operator  looks after money, workers, uncertain rows, schedules and accounts
  auditor   looks at everything, the audit log included, and changes nothing

Every role can view and download the work of all clients. An account without a role
sees only how it signs in.

People sign in with a one-time link, a passkey that they add on the page, or their
company account (OIDC_ISSUER). Links are stored as SHA-256 hashes.`,
		"  importer accounts add ana@example.com --role operator --url https://filings.example.com\n  importer "+
			"accounts link ana@example.com --for 30m",
		newAccountsAddCommand(g), newAccountsLinkCommand(g), newAccountsRolesCommand(g),
		newListCommand(g, "accounts list", "List the accounts", "No accounts yet", "account", runAccountsList),
		newAccountsStateCommand(g, "disable", "Disable an account and sign it out everywhere",
			"disabled and signed out. Its sign-in links no longer work.", true),
		newAccountsStateCommand(g, "enable", "Enable a disabled account", "enabled.", false))
}

func runAccountsList(ctx context.Context, t *terminal, l *ledger.Ledger, asJSON bool) error {
	all, err := l.Accounts().List(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		// Encode [] in JSON, not null.
		all[i].Roles = append([]account.Role{}, all[i].Roles...)
	}
	list[account.Account]{
		empty:   "No accounts yet. To add one: importer accounts add NAME --role operator",
		columns: "NAME\tROLES\tPASSKEY\tSIGNED IN\tSTATE",
		cells: func(account account.Account) []any {
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
	}.print(t, all, asJSON)
	return nil
}

// roleText lists roles for a person.
func roleText(roles []account.Role) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r)
	}
	return cmp.Or(strings.Join(words, ", "), "none")
}

// parseRoles parses the names of roles.
func parseRoles(words []string) ([]account.Role, error) {
	var roles []account.Role
	for _, w := range words {
		if !slices.Contains(account.Roles, account.Role(w)) {
			return nil, usage("%q is not a role: use one of %s", w, roleText(account.Roles))
		}
		roles = append(roles, account.Role(w))
	}
	return roles, nil
}

func newAccountsAddCommand(g *global) *cobra.Command {
	var words []string
	var base string
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "Add an account and print its one-time sign-in link",
		Long: `add adds an account and prints its first one-time sign-in link. Pass it on with care:
it is not shown again. Without --url and PUBLIC_URL, only the path below the page's
address is printed. For another link: importer accounts link

NAME is a name or an email address. An email address gets messages about the account
if serve has a mail server (FILING_NOTIFY).`,
		Example: "  importer accounts add ana@example.com --role operator --role preparer --url " +
			"https://filings.example.com\n  importer accounts add leo --role approver",
		Args: one("name"),
		RunE: func(c *cobra.Command, args []string) error {
			roles, err := parseRoles(words)
			if err != nil {
				return err
			}
			page, err := pageAddress(g, base)
			if err != nil {
				return err
			}
			return withAnyLedger(c.Context(), g, func(l openLedger) error {
				return runAccountsAdd(c.Context(), g.terminal, l.Ledger, args[0], roles, page)
			})
		},
	}
	c.Flags().StringSliceVar(&words, "role", nil,
		"preparer, approver, operator, or auditor; repeat it for several")
	addURLFlag(c, &base)
	return c
}

func runAccountsAdd(ctx context.Context, t *terminal, l *ledger.Ledger, name string, roles []account.Role,
	page *url.URL) error {
	account, err := l.Accounts().Add(withAudit(ctx, "account-add", strings.ToLower(name), "roles "+roleText(roles)),
		name, roles)
	if err != nil {
		return err
	}
	t.print("Account %s was added with the roles %s.", account.Name, roleText(account.Roles))
	if err := runAccountsLink(ctx, t, l, account, page, linkLife); err != nil {
		return fmt.Errorf("the account was added, but its sign-in link was not made: %w. To make one: importer "+
			"accounts link %q", err, account.Name)
	}
	return nil
}

// onAccount turns a function of an account, the first argument, and the other arguments into a
// command.
func onAccount(g *global,
	do func(context.Context, *ledger.Ledger, account.Account, []string) error) func(*cobra.Command, []string) error {
	return onLedger(g, func(ctx context.Context, l openLedger, args []string) error {
		account, err := l.Accounts().Find(ctx, args[0])
		if errors.Is(err, ledger.ErrNotFound) {
			return fmt.Errorf("there is no account %q (importer accounts list shows them)", args[0])
		}
		if err != nil {
			return err
		}
		return do(ctx, l.Ledger, account, args[1:])
	})
}

var oneAccount = one("account name (importer accounts list shows them)")

func newAccountsRolesCommand(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "roles NAME ROLE...",
		Short: "Change an account's roles",
		Long: `roles gives an account exactly the roles you name. "none" removes all roles; the
account then sees only how it signs in. The change applies at once, also to people
who are signed in.`,
		Example: "  importer accounts roles ana operator approver\n  importer accounts roles leo none",
		Args:    takes(2, 1+len(account.Roles), "an account and its roles, or the word none"),
		RunE: onAccount(g, func(ctx context.Context, l *ledger.Ledger, account account.Account, words []string) error {
			if slices.Equal(words, []string{"none"}) {
				words = nil
			}
			roles, err := parseRoles(words)
			if err != nil {
				return err
			}
			audited := withAudit(ctx, "account-roles", account.Name,
				fmt.Sprintf("roles %s, before: %s", roleText(roles), roleText(account.Roles)))
			if err := l.Accounts().Change(audited, account.ID, roles, account.Disabled); err != nil {
				return err
			}
			g.terminal.print("Roles of %s: %s.", account.Name, roleText(roles))
			return nil
		}),
	}
}

// newAccountsStateCommand returns the command that disables accounts, or the one that enables them.
func newAccountsStateCommand(g *global, use, short, done string, disabled bool) *cobra.Command {
	return &cobra.Command{
		Use:     use + " NAME",
		Short:   short,
		Example: "  importer accounts " + use + " leo",
		Args:    oneAccount,
		RunE: onAccount(g, func(ctx context.Context, l *ledger.Ledger, account account.Account, _ []string) error {
			audited := withAudit(ctx, "account-"+use, account.Name, "")
			if err := l.Accounts().Change(audited, account.ID, account.Roles, disabled); err != nil {
				return err
			}
			g.terminal.print("Account %s is %s", account.Name, done)
			return nil
		}),
	}
}

// The default and the longest validity of a link.
const (
	linkLife = 24 * time.Hour
	maxLink  = 7 * 24 * time.Hour
)

func newAccountsLinkCommand(g *global) *cobra.Command {
	var base string
	var life time.Duration
	c := &cobra.Command{
		Use:   "link NAME",
		Short: "Make a one-time sign-in link",
		Long: `link prints a link that signs in the owner of an account once. Older links of the
account stop working. Pass it on with care: it is not shown again. Without --url and
PUBLIC_URL, only the path below the page's address is printed.

You and the account count as one person for approvals until its owner signs in with a
passkey or a company account.`,
		Example: "  importer accounts link ana --url https://filings.example.com\n  importer accounts link ana " +
			"--for 30m",
		Args: oneAccount,
		RunE: onAccount(g, func(ctx context.Context, l *ledger.Ledger, account account.Account, _ []string) error {
			if life <= 0 || life > maxLink {
				return usage("--for must be more than 0 and at most %s", maxLink)
			}
			page, err := pageAddress(g, base)
			if err != nil {
				return err
			}
			return runAccountsLink(ctx, g.terminal, l, account, page, life)
		}),
	}
	addURLFlag(c, &base)
	c.Flags().DurationVar(&life, "for", linkLife, "how long the link is valid")
	return c
}

func addURLFlag(c *cobra.Command, base *string) {
	c.Flags().StringVar(base, "url", "",
		"the page's address, such as https://filings.example.com (default: PUBLIC_URL)")
}

// pageAddress returns the address of the page from --url or PUBLIC_URL. It is empty without both.
func pageAddress(g *global, asked string) (*url.URL, error) {
	name := "--url"
	if asked == "" {
		name, asked = "PUBLIC_URL", strings.TrimSpace(g.getenv("PUBLIC_URL"))
	}
	if asked == "" {
		return &url.URL{}, nil
	}
	return webAddress(name, asked, "the page's address, such as https://filings.example.com")
}

// runAccountsLink creates a one-time sign-in link for an account and prints it. It cannot be shown
// again.
func runAccountsLink(ctx context.Context, t *terminal, l *ledger.Ledger, of account.Account, page *url.URL,
	life time.Duration) error {
	secret, err := l.Accounts().MakeSignInLink(withAudit(ctx, "account-link", of.Name, "for "+life.String()),
		of.ID, life)
	if errors.Is(err, account.ErrSignInLink) {
		return fmt.Errorf("account %s is disabled. To enable it: importer accounts enable %q", of.Name,
			of.Name)
	}
	if err != nil {
		return err
	}
	t.say("One-time sign-in link for %s, valid until %s:", of.Name, localTime(time.Now().Add(life)))
	t.print("%s", strings.TrimSuffix(page.String(), "/")+linkPath(secret))
	return nil
}
