package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

func (a *app) sandboxCommand() *cobra.Command {
	config := sandbox.Config{AutoSeed: true, Seed: 1}
	var listen, balance, companies, endpoint, endpointSecret string
	c := &cobra.Command{
		Use:   "sandbox",
		Short: "Run the filing service in memory for trying things out",
		Long: `sandbox serves the complete API of the filing service from memory, strict about
every field, and shows its orders and balance as text. It creates users and
companies when they are first named, so that any spreadsheet can be tried. Such a
company has no legal name on file. --companies FILE, a CSV with the columns id,
legalName, entityType, and formationState, adds companies with their names. Nothing
is kept when it ends.

Filings stay as they are until you advance them, or move on a clock with --advance.
Events go to the registered endpoints, signed, and are retried until accepted.
--endpoint URL with --endpoint-secret-file FILE registers one at the start, for a
server whose FILING_WEBHOOK_SECRET_FILE is that file: no later start needs to
register it again.

importer sandbox do controls a running sandbox: it moves filings, and breaks answers.`,
		Example: `  importer sandbox --balance 5000
  importer sandbox --companies samples/companies.csv
  importer sandbox --advance 5s
  importer sandbox do fault kind=reset after=true rate=0.05
  importer sandbox do advance all=true status=filed`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			opening, err := money.Parse(balance)
			if err != nil {
				return err
			}
			config.OpeningBalance = int64(opening)
			if config.Companies, err = readCompanies(companies); err != nil {
				return err
			}
			if config.Webhooks, err = a.sandboxEndpoint(c.Context(), endpoint, endpointSecret); err != nil {
				return err
			}
			service := sandbox.New(config)
			defer service.Close()
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("listen: %w", err)
			}
			fmt.Fprintf(
				a.out, "The sandbox is at http://%[1]s (its orders and balance). Any key that begins with sk_test_ "+
					"works.\n%[2]s\nPress Ctrl-C to stop it.\n", reachable(l.Addr()),
				exportLines(fmt.Sprintf("http://%s/v1", reachable(l.Addr())), runtime.GOOS))
			return service.Serve(c.Context(), l)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:4010", "the address to listen on")
	c.Flags().StringVar(&balance, "balance", "10000", "the prepaid balance in dollars")
	c.Flags().StringVar(&companies, "companies", "",
		"a CSV of companies on file: id, legalName, entityType, formationState")
	c.Flags().DurationVar(&config.Latency, "latency", 20*time.Millisecond, "the time every answer takes")
	c.Flags().DurationVar(&config.Advance, "advance", 0, "advance every filing one step this often; 0 for never")
	c.Flags().StringVar(&endpoint, "endpoint", "", "an address that receives all events from the start")
	c.Flags().StringVar(&endpointSecret, "endpoint-secret-file", "", "a file with the signing secret of --endpoint")
	c.AddCommand(a.sandboxDoCommand())
	return c
}

// sandboxEndpoint returns the endpoint that a sandbox has from the start, if any.
func (a *app) sandboxEndpoint(ctx context.Context, address, file string) ([]sandbox.Webhook, error) {
	if (address == "") != (file == "") {
		return nil, usage("--endpoint and --endpoint-secret-file go together")
	}
	if address == "" {
		return nil, nil
	}
	if _, err := webAddress("--endpoint", address, receivesEvents); err != nil {
		return nil, err
	}
	secret, err := a.readSecret(ctx, file)
	if err != nil {
		return nil, err
	}
	return []sandbox.Webhook{{URL: address, Secret: secret}}, nil
}

// exportLines returns the lines to paste into another terminal, so that its commands use the
// sandbox.
func exportLines(address, system string) string {
	form := "  export %s=%s\n"
	if system == "windows" {
		form = "  $env:%s = \"%s\"\n"
	}
	return "To use it from another terminal, paste these lines there:\n" +
		fmt.Sprintf(form, "FILING_BASE_URL", address) + fmt.Sprintf(form, "FILING_API_KEY",
		// Each start has a separate organization.
		"sk_test_"+strings.ToLower(rand.Text()[:8]))
}

// readCompanies reads the companies that the sandbox starts with. Without a file it returns none.
func readCompanies(path string) ([]sandbox.Company, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the list of companies: %w", err)
	}
	defer f.Close()
	return sandbox.ReadCompanies(f)
}
