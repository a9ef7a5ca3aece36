package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/secret"
	"github.com/bulkfiling/bulkfiling/internal/web"
)

// serviceSetup has the flags of setup.
type serviceSetup struct {
	*app
	address string
	keyFile string
	stdin   bool
	check   bool
	yes     bool
}

func (a *app) setupCommand() *cobra.Command {
	s := serviceSetup{app: a}
	c := &cobra.Command{
		Use:   "setup",
		Short: "Set up the filing service: its address and the API key",
		Long: `setup asks for the address of the filing service and for the API key, which it does not
show. It asks the filing service whose key it is, shows the organization and whether orders
are real, and writes the settings file, which only you can read. Every command and the
page read that file; variables of the environment win over it.

Without a terminal, the address comes from --address, FILING_BASE_URL, or the settings
file, and the key from --stdin, --key-file, FILING_API_KEY, or FILING_API_KEY_FILE. With
--key-file, the settings file has the name of the file instead of the key. A live key
needs --live.

--check changes nothing. It lists every setting that is in force and its source, never
a secret, asks the filing service whose key it is, and sends a test notification to
each target of FILING_NOTIFY.`,
		Example: `  importer setup
  importer setup --check
  importer setup --address api.example.com --stdin < key.txt`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if s.check {
				return s.show(c.Context())
			}
			return s.setUp(c.Context())
		},
	}
	f := c.Flags()
	f.StringVar(&s.address, "address", "", "the address of the filing service")
	f.StringVar(&s.keyFile, "key-file", "", "a file with the API key, read at each start")
	f.BoolVar(&s.stdin, "stdin", false, "read the API key from stdin")
	f.BoolVar(&s.check, "check", false, "show the settings in force and their sources; change nothing")
	f.BoolVarP(&s.yes, "yes", "y", false, "do not ask before another filing service is replaced")
	c.MarkFlagsMutuallyExclusive("key-file", "stdin")
	for _, entered := range []string{"address", "key-file", "stdin", "yes"} {
		c.MarkFlagsMutuallyExclusive("check", entered)
	}
	return c
}

// setUp asks for the filing service, checks it and saves it.
func (s *serviceSetup) setUp(ctx context.Context) error {
	path := config.SettingsPath(s.getenv)
	if path == "" {
		return errors.New("there is no home folder for the settings file: set HOME, or set FILING_BASE_URL and " +
			"FILING_API_KEY instead")
	}
	saved, err := config.SavedService(s.getenv)
	if err != nil {
		return err
	}
	service, err := s.enter(ctx, saved)
	if err != nil {
		return err
	}
	if err := service.ReadKey(); err != nil {
		return err
	}
	service.Live = service.IsLive()
	env, err := config.ReadFor(s.getenv, service)
	if err != nil {
		return err
	}
	env.Ledger = s.ledgerName
	found, err := s.ask(ctx, env)
	if err != nil {
		return err
	}
	s.say("The filing service accepts the key: %s.", found)
	if err := s.confirmService(ctx, saved, service); err != nil {
		return err
	}
	// Choose the ledger first, because this finds the decisions that a person has to make before
	// anything is stored.
	asking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if _, err := s.chooseLedger(asking, &env); err != nil {
		return fmt.Errorf("%w. Nothing was saved", err)
	}
	if err := config.SaveService(path, service); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Saved in %s.\n", path)
	s.say("Next: importer check FILE, or importer serve for the page.")
	return nil
}

// checkedAccount is the filing service's answer about a key.
type checkedAccount struct {
	// organization is empty if the service does not report it.
	organization string
	live         bool
}

func (c checkedAccount) String() string {
	meaning := "test: orders are not real"
	if c.live {
		meaning = "live: orders are real filings and cost real money"
	}
	return cmp.Or(legible(c.organization), "its organization is not reported") + " (" + meaning + ")"
}

// ask asks the filing service for the organization of the key.
func (s *serviceSetup) ask(ctx context.Context, env config.Environment) (checkedAccount, error) {
	asking, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	o, err := env.CheckService(asking)
	if ctx.Err() != nil {
		return checkedAccount{}, ctx.Err()
	}
	if err != nil {
		return checkedAccount{}, errors.New(strings.TrimSuffix(web.SetupProblem(err), "."))
	}
	return checkedAccount{o.Label(), env.Mode() == "live"}, nil
}

// enter collects the address and the source of the key: flags first, then the environment, then the
// person at the terminal.
func (s *serviceSetup) enter(ctx context.Context, saved config.Service) (config.Service, error) {
	env := func(name string) string { return strings.TrimSpace(s.getenv(name)) }
	service := config.Service{BaseURL: cmp.Or(s.address, env("FILING_BASE_URL")), KeyFile: s.keyFile}
	var err error
	switch {
	case s.keyFile != "":
	case s.stdin:
		var key string
		key, err = s.readSecret(ctx, "-")
		service.Key = secret.New(key)
	case env("FILING_API_KEY") != "":
		service.Key = secret.New(env("FILING_API_KEY"))
	default:
		service.KeyFile = env("FILING_API_KEY_FILE")
	}
	if err != nil {
		return service, err
	}
	if !s.terminal(s.in) {
		service.BaseURL = filingapi.CompleteAddress(cmp.Or(service.BaseURL, saved.BaseURL))
		switch {
		case service.BaseURL == "":
			return service, errors.New(
				"there is no address of the filing service, and stdin is not a terminal to ask at: " +
					"use --address, or set FILING_BASE_URL")
		case !service.HasKey():
			return service, errors.New("there is no API key, and stdin is not a terminal to ask at: use --stdin " +
				"or --key-file FILE, or set FILING_API_KEY")
		}
		return service, nil
	}
	return s.enterAtTerminal(ctx, service, saved)
}

// enterAtTerminal asks for the missing values. A saved key belongs to its address, so it can be
// kept only with that address.
func (s *serviceSetup) enterAtTerminal(ctx context.Context, service, saved config.Service) (config.Service, error) {
	if service.BaseURL == "" {
		question := "Address of the filing service: "
		if saved.BaseURL != "" {
			question = fmt.Sprintf("Address of the filing service [%s]: ", saved.BaseURL)
		}
		typed, err := s.askLine(ctx, question, false)
		if err != nil {
			return service, err
		}
		service.BaseURL = cmp.Or(strings.TrimSpace(typed), saved.BaseURL)
	}
	if service.BaseURL = filingapi.CompleteAddress(service.BaseURL); service.BaseURL == "" {
		return service, errors.New("no address was entered; nothing was saved")
	}
	if service.HasKey() {
		return service, nil
	}
	keep := saved.HasKey() && saved.BaseURL == service.BaseURL
	question := "API key (hidden): "
	if keep {
		question = "API key (hidden; Enter keeps the saved key): "
	}
	typed, err := s.askLine(ctx, question, true)
	if err != nil {
		return service, err
	}
	key := strings.TrimSpace(typed)
	switch {
	case key == "" && keep:
		service.Key, service.KeyFile = saved.Key, saved.KeyFile
	case key == "":
		return service, errors.New("no API key was entered; nothing was saved")
	default:
		service.Key = secret.New(key)
	}
	return service, nil
}

// confirmService asks before real money can be spent, and before another filing service is
// replaced.
func (s *serviceSetup) confirmService(ctx context.Context, saved, service config.Service) error {
	const unchanged = "Nothing was saved."
	if service.Live && !s.live {
		if !s.terminal(s.in) {
			return errors.New("this is a live key: orders are real filings and cost real money. Nothing was saved. " +
				"Add --live to allow it")
		}
		return s.confirm(ctx, "Allow real orders with this live key?", unchanged)
	}
	if saved.BaseURL == "" || saved.BaseURL == service.BaseURL || s.yes {
		return nil
	}
	if !s.terminal(s.in) {
		return fmt.Errorf(
			"the settings file has another filing service, %s. Nothing was saved. Add --yes to replace it",
			saved.BaseURL)
	}
	return s.confirm(ctx, "Replace the filing service "+saved.BaseURL+"?", unchanged)
}
