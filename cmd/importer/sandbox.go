package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
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
company has no legal name on file, but those of --companies have. Nothing is kept when
it ends.

Filings stay as they are until you advance them, or move on a clock with --advance.
Events go to the registered endpoints, signed, and are retried until accepted.

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

func newSandboxDoCommand(g *global) *cobra.Command {
	var at string
	c := &cobra.Command{
		Use:   "do [NAME [key=value]…]",
		Short: "Control a running sandbox, or list the controls",
		Long: `do controls a running sandbox and prints its answer as JSON. Without a name it lists the
controls with an example of each key.`,
		Example: `  importer sandbox do
  importer sandbox do advance all=true status=filed
  importer sandbox do fault kind=reset after=true rate=0.05
  importer sandbox do fault kind=status status=503 times=3 endpoint="GET /companies/{id}"
  importer sandbox do deposit amount=2500`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				list[sandbox.Action]{
					columns: "CONTROL\tMEANING\tFIELDS",
					cells:   func(c sandbox.Action) []any { return []any{c.Name, c.Help, c.Fields} },
				}.print(g.terminal, sandbox.Actions, false)
				return nil
			}
			return runSandboxDo(c.Context(), g.terminal, at, args[0], args[1:])
		},
	}
	c.Flags().StringVar(&at, "at", "http://127.0.0.1:4010", "the address of the sandbox")
	return c
}

func runSandboxDo(ctx context.Context, t *terminal, at, name string, pairs []string) error {
	if !slices.ContainsFunc(sandbox.Actions, func(a sandbox.Action) bool { return a.Name == name }) {
		return usage("the sandbox has no control %s: importer sandbox do lists them", name)
	}
	body := make(map[string]any)
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return usage("%s is not key=value", pair)
		}
		// A value that is JSON, such as a number or true, keeps its type. Any other value is a text.
		if body[name] = value; json.Valid([]byte(value)) {
			body[name] = json.RawMessage(value)
		}
	}
	answer, err := askSandbox(ctx, at, name, body)
	if err == nil {
		t.print("%s", answer)
	}
	return err
}

// askSandbox sends a control to a sandbox and returns its answer. The address can end in /v1, like
// the address of its API.
func askSandbox(ctx context.Context, at, name string, body map[string]any) ([]byte, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, usage("the keys cannot be sent: %w", err)
	}
	base := strings.TrimSuffix(strings.TrimRight(at, "/"), "/v1")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/admin/"+name, bytes.NewReader(content))
	if err != nil {
		return nil, usage("--at %s: %w", at, err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no sandbox answers at %s: start one with importer sandbox, or give its address with "+
			"--at (%w)", at, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		var refused struct{ Message string }
		// The status is shown if the answer has no message.
		_ = json.Unmarshal(answer, &refused)
		err = fmt.Errorf("the sandbox refused the request: %s", cmp.Or(refused.Message, res.Status))
	}
	return bytes.TrimSpace(answer), err
}
