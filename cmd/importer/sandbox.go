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

// sandboxOptions are the options of sandbox.
type sandboxOptions struct {
	sandbox.Config
	listen, balance, companies string
	// endpoint is the address of an endpoint, and endpointSecret the file with its signing secret.
	endpoint, endpointSecret string
}

func newSandboxCommand(g *global) *cobra.Command {
	o := sandboxOptions{Config: sandbox.Config{AutoSeed: true, Seed: 1}}
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
		RunE: func(c *cobra.Command, _ []string) error { return runSandbox(c.Context(), o, g.terminal) },
	}
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:4010", "the address to listen on")
	f.StringVar(&o.balance, "balance", "10000", "the prepaid balance in dollars")
	f.StringVar(&o.companies, "companies", "",
		"a CSV of companies on file: id, legalName, entityType, formationState")
	f.DurationVar(&o.Latency, "latency", 20*time.Millisecond, "the time every answer takes")
	f.DurationVar(&o.Advance, "advance", 0, "advance every filing one step this often; 0 for never")
	f.StringVar(&o.endpoint, "endpoint", "", "an address that receives all events from the start")
	f.StringVar(&o.endpointSecret, "endpoint-secret-file", "", "a file with the signing secret of --endpoint")
	c.AddCommand(newSandboxDoCommand(g))
	return c
}

func runSandbox(ctx context.Context, o sandboxOptions, t *terminal) error {
	opening, err := money.Parse(o.balance)
	if err != nil {
		return err
	}
	o.OpeningBalance = int64(opening)
	if o.companies != "" {
		f, err := os.Open(o.companies)
		if err != nil {
			return fmt.Errorf("open the list of companies: %w", err)
		}
		defer f.Close()
		if o.Companies, err = sandbox.ReadCompanies(f); err != nil {
			return err
		}
	}
	if (o.endpoint == "") != (o.endpointSecret == "") {
		return usage("--endpoint and --endpoint-secret-file go together")
	}
	if o.endpoint != "" {
		if _, err := webAddress("--endpoint", o.endpoint, receivesEvents); err != nil {
			return err
		}
		secret, err := t.readSecret(ctx, o.endpointSecret)
		if err != nil {
			return err
		}
		o.Webhooks = []sandbox.Webhook{{URL: o.endpoint, Secret: secret}}
	}
	service := sandbox.New(o.Config)
	defer service.Close()
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	address := "http://" + reachable(l.Addr())
	t.print("The sandbox is at %s (its orders and balance). Any key that begins with sk_test_ works.\n%s\n"+
		"Press Ctrl-C to stop it.", address, exportLines(address+"/v1", runtime.GOOS))
	return service.Serve(ctx, l)
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
