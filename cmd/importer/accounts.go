package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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

Passwords are stored as argon2id hashes, one-time sign-in links as SHA-256 hashes.`,
		"  importer accounts add ana --role operator --role preparer --url https://filings.example.com\n  importer "+
			"accounts link ana --for 30m\n  importer accounts password ana",
		a.accountsListCommand(), a.accountsAddCommand(), a.accountsRolesCommand(), a.accountsDisableCommand(true),
		a.accountsDisableCommand(false), a.accountsPasswordCommand(), a.accountsBreakGlassCommand(),
		a.accountsResetFactorsCommand(), a.accountsLinkCommand(),
		a.accountsLinksCommand(), a.accountsVouchCommand())
}

func (a *app) accountsListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the accounts",
		Example: "  importer accounts list\n  importer accounts list --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withLedgerToList(c.Context(), "No accounts yet", func(l *ledger.Ledger) error {
				all, err := l.Accounts().List(c.Context())
				if err != nil {
					return err
				}
				return a.listAccounts(all, asJSON)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON line for each account")
	return c
}

func (a *app) listAccounts(all []ledger.Account, asJSON bool) error {
	type line struct {
		ID         string        `json:"id"`
		Name       string        `json:"name"`
		Roles      []ledger.Role `json:"roles"`
		Disabled   bool          `json:"disabled"`
		Password   bool          `json:"password"` // whether there is one
		CreatedAt  time.Time     `json:"createdAt"`
		SignedInAt time.Time     `json:"signedInAt,omitzero"`
	}
	return list[ledger.Account]{
		empty:   "No accounts yet. To add one: importer accounts add NAME --role operator",
		columns: "NAME\tROLES\tPASSWORD\tSIGNED IN\tSTATE",
		cells: func(account ledger.Account) []any {
			signedIn, password, state := "never", "no", "enabled"
			if !account.SignedInAt.IsZero() {
				signedIn = localTime(account.SignedInAt)
			}
			if account.HasPassword {
				password = "yes"
			}
			if account.Disabled {
				state = "disabled"
			}
			return []any{legible(account.Name), roleText(account.Roles), password, signedIn, state}
		},
		line: func(account ledger.Account) any {
			return line{account.ID, account.Name, append([]ledger.Role{}, account.Roles...), account.Disabled,
				account.HasPassword, account.CreatedAt, account.SignedInAt}
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

// parseRoles reads the names of roles.
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

func completeRoles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, r := range ledger.Roles {
		words = append(words, string(r))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) accountsAddCommand() *cobra.Command {
	var words []string
	var base string
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "Add an account and print its one-time sign-in link",
		Long: `add adds an account without a password and prints a one-time sign-in link. With the
link, the owner signs in and sets a password. Pass it on with care: it is not shown
again. Without --url and PUBLIC_URL, only the path below the page's address is
printed. For another link: importer accounts link`,
		Example: "  importer accounts add ana --role operator --role preparer --url https://filings.example.com\n  " +
			"importer accounts add leo --role approver",
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
				if a.env.SignIn.Only {
					a.say("OIDC_ONLY is set, so no sign-in link was made. To make it a break-glass account: importer "+
						"accounts password %q, then importer accounts break-glass %q", account.Name, account.Name)
					return nil
				}
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
	_ = c.RegisterFlagCompletionFunc("role", completeRoles) // fails for unknown flags only
	return c
}

// accountCommand completes a command about one existing account, its first argument.
func (a *app) accountCommand(c *cobra.Command,
	do func(ctx context.Context, l *ledger.Ledger, account ledger.Account) error) *cobra.Command {
	if c.Args == nil {
		c.Args = one("account name (importer accounts list shows them)")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.withAccount(c.Context(), args[0],
			func(l *ledger.Ledger, account ledger.Account) error { return do(c.Context(), l, account) })
	}
	return c
}

// withAccount runs do with an existing account.
func (a *app) withAccount(ctx context.Context, name string, do func(*ledger.Ledger, ledger.Account) error) error {
	return a.withLedger(ctx, func(l *ledger.Ledger) error {
		account, err := l.Accounts().Find(ctx, name)
		if errors.Is(err, ledger.ErrNotFound) {
			return fmt.Errorf("there is no account %q (importer accounts list shows them)", name)
		}
		if err != nil {
			return err
		}
		return do(l, account)
	})
}

func (a *app) accountsRolesCommand() *cobra.Command {
	return &cobra.Command{
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
		ValidArgsFunction: completeRoles,
		RunE: func(c *cobra.Command, args []string) error {
			words := args[1:]
			if len(words) == 1 && words[0] == "none" {
				words = nil
			}
			roles, err := parseRoles(words)
			if err != nil {
				return err
			}
			return a.withAccount(c.Context(), args[0], func(l *ledger.Ledger, account ledger.Account) error {
				note := fmt.Sprintf("roles %s, before: %s", roleText(roles), roleText(account.Roles))
				if err := l.Accounts().Change(withAudit(c.Context(), "account-roles", account.Name, note),
					account.ID, roles, account.Disabled); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "Roles of %s: %s.\n", account.Name, roleText(roles))
				return nil
			})
		},
	}
}

// accountsDisableCommand is the command that disables an account, or the one that
// enables it again.
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
	}, func(ctx context.Context, l *ledger.Ledger, account ledger.Account) error {
		if err := l.Accounts().Change(withAudit(ctx, "account-"+use, account.Name, ""), account.ID,
			account.Roles, disabled); err != nil {
			return err
		}
		fmt.Fprintf(a.out, said, account.Name)
		return nil
	})
}

func (a *app) accountsPasswordCommand() *cobra.Command {
	var stdin bool
	c := a.accountCommand(&cobra.Command{
		Use:   "password NAME",
		Short: "Set an account's password and sign it out everywhere",
		Long: `password asks for a password twice without showing it, or reads it from stdin. A
password needs at least 12 characters. As on the page, common passwords, patterns,
and names of people, the firm, or this product are refused.`,
		Example: "  importer accounts password ana\n  importer accounts password ana --stdin < password.txt",
	}, func(ctx context.Context, l *ledger.Ledger, account ledger.Account) error {
		read := a.askPassword
		if stdin {
			read = a.readPassword
		}
		password, err := read(ctx)
		if err != nil {
			return err
		}
		if at := a.pageHost(); at != "" {
			l.Accounts().RefuseInPasswords(at)
		}
		audited := withAudit(ctx, "account-password", account.Name, "")
		if err := l.Accounts().SetPassword(audited, account.ID, password); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "The password of %s was set.\n", account.Name)
		return nil
	})
	c.Flags().BoolVar(&stdin, "stdin", false, "read the password from stdin")
	return c
}

// readPassword reads a password, the only line of stdin. It can have spaces.
func (a *app) readPassword(ctx context.Context) (string, error) {
	const longest = 4096
	content, err := readTyped(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(a.in, longest+1)) })
	password := strings.TrimRight(string(content), "\r\n")
	switch {
	case err != nil:
		return "", fmt.Errorf("read the password: %w", err)
	case len(content) > longest || strings.ContainsAny(password, "\r\n"):
		return "", errors.New("read the password: stdin has more than one line")
	}
	return password, nil
}

// askPassword asks for a password twice, without an echo.
func (a *app) askPassword(ctx context.Context) (string, error) {
	if !a.terminal(a.in) {
		return "", errors.New("stdin is not a terminal; use --stdin to read the password from it")
	}
	lines, err := a.askLines(ctx, typedLine{ask: "Password: ", hidden: true},
		typedLine{ask: "Repeat the password: ", hidden: true})
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if lines[0] != lines[1] {
		return "", errors.New("the two passwords differ")
	}
	return lines[0], nil
}

// The default and the longest validity of a link.
const (
	linkLife = 24 * time.Hour
	maxLink  = 7 * 24 * time.Hour
)

const urlUsage = "the page's address, such as https://filings.example.com (default: PUBLIC_URL)"

// pageAddress is the address of the page: --url, or PUBLIC_URL; empty without
// both.
func (a *app) pageAddress(asked string) (*url.URL, error) {
	name := "--url"
	if asked == "" {
		name, asked = "PUBLIC_URL", strings.TrimSpace(a.getenv("PUBLIC_URL"))
	}
	if asked == "" {
		return &url.URL{}, nil
	}
	page, err := url.Parse(asked)
	if err != nil || page.Host == "" || page.User != nil || page.Scheme != "https" && page.Scheme != "http" {
		return nil, usage("%s must be the page's address, such as https://filings.example.com", name)
	}
	return page, nil
}

// pageHost is the host of PUBLIC_URL; empty if it is not set.
func (a *app) pageHost() string {
	page, err := a.pageAddress("")
	if err != nil {
		return ""
	}
	return page.Hostname()
}

// makeLink creates a one-time sign-in link for an account and prints it. It cannot
// be shown again.
func (a *app) makeLink(ctx context.Context, l *ledger.Ledger, account ledger.Account, page *url.URL,
	life time.Duration) error {
	if a.env.SignIn.Only && !account.BreakGlass {
		return fmt.Errorf(
			"%s cannot use a sign-in link: with OIDC_ONLY, only break-glass accounts sign in with a password or "+
				"link (importer "+
				"accounts break-glass %q)", account.Name, account.Name)
	}
	secret, err := l.Accounts().MakeSignInLink(withAudit(ctx, "account-link", account.Name, linkNote(account, life)),
		account.ID, life)
	if errors.Is(err, ledger.ErrSignInLink) {
		return fmt.Errorf("account %s is disabled. To enable it: importer accounts enable %q", account.Name,
			account.Name)
	}
	if err != nil {
		return err
	}
	what := "One-time sign-in link for %[2]s, valid until %[1]s:"
	if account.HasPassword {
		what = "One-time link for %[2]s to reset the password, valid until %[1]s. %[2]s will be notified:"
	}
	a.say(what, time.Now().Add(life).Format("2006-01-02 15:04"), account.Name)
	link := url.URL{
		Scheme:   page.Scheme,
		Host:     page.Host,
		Path:     strings.TrimSuffix(page.Path, "/") + "/enter",
		RawQuery: url.Values{"link": {secret}}.Encode(),
	}
	_, err = fmt.Fprintln(a.out, link.String())
	return err
}

// linkNote is the note of the audit log about a link.
func linkNote(account ledger.Account, life time.Duration) string {
	if account.HasPassword {
		return "to reset the password, for " + life.String()
	}
	return "to sign in, for " + life.String()
}

// accountsLinksCommand lists the open links, or revokes one.
func (a *app) accountsLinksCommand() *cobra.Command {
	var revoke string
	c := &cobra.Command{
		Use:     "links",
		Short:   "List or revoke open sign-in links",
		Example: "  importer accounts links\n  importer accounts links --revoke LMZQ4D7KAXEW",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withAnyLedger(c.Context(), func(l *ledger.Ledger) error {
				if revoke == "" {
					return a.listLinks(c.Context(), l)
				}
				err := l.Accounts().RevokeSignInLink(withAudit(c.Context(), "account-link-revoke", revoke, ""), revoke)
				if errors.Is(err, ledger.ErrNotFound) {
					return fmt.Errorf("there is no open link %s (importer accounts links shows them)", revoke)
				}
				if err == nil {
					fmt.Fprintf(a.out, "The link %s was revoked.\n", revoke)
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&revoke, "revoke", "", "revoke this link")
	return c
}

func (a *app) listLinks(ctx context.Context, l *ledger.Ledger) error {
	links, err := l.Accounts().ListSignInLinks(ctx)
	if err != nil {
		return err
	}
	if len(links) == 0 {
		fmt.Fprintln(a.out, "There are no open sign-in links.")
		return nil
	}
	return list[ledger.SignInLink]{
		columns: "LINK\tFOR\tTO\tMADE BY\tUNTIL",
		cells: func(link ledger.SignInLink) []any {
			to := "sign in"
			if link.Resets {
				to = "reset the password"
			}
			return []any{link.ID, legible(link.Account), to, legible(link.MadeBy), localTime(link.EndsAt)}
		},
	}.print(a, links, false)
}

func (a *app) accountsVouchCommand() *cobra.Command {
	return a.accountCommand(&cobra.Command{
		Use:   "vouch NAME",
		Short: "Confirm that the owner of an account set its password",
		Long: `vouch confirms that the owner of an account set its password. Until then, the
account and the person who made its sign-in link count as one person for approvals:
neither can approve the other's uploads. Another operator can confirm the account in
the settings of the page. If there is only one operator, use this command. Ask the
owner first, in person or by phone.`,
		Example: "  importer accounts vouch leo",
	}, func(ctx context.Context, l *ledger.Ledger, account ledger.Account) error {
		if err := l.Accounts().VouchFor(withAudit(ctx, "account-vouch", account.Name, ""),
			account.ID); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "Confirmed: %s set the password of this account.\n", account.Name)
		return nil
	})
}

func (a *app) accountsLinkCommand() *cobra.Command {
	var base string
	var life time.Duration
	c := &cobra.Command{
		Use:   "link NAME",
		Short: "Make a one-time link to sign in or to reset a password",
		Long: `link prints a link that works once. For an account without a password, it signs the
owner in. For an account with a password, it only sets a new one: the owner is
notified and all sessions end. Older links of the account stop working. Pass it on
with care: it is not shown again. Without --url and PUBLIC_URL, only the path below
the page's address is printed.`,
		Example: "  importer accounts link ana --url https://filings.example.com\n  importer accounts link ana " +
			"--for 30m",
		Args: one("account name (importer accounts list shows them)"),
		RunE: func(c *cobra.Command, args []string) error {
			if life <= 0 || life > maxLink {
				return usage("--for must be more than 0 and at most %s", maxLink)
			}
			page, err := a.pageAddress(base)
			if err != nil {
				return err
			}
			return a.withAccount(c.Context(), args[0], func(l *ledger.Ledger, account ledger.Account) error {
				return a.makeLink(c.Context(), l, account, page, life)
			})
		},
	}
	c.Flags().StringVar(&base, "url", "", urlUsage)
	c.Flags().DurationVar(&life, "for", linkLife, "how long the link is valid")
	return c
}
