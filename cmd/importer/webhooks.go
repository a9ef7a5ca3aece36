package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

func (a *app) webhooksCommand() *cobra.Command {
	return groupCommand("webhooks", "Manage the endpoints that receive events",
		`An endpoint is an address where the filing service delivers events. Each has a
signing secret, which the filing service shows once. The secrets are sealed in the
ledger, where importer serve finds them. The filing service cannot
list or delete endpoints, so this command lists the endpoints that it stored.`,
		"  importer webhooks create --url https://filings.example.com"+webhook.Path+"\n  importer webhooks list",
		a.webhooksCreateCommand(), a.webhooksAddCommand(), a.webhooksListCommand(), a.webhooksRemoveCommand())
}

// endpoints stores endpoints and their signing secrets.
type endpoints interface {
	Secrets(context.Context) ([]string, error)
	Set(ctx context.Context, e ledger.Endpoint, secret string) error
	List(ctx context.Context) ([]ledger.Endpoint, error)
	Delete(ctx context.Context, id string) error
}

func (a *app) webhooksCreateCommand() *cobra.Command {
	var yes bool
	var address string
	var types []string
	c := &cobra.Command{
		Use:   "create --url URL",
		Short: "Register an endpoint and store its signing secret",
		Long: `create registers an endpoint with the filing service, stores its signing secret
sealed in the ledger, and prints the answer without it. Register before the first
order: earlier events are not delivered.

Running the same command again registers another endpoint, which receives every
event as well.`,
		Example: "  importer webhooks create --url https://filings.example.com" + webhook.Path +
			"\n  importer webhooks create --url https://filings.example.com" + webhook.Path +
			" --event-type filing.status_changed --yes",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := webAddress("--url", address, receivesEvents); err != nil {
				return err
			}
			client, err := a.service()
			if err != nil {
				return err
			}
			return a.withAnyLedger(c.Context(), func(l *ledger.Ledger) error {
				return a.createEndpoint(c.Context(), client, l.Endpoints(), address, types, yes)
			})
		},
	}
	c.Flags().StringVar(&address, "url", "", "the https address of the endpoint")
	c.Flags().StringSliceVar(&types, "event-type", filing.EventTypes, "the events to deliver; repeat it for several")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// createEndpoint registers an endpoint. The filing service shows its secret only once, so a secret
// that could not be stored is printed.
func (a *app) createEndpoint(ctx context.Context, client *filingapi.Client, l endpoints, address string,
	types []string, yes bool) error {
	kept, err := l.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range kept {
		if e.URL == address {
			a.say("%s", a.paint.yellow("Warning: "+e.ID+" is already registered for this address. Every event will "+
				"be delivered twice."))
		}
	}
	if _, err := l.Secrets(ctx); err != nil {
		return fmt.Errorf(
			"%w: this machine has a different sealing key than the other machines. Set FILING_SEAL_KEY to theirs "+
				"first", err)
	}
	if err := a.confirmChange(ctx, yes, "A new endpoint:",
		[][]string{{"url", address}, {"eventTypes", strings.Join(types, ", ")}}, "Register it?"); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	made, err := client.CreateEndpoint(ctx, address, types)
	if err != nil {
		return changeError(
			err, "it may have been registered, but its secret is lost, so its deliveries will be refused. Run the "+
				"same command again to register another one, and ask the filing service to delete this one")
	}
	id := cmp.Or(made.ID, newEndpointID())
	toAdd := fmt.Sprintf("importer webhooks add --id %s --url %s --secret-file FILE", id, address)
	if made.Secret == "" {
		fmt.Fprintf(a.out, "%s\n", made.Answer)
		return &status{exitFailed, fmt.Errorf("the endpoint %s is registered, but the answer above has no signing "+
			"secret. Once you have it: %s", id, toAdd)}
	}
	err = l.Set(withAudit(ctx, "webhook-create", id, address), ledger.Endpoint{ID: id, URL: address}, made.Secret)
	if err != nil {
		fmt.Fprintf(a.out, "%s\n", made.Answer)
		return &status{exitFailed, fmt.Errorf("the endpoint %s is registered, but its secret could not be stored. "+
			"Save it to a file, then run: %s: %w", id, toAdd, err)}
	}
	a.say("Endpoint %s is registered, and its signing secret is stored.", id)
	// The answer has the secret, so only these of its fields are printed.
	return json.NewEncoder(a.out).Encode(map[string]any{"id": id, "url": address, "eventTypes": types})
}

// newEndpointID returns an ID for an endpoint without an ID of the filing service.
func newEndpointID() string { return "local_" + strings.ToLower(rand.Text()[:8]) }

// receivesEvents describes the address of an endpoint.
const receivesEvents = "the address that receives events, such as https://filings.example.com" + webhook.Path

func (a *app) webhooksAddCommand() *cobra.Command {
	var yes bool
	var e ledger.Endpoint
	var file string
	c := &cobra.Command{
		Use:   "add --url URL --secret-file FILE",
		Short: "Store the signing secret of an endpoint registered elsewhere",
		Long: `add stores a signing secret sealed in the ledger, so that its events are accepted.
Nothing is sent to the filing service. The secret is read from a file, or from stdin
if FILE is -, so that it does not show in a list of processes.`,
		Example: "  importer webhooks add --id we_17 --url https://filings.example.com" + webhook.Path +
			" --secret-file secret.txt --yes",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := webAddress("--url", e.URL, receivesEvents); err != nil {
				return err
			}
			if file == "" {
				return usage("name a file with the secret: --secret-file FILE")
			}
			if file == "-" && !yes {
				return usage("--secret-file - needs --yes")
			}
			secret, err := a.readSecret(c.Context(), file)
			if err != nil {
				return err
			}
			e.ID = cmp.Or(e.ID, newEndpointID())
			return a.withAnyLedger(c.Context(),
				func(l *ledger.Ledger) error { return a.addEndpoint(c.Context(), l.Endpoints(), e, secret, yes) })
		},
	}
	c.Flags().StringVar(&e.ID, "id", "", "the filing service's ID of the endpoint (default: generated)")
	c.Flags().StringVar(&e.URL, "url", "", "the endpoint's address")
	c.Flags().StringVar(&file, "secret-file", "", "a file with the signing secret; - for stdin")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) addEndpoint(ctx context.Context, l endpoints, e ledger.Endpoint, secret string, yes bool) error {
	if err := a.confirmChange(ctx, yes, "Events signed with the secret of this endpoint will be accepted:",
		[][]string{{"id", e.ID}, {"url", e.URL}}, "Store its secret?"); err != nil {
		return err
	}
	if err := l.Set(withAudit(ctx, "webhook-add", e.ID, e.URL), e, secret); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "The signing secret of %s was stored.\n", e.ID)
	return nil
}

// readSecret reads a secret from a file, or from stdin if the file is "-".
func (a *app) readSecret(ctx context.Context, file string) (string, error) {
	in, name := a.in, "stdin"
	if file != "-" {
		name = file
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("read the secret: %w", err)
		}
		defer f.Close()
		in = f
	}
	const longest = 4096
	content, err := readTyped(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(in, longest+1)) })
	secret := strings.TrimSpace(string(content))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the secret: %w", err)
	case secret == "":
		return "", fmt.Errorf("read the secret: %s is empty", name)
	case len(content) > longest || strings.ContainsAny(secret, " \t\r\n"):
		return "", fmt.Errorf("read the secret: %s has more than one word", name)
	}
	return secret, nil
}

func (a *app) webhooksListCommand() *cobra.Command {
	return a.listCommand("webhooks list", "List the endpoints whose signing secrets are stored", "No endpoints",
		"endpoint", a.listEndpoints)
}

func (a *app) listEndpoints(ctx context.Context, l *ledger.Ledger, asJSON bool) error {
	all, err := l.Endpoints().List(ctx)
	if err != nil {
		return err
	}
	return list[ledger.Endpoint]{
		empty:   "No endpoints yet. To register one: importer webhooks create --url https://HOST" + webhook.Path,
		columns: "ENDPOINT\tSTORED\tURL",
		cells:   func(e ledger.Endpoint) []any { return []any{legible(e.ID), localTime(e.CreatedAt), legible(e.URL)} },
	}.print(a, all, asJSON)
}

func (a *app) webhooksRemoveCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "remove ENDPOINT",
		Short: "Delete the signing secret of an endpoint; its events are refused",
		Long: `remove permanently deletes the signing secret of an endpoint. The filing service has
no way to delete an endpoint, so it keeps sending events; they are refused.`,
		Example: "  importer webhooks remove we_17",
		Args:    one("endpoint (importer webhooks list shows them)"),
		RunE: a.onLedger(func(ctx context.Context, l *ledger.Ledger, args []string) error {
			return a.removeEndpoint(ctx, l.Endpoints(), args[0], yes)
		}),
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) removeEndpoint(ctx context.Context, l endpoints, id string, yes bool) error {
	all, err := l.List(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(e ledger.Endpoint) bool { return e.ID == id })
	if i < 0 {
		return fmt.Errorf("there is no endpoint %s (importer webhooks list shows them)", id)
	}
	if err := a.confirmChange(ctx, yes, "The signing secret of this endpoint will be deleted, and its events refused:",
		[][]string{{"id", id}, {"url", all[i].URL}}, "Delete it?"); err != nil {
		return err
	}
	if err := l.Delete(withAudit(ctx, "webhook-remove", id, ""), id); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "The signing secret of %s was deleted. The filing service keeps sending events; ask it to "+
		"delete the endpoint.\n", id)
	return nil
}
