package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/secret"
	"github.com/bulkfiling/bulkfiling/internal/web"
)

// setupOptions are the options of setup.
type setupOptions struct {
	address, keyFile string
	stdin, yes       bool
}

func newSetupCommand(g *global) *cobra.Command {
	var o setupOptions
	c := &cobra.Command{
		Use:   "setup",
		Short: "Set up the filing service: its address and the API key",
		Long: `setup asks for the address of the filing service and for the API key, which it does not
show. It shows whose key it is and whether orders are real, and writes the settings file,
which only you can read. Variables of the environment win over that file.

Without a terminal, the address comes from --address, FILING_BASE_URL, or the settings
file, and the key from --stdin, --key-file, FILING_API_KEY, or FILING_API_KEY_FILE. With
--key-file, the settings file has the name of the file instead of the key. A live key
needs --live.`,
		Example: `  importer setup
  importer setup --address api.example.com --stdin < key.txt`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runSetup(c.Context(), o, g)
		},
	}
	f := c.Flags()
	f.StringVar(&o.address, "address", "", "the address of the filing service")
	f.StringVar(&o.keyFile, "key-file", "", "a file with the API key, read at each start")
	f.BoolVar(&o.stdin, "stdin", false, "read the API key from stdin")
	addYesFlag(c, &o.yes, "do not ask before another filing service is replaced")
	c.MarkFlagsMutuallyExclusive("key-file", "stdin")
	return c
}

// runSetup asks for the filing service, checks it and saves it.
func runSetup(ctx context.Context, o setupOptions, g *global) error {
	path := config.SettingsPath(g.getenv)
	if path == "" {
		return errors.New("there is no home folder for the settings file: set HOME, or set FILING_BASE_URL and " +
			"FILING_API_KEY instead")
	}
	saved, err := config.SavedService(g.getenv)
	if err != nil {
		return err
	}
	service, err := enterService(ctx, o, g, saved)
	if err != nil {
		return err
	}
	if err := service.ReadKey(); err != nil {
		return err
	}
	service.Live = service.IsLive()
	env, err := config.ReadFor(g.getenv, service)
	if err != nil {
		return err
	}
	env.Ledger = g.ledgerName
	account, err := accountText(ctx, env)
	if err != nil {
		return err
	}
	g.terminal.say("The filing service accepts the key: %s.", account)
	if err := confirmService(ctx, o, g, saved, service); err != nil {
		return err
	}
	// Choose the ledger first, because this finds the decisions that a person has to make before
	// anything is stored.
	asking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if _, err := env.ChooseLedger(asking); err != nil {
		return fmt.Errorf("%w. Nothing was saved", err)
	}
	if err := config.SaveService(path, service); err != nil {
		return err
	}
	g.terminal.print("Saved in %s.", path)
	g.terminal.say("Next: importer check FILE, or importer serve for the page.")
	return nil
}

// checkTimeout is the time that the filing service has to answer for a key.
const checkTimeout = 20 * time.Second

// accountText asks the filing service for the organization of the key, and describes it.
func accountText(ctx context.Context, env config.Environment) (string, error) {
	asking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	organization, err := env.CheckService(asking)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", errors.New(strings.TrimSuffix(web.SetupProblem(err), "."))
	}
	meaning := "test: orders are not real"
	if env.Mode() == "live" {
		meaning = "live: orders are real filings and cost real money"
	}
	return cmp.Or(legible(organization.Label()), "its organization is not reported") + " (" + meaning + ")", nil
}

// enterService collects the address and the source of the key: flags first, then the environment,
// then the person at the terminal. The saved address is the default. A saved key belongs to its
// address, so it can be kept only with that address.
func enterService(ctx context.Context, o setupOptions, g *global, saved config.Service) (s config.Service, err error) {
	env := func(name string) string { return strings.TrimSpace(g.getenv(name)) }
	t := g.terminal
	address := cmp.Or(o.address, env("FILING_BASE_URL"))
	if address == "" && isTerminal(t.in) {
		question := "Address of the filing service: "
		if saved.BaseURL != "" {
			question = fmt.Sprintf("Address of the filing service [%s]: ", saved.BaseURL)
		}
		if address, err = t.askLine(ctx, question, false); err != nil {
			return s, err
		}
	}
	s.BaseURL = filingapi.CompleteAddress(cmp.Or(strings.TrimSpace(address), saved.BaseURL))
	keep := saved.HasKey() && saved.BaseURL == s.BaseURL
	key := env("FILING_API_KEY")
	switch {
	case s.BaseURL == "":
		return s, errors.New("there is no address of the filing service: use --address, or set FILING_BASE_URL. " +
			"Nothing was saved")
	case o.keyFile != "":
		s.KeyFile = o.keyFile
		return s, nil
	case o.stdin:
		key, err = t.readSecret(ctx, "-")
	case key != "":
	case env("FILING_API_KEY_FILE") != "":
		s.KeyFile = env("FILING_API_KEY_FILE")
		return s, nil
	case isTerminal(t.in) && keep:
		key, err = t.askLine(ctx, "API key (hidden; Enter keeps the saved key): ", true)
	case isTerminal(t.in):
		key, err = t.askLine(ctx, "API key (hidden): ", true)
	}
	key = strings.TrimSpace(key)
	switch {
	case err != nil:
		return s, err
	case key != "":
		s.Key = secret.New(key)
	case keep && isTerminal(t.in):
		s.Key, s.KeyFile = saved.Key, saved.KeyFile
	default:
		return s, errors.New(
			"there is no API key: use --stdin or --key-file FILE, or set FILING_API_KEY. Nothing was " +
				"saved",
		)
	}
	return s, nil
}

// confirmService asks before real money can be spent, and before another filing service is
// replaced.
func confirmService(ctx context.Context, o setupOptions, g *global, saved, service config.Service) error {
	question, refusal := "", ""
	switch {
	case service.Live && !g.live:
		question = "Allow real orders with this live key?"
		refusal = "this is a live key: orders are real filings and cost real money. Nothing was saved. Add --live to " +
			"allow it"
	case saved.BaseURL != "" && saved.BaseURL != service.BaseURL && !o.yes:
		question = "Replace the filing service " + saved.BaseURL + "?"
		refusal = "the settings file has another filing service, " + saved.BaseURL + ". Nothing was saved. Add --yes " +
			"to replace it"
	default:
		return nil
	}
	if !isTerminal(g.terminal.in) {
		return errors.New(refusal)
	}
	return g.terminal.ask(ctx, false, question, "Nothing was saved.")
}
