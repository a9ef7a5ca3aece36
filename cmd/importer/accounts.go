package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"bulkfiling/internal/ledger"
)

func (a *app) accountsCommand() *cobra.Command {
	return family("accounts", "Say who may sign in to the page, and what they may do there",
		`accounts keeps who may sign in to the page of `+"`importer serve`"+`. Roles:

  preparer  uploads spreadsheets and submits them
  approver  approves what was submitted
  operator  looks after money, workers, uncertain rows, schedules and accounts
  auditor   looks at everything, the audit log included, and changes nothing

Every role may look at the work of all clients and download it. An account without
a role sees its own sessions and nothing else.

Passwords are kept as argon2id makes them, links as their SHA-256.`,
		"  importer accounts add ana --role operator --role preparer --url https://filings.example.com\n  importer "+
			"accounts link ana --for 30m\n  importer accounts password ana",
		a.accountsListCommand(), a.accountsAddCommand(), a.accountsRolesCommand(), a.accountsDisableCommand(true),
		a.accountsDisableCommand(false), a.accountsPasswordCommand(), a.accountsBreakGlassCommand(),
		a.accountsResetFactorsCommand(), a.accountsLinkCommand(),
		a.accountsLinksCommand(), a.accountsVouchCommand())
}

// anAccount is the argument check of commands about one account.
var anAccount = one("account: its name, from `importer accounts list`")

func (a *app) accountsListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the accounts by name",
		Example: "  importer accounts list\n  importer accounts list --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.listing(c.Context(), "No account yet", func(l *ledger.Ledger) error {
				all, err := l.Accounts().List(c.Context())
				if err != nil {
					return err
				}
				return a.listAccounts(all, asJSON)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON line per account")
	return c
}

func (a *app) listAccounts(all []ledger.Account, asJSON bool) error {
	if asJSON {
		lines := json.NewEncoder(a.out)
		for _, account := range all {
			err := lines.Encode(struct {
				ID         string        `json:"id"`
				Name       string        `json:"name"`
				Roles      []ledger.Role `json:"roles"`
				Disabled   bool          `json:"disabled"`
				Password   bool          `json:"password"` // whether there is one
				CreatedAt  time.Time     `json:"createdAt"`
				SignedInAt time.Time     `json:"signedInAt,omitzero"`
			}{account.ID, account.Name, append([]ledger.Role{}, account.Roles...), account.Disabled,
				account.HasPassword, account.CreatedAt, account.SignedInAt})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		a.say("No account yet. Begin with: importer accounts add NAME --role operator")
		return nil
	}
	table := lineUp(a.out)
	fmt.Fprintln(table, "NAME\tROLES\tPASSWORD\tSIGNED IN\tSTATE")
	for _, account := range all {
		signedIn, password, state := "never", "no", "enabled"
		if !account.SignedInAt.IsZero() {
			signedIn = account.SignedInAt.Local().Format("2006-01-02 15:04")
		}
		if account.HasPassword {
			password = "yes"
		}
		if account.Disabled {
			state = "disabled"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", legible(account.Name), roleText(account.Roles), password,
			signedIn, state)
	}
	return table.Flush()
}

// roleText is what an account may do, in words.
func roleText(roles []ledger.Role) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r)
	}
	return cmp.Or(strings.Join(words, ", "), "none")
}

// rolesNamed reads roles as they were typed.
func rolesNamed(words []string) ([]ledger.Role, error) {
	var roles []ledger.Role
	for _, w := range words {
		if !slices.Contains(ledger.Roles, ledger.Role(w)) {
			return nil, usage("%q is no role: there are %s", w, roleText(ledger.Roles))
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
		Short: "Add an account, and make the link by which its holder sets a password",
		Long: "add adds an account, which has no password yet, and prints a link that lets its\nholder in, once, " +
			"to set one. Pass it on with care. It is kept nowhere, only its\nSHA-256 is. Without --url and " +
			"PUBLIC_URL it is the path alone, below the page's\naddress. `importer accounts link` makes another one.",
		Example: "  importer accounts add ana --role operator --role preparer --url https://filings.example.com\n  " +
			"importer accounts add leo --role approver",
		Args: one("name"),
		RunE: func(c *cobra.Command, args []string) error {
			roles, err := rolesNamed(words)
			if err != nil {
				return err
			}
			page, err := a.pageAddress(base)
			if err != nil {
				return err
			}
			return a.withAnyLedger(c.Context(), func(l *ledger.Ledger) error {
				account, err := l.Accounts().Add(acting(c.Context(), "account-add", strings.ToLower(args[0]),
					"roles "+roleText(roles)), args[0], roles)
				if err != nil {
					return err
				}
				fmt.Fprintf(a.out, "The account %s is added; roles: %s.\n", account.Name, roleText(account.Roles))
				if a.env.SignIn.Only {
					a.say("OIDC_ONLY is set, so no link was made. To make it a break-glass account: importer "+
						"accounts password %q, then importer accounts break-glass %q", account.Name, account.Name)
					return nil
				}
				if err := a.makeLink(c.Context(), l, account, page, linkLife); err != nil {
					return fmt.Errorf(
						"make the link of the account, which is added: %w; for another one: importer accounts link %q",
						err, account.Name)
				}
				return nil
			})
		},
	}
	c.Flags().StringSliceVar(&words, "role", nil,
		"what it may do: preparer, approver, operator or auditor; again for another one")
	c.Flags().StringVar(&base, "url", "", urlUsage)
	_ = c.RegisterFlagCompletionFunc("role", completeRoles) // fails for unknown flags only
	return c
}

// withAccount runs a command about an account that is there.
func (a *app) withAccount(ctx context.Context, name string, do func(*ledger.Ledger, ledger.Account) error) error {
	return a.withLedger(ctx, func(l *ledger.Ledger) error {
		account, err := l.Accounts().Find(ctx, name)
		if errors.Is(err, ledger.ErrNotFound) {
			return fmt.Errorf("there is no account %q: importer accounts list", name)
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
		Short: "Say anew what an account may do",
		Long: "roles gives an account exactly the roles that are named; none takes all of them\naway, and leaves " +
			"an account that sees nothing but its own sessions. It holds at once, also for who is signed in.",
		Example: "  importer accounts roles ana operator approver\n  importer accounts roles leo none",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("%s takes an account and its roles, or none", c.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: completeRoles,
		RunE: func(c *cobra.Command, args []string) error {
			words := args[1:]
			if len(words) == 1 && words[0] == "none" {
				words = nil
			}
			roles, err := rolesNamed(words)
			if err != nil {
				return err
			}
			return a.withAccount(c.Context(), args[0], func(l *ledger.Ledger, account ledger.Account) error {
				note := fmt.Sprintf("roles %s, before: %s", roleText(roles), roleText(account.Roles))
				if err := l.Accounts().Change(acting(c.Context(), "account-roles", account.Name, note), account.ID, roles,
					account.Disabled); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "Roles of %s: %s.\n", account.Name, roleText(roles))
				return nil
			})
		},
	}
}

// accountsDisableCommand is both commands: the one that disables and the one
// that takes it back.
func (a *app) accountsDisableCommand(disabled bool) *cobra.Command {
	use, short, said := "enable", "Let a disabled account sign in again", "The account %s may sign in again.\n"
	if disabled {
		use, short, said = "disable", "Keep an account from signing in, and sign it out everywhere", "The account "+
			"%s is disabled and signed out; its links are no good any more.\n"
	}
	return &cobra.Command{
		Use:     use + " NAME",
		Short:   short,
		Example: "  importer accounts " + use + " leo",
		Args:    anAccount,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withAccount(c.Context(), args[0], func(l *ledger.Ledger, account ledger.Account) error {
				if err := l.Accounts().Change(acting(c.Context(), "account-"+use, account.Name, ""), account.ID,
					account.Roles, disabled); err != nil {
					return err
				}
				fmt.Fprintf(a.out, said, account.Name)
				return nil
			})
		},
	}
}

func (a *app) accountsPasswordCommand() *cobra.Command {
	var stdin bool
	c := &cobra.Command{
		Use:   "password NAME",
		Short: "Give an account a password, and sign it out everywhere",
		Long: "password asks for a password twice, without showing it, or reads it from the\nstandard input. It " +
			"never stands on the command line, which others can see. It has\nat least 12 characters. Common " +
			"passwords, patterns, and names of people, the firm or\nthis product are not accepted, as on the page.",
		Example: "  importer accounts password ana\n  importer accounts password ana --stdin < password.txt",
		Args:    anAccount,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withAccount(c.Context(), args[0], func(l *ledger.Ledger, account ledger.Account) error {
				read := a.askPassword
				if stdin {
					read = a.readPassword
				}
				password, err := read(c.Context())
				if err != nil {
					return err
				}
				if at := a.pageHost(); at != "" {
					l.Accounts().RefuseInPasswords(at)
				}
				if err := l.Accounts().SetPassword(acting(c.Context(), "account-password", account.Name, ""), account.ID,
					password); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "The password of %s is set.\n", account.Name)
				return nil
			})
		},
	}
	c.Flags().BoolVar(&stdin, "stdin", false, "read the password from the standard input")
	return c
}

// readPassword reads a password from the standard input, which holds that line
// alone. It may have spaces in it.
func (a *app) readPassword(ctx context.Context) (string, error) {
	const longest = 4096
	content, err := typed(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(a.in, longest+1)) })
	password := strings.TrimRight(string(content), "\r\n")
	switch {
	case err != nil:
		return "", fmt.Errorf("read the password: %w", err)
	case len(content) > longest || strings.ContainsAny(password, "\r\n"):
		return "", errors.New("read the password: the standard input holds more than one line")
	}
	return password, nil
}

// askPassword asks for a password twice, without an echo. The terminal stops
// showing what is typed before the question appears, so that a Ctrl-C at any
// moment finds a state to go back to; in that mode Ctrl-C is a key like any other.
func (a *app) askPassword(ctx context.Context) (string, error) {
	if !a.terminal(a.in) {
		return "", errors.New("there is nobody to ask: give the password with --stdin")
	}
	fd := int(a.in.(*os.File).Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	defer term.Restore(fd, before)
	terminal := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{a.in, a.err}, "")
	var lines [2]string
	for i, question := range []string{"Password: ", "The same again: "} {
		lines[i], err = typed(ctx, func() (string, error) { return terminal.ReadPassword(question) })
		switch {
		case ctx.Err() != nil || errors.Is(err, io.EOF):
			fmt.Fprint(a.err, "\r\n")
			return "", &status{code: exitInterrupted, err: errInterrupted}
		case err != nil:
			return "", fmt.Errorf("read the password: %w", err)
		}
	}
	if lines[0] != lines[1] {
		return "", errors.New("the two are not the same")
	}
	return lines[0], nil
}

// How long a link is good: unless it is said, and at most.
const (
	linkLife = 24 * time.Hour
	maxLink  = 7 * 24 * time.Hour
)

const urlUsage = "the page's address, such as https://filings.example.com (default: PUBLIC_URL)"

// pageAddress reads the address below which links lead: --url, or else what
// PUBLIC_URL says. It is empty where neither says anything.
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
		return nil, usage("%s is the page's address, such as https://filings.example.com", name)
	}
	return page, nil
}

// pageHost is the host of PUBLIC_URL; empty where it is not set.
func (a *app) pageHost() string {
	page, err := a.pageAddress("")
	if err != nil {
		return ""
	}
	return page.Hostname()
}

// makeLink makes a link that lets its holder in once, as that account, and
// prints it: it can be had in no other way.
func (a *app) makeLink(ctx context.Context, l *ledger.Ledger, account ledger.Account, page *url.URL,
	life time.Duration) error {
	if a.env.SignIn.Only && !account.BreakGlass {
		return fmt.Errorf(
			"%s cannot use a link: with OIDC_ONLY, passwords and links sign in break-glass accounts only (importer "+
				"accounts break-glass %q)", account.Name, account.Name)
	}
	secret, err := l.Accounts().MakeSignInLink(acting(ctx, "account-link", account.Name, linkNote(account, life)),
		account.ID, life)
	if errors.Is(err, ledger.ErrSignInLink) {
		return fmt.Errorf("the account %s is disabled: importer accounts enable %q", account.Name, account.Name)
	}
	if err != nil {
		return err
	}
	what := "Works once, until %s, and signs its holder in as %s:"
	if account.HasPassword {
		what = "Works once, until %s, and lets its holder set another password for %s, who is told of it:"
	}
	a.say(what, time.Now().Add(life).Format("2006-01-02 15:04"), account.Name)
	link := url.URL{
		Scheme:   page.Scheme,
		Host:     page.Host,
		Path:     strings.TrimSuffix(page.Path, "/") + "/enter",
		RawQuery: url.Values{"ticket": {secret}}.Encode(),
	}
	_, err = fmt.Fprintln(a.out, link.String())
	return err
}

// linkNote says in the audit log what a link is for.
func linkNote(account ledger.Account, life time.Duration) string {
	if account.HasPassword {
		return "to reset the password, for " + life.String()
	}
	return "to sign in, for " + life.String()
}

// accountsLinksCommand lists the open links, or ends one.
func (a *app) accountsLinksCommand() *cobra.Command {
	var revoke string
	c := &cobra.Command{
		Use:     "links",
		Short:   "List the open sign-in links, or revoke one",
		Example: "  importer accounts links\n  importer accounts links --revoke LMZQ4D7KAXEW",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withAnyLedger(c.Context(), func(l *ledger.Ledger) error {
				if revoke == "" {
					return a.listLinks(c.Context(), l)
				}
				err := l.Accounts().RevokeSignInLink(acting(c.Context(), "account-link-revoke", revoke, ""), revoke)
				if errors.Is(err, ledger.ErrNotFound) {
					return fmt.Errorf("there is no open link %s: importer accounts links", revoke)
				}
				if err == nil {
					fmt.Fprintf(a.out, "The link %s is revoked.\n", revoke)
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&revoke, "revoke", "", "end this link")
	return c
}

func (a *app) listLinks(ctx context.Context, l *ledger.Ledger) error {
	links, err := l.Accounts().ListSignInLinks(ctx)
	if err != nil {
		return err
	}
	if len(links) == 0 {
		fmt.Fprintln(a.out, "No sign-in link is open.")
		return nil
	}
	table := lineUp(a.out)
	fmt.Fprintln(table, "LINK\tFOR\tTO\tMADE BY\tUNTIL")
	for _, link := range links {
		to := "sign in"
		if link.Resets {
			to = "reset the password"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", link.ID, legible(link.Account), to, legible(link.MadeBy),
			link.EndsAt.Local().Format("2006-01-02 15:04"))
	}
	return table.Flush()
}

func (a *app) accountsVouchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "vouch NAME",
		Short: "Say that the owner of an account set its password",
		Long: `vouch confirms that the owner of an account set its password. Until then whoever made
a sign-in link of the account, for a new one too, and the account count as one person
for approvals: neither approves what the other uploaded. Another operator can confirm
the account in the settings of the page; with one operator, this command does. Ask the
owner first, in person or by telephone.`,
		Example: "  importer accounts vouch leo",
		Args:    anAccount,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withAccount(c.Context(), args[0], func(l *ledger.Ledger, account ledger.Account) error {
				if err := l.Accounts().VouchFor(acting(c.Context(), "account-vouch", account.Name, ""), account.ID); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "The credentials of %s count as their own.\n", account.Name)
				return nil
			})
		},
	}
}

func (a *app) accountsLinkCommand() *cobra.Command {
	var base string
	var life time.Duration
	c := &cobra.Command{
		Use:   "link NAME",
		Short: "Make a one-time sign-in link, or one to reset a password",
		Long: `link prints a link that works once. It signs in somebody who has no password yet. For
an account that has a password it only sets another one: the owner is told, and the
sessions end. It ends the older links of the account. Pass it on with care. Only its
SHA-256 is kept. Without --url and PUBLIC_URL it is the path alone, below the page's
address.`,
		Example: "  importer accounts link ana --url https://filings.example.com\n  importer accounts link ana " +
			"--for 30m",
		Args: anAccount,
		RunE: func(c *cobra.Command, args []string) error {
			if life <= 0 || life > maxLink {
				return usage("--for is more than nothing and no more than %s", maxLink)
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
	c.Flags().DurationVar(&life, "for", linkLife, "how long the link is good")
	return c
}
