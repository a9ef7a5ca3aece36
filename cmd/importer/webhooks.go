package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

func newWebhooksCommand(g *global) *cobra.Command {
	return newGroupCommand("webhooks", "Manage the endpoints that receive events",
		`An endpoint is an address where the filing service delivers events. Each has a
signing secret, which the filing service shows once. The secrets are sealed in the
ledger, where importer serve finds them. The filing service cannot
list or delete endpoints, so this command lists the endpoints that it stored.`,
		"  importer webhooks create --url https://filings.example.com"+webhook.Path+"\n  importer webhooks list",
		newWebhooksCreateCommand(g), newWebhooksAddCommand(g), newWebhooksRemoveCommand(g),
		newListCommand(g, "webhooks list", "List the endpoints whose signing secrets are stored", "No endpoints",
			"endpoint", runWebhooksList))
}

// endpoints stores endpoints and their signing secrets.
type endpoints interface {
	Secrets(context.Context) ([]string, error)
	Set(ctx context.Context, e webhook.Endpoint, secret string) error
	List(ctx context.Context) ([]webhook.Endpoint, error)
	Delete(ctx context.Context, id string) error
}

// receivesEvents describes the address of an endpoint.
const receivesEvents = "the address that receives events, such as https://filings.example.com" + webhook.Path

// newEndpointID returns an ID for an endpoint without an ID of the filing service.
func newEndpointID() string { return "local_" + strings.ToLower(rand.Text()[:8]) }

// webhooksCreateOptions are the options of webhooks create.
type webhooksCreateOptions struct {
	url        string
	eventTypes []string
	yes        bool
}

func newWebhooksCreateCommand(g *global) *cobra.Command {
	var o webhooksCreateOptions
	c := &cobra.Command{
		Use:   "create --url URL",
		Short: "Register an endpoint and store its signing secret",
		Long: `create registers an endpoint with the filing service, stores its signing secret
sealed in the ledger, and prints the answer without it. Register before the first
order: earlier events are not delivered.`,
		Example: "  importer webhooks create --url https://filings.example.com" + webhook.Path +
			"\n  importer webhooks create --url https://filings.example.com" + webhook.Path +
			" --event-type filing.status_changed --yes",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if _, err := webAddress("--url", o.url, receivesEvents); err != nil {
				return err
			}
			client, err := newClient(g)
			if err != nil {
				return err
			}
			return withAnyLedger(c.Context(), g, func(l openLedger) error {
				return runWebhooksCreate(c.Context(), o, g.terminal, client, webhook.NewEndpoints(l.DB))
			})
		},
	}
	c.Flags().StringVar(&o.url, "url", "", "the https address of the endpoint")
	c.Flags().StringSliceVar(&o.eventTypes, "event-type", filing.EventTypes,
		"the events to deliver; repeat it for several")
	addYesFlag(c, &o.yes, "do not ask")
	return c
}

// runWebhooksCreate registers an endpoint. The filing service shows its secret only once, so a
// secret that could not be stored is printed.
func runWebhooksCreate(ctx context.Context, o webhooksCreateOptions, t *terminal, client *filingapi.Client,
	stored endpoints) error {
	known, err := stored.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range known {
		if e.URL == o.url {
			t.say("%s", t.yellow("Warning: "+e.ID+" is already registered for this address. Every event will be "+
				"delivered twice."))
		}
	}
	if _, err := stored.Secrets(ctx); err != nil {
		return fmt.Errorf("%w: this machine has a different sealing key than the other machines. Set FILING_SEAL_KEY "+
			"to theirs first", err)
	}
	t.say("A new endpoint:\n  url         %s\n  eventTypes  %s", o.url, strings.Join(o.eventTypes, ", "))
	if err := t.ask(ctx, o.yes, "Register it?", "Nothing was changed."); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	made, err := client.CreateEndpoint(ctx, o.url, o.eventTypes)
	if err != nil {
		return changeError(
			err, "it may have been registered, but its secret is lost, so its deliveries will be refused. Run the "+
				"same command again to register another one, and ask the filing service to delete this one")
	}
	id := cmp.Or(made.ID, newEndpointID())
	toAdd := fmt.Sprintf("importer webhooks add --id %s --url %s --secret-file FILE", id, o.url)
	if made.Secret == "" {
		t.print("%s", made.Answer)
		return &status{exitFailed, fmt.Errorf("the endpoint %s is registered, but the answer above has no signing "+
			"secret. Once you have it: %s", id, toAdd)}
	}
	err = stored.Set(withAudit(ctx, "webhook-create", id, o.url), webhook.Endpoint{ID: id, URL: o.url}, made.Secret)
	if err != nil {
		t.print("%s", made.Answer)
		return &status{exitFailed, fmt.Errorf("the endpoint %s is registered, but its secret could not be stored. "+
			"Save it to a file, then run: %s: %w", id, toAdd, err)}
	}
	t.say("Endpoint %s is registered, and its signing secret is stored.", id)
	// The answer has the secret, so only these of its fields are printed.
	t.printJSON(map[string]any{"id": id, "url": o.url, "eventTypes": o.eventTypes})
	return nil
}

// webhooksAddOptions are the options of webhooks add.
type webhooksAddOptions struct {
	webhook.Endpoint
	secretFile string
	yes        bool
}

func newWebhooksAddCommand(g *global) *cobra.Command {
	var o webhooksAddOptions
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
			if _, err := webAddress("--url", o.URL, receivesEvents); err != nil {
				return err
			}
			if o.secretFile == "" {
				return usage("name a file with the secret: --secret-file FILE")
			}
			if o.secretFile == "-" && !o.yes {
				return usage("--secret-file - needs --yes")
			}
			secret, err := g.terminal.readSecret(c.Context(), o.secretFile)
			if err != nil {
				return err
			}
			return withAnyLedger(c.Context(), g, func(l openLedger) error {
				return runWebhooksAdd(c.Context(), o, g.terminal, webhook.NewEndpoints(l.DB), secret)
			})
		},
	}
	c.Flags().StringVar(&o.ID, "id", "", "the filing service's ID of the endpoint (default: generated)")
	c.Flags().StringVar(&o.URL, "url", "", "the endpoint's address")
	c.Flags().StringVar(&o.secretFile, "secret-file", "", "a file with the signing secret; - for stdin")
	addYesFlag(c, &o.yes, "do not ask")
	return c
}

func runWebhooksAdd(ctx context.Context, o webhooksAddOptions, t *terminal, stored endpoints, secret string) error {
	e := o.Endpoint
	e.ID = cmp.Or(e.ID, newEndpointID())
	t.say("Events signed with the secret of this endpoint will be accepted:\n  id   %s\n  url  %s", e.ID, e.URL)
	if err := t.ask(ctx, o.yes, "Store its secret?", "Nothing was changed."); err != nil {
		return err
	}
	if err := stored.Set(withAudit(ctx, "webhook-add", e.ID, e.URL), e, secret); err != nil {
		return err
	}
	t.print("The signing secret of %s was stored.", e.ID)
	return nil
}

func runWebhooksList(ctx context.Context, t *terminal, l *ledger.Ledger, asJSON bool) error {
	all, err := webhook.NewEndpoints(l.DB).List(ctx)
	if err != nil {
		return err
	}
	list[webhook.Endpoint]{
		empty:   "No endpoints yet. To register one: importer webhooks create --url https://HOST" + webhook.Path,
		columns: "ENDPOINT\tSTORED\tURL",
		cells:   func(e webhook.Endpoint) []any { return []any{legible(e.ID), localTime(e.CreatedAt), legible(e.URL)} },
	}.print(t, all, asJSON)
	return nil
}

func newWebhooksRemoveCommand(g *global) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "remove ENDPOINT",
		Short: "Delete the signing secret of an endpoint; its events are refused",
		Long: `remove permanently deletes the signing secret of an endpoint. The filing service has
no way to delete an endpoint, so it keeps sending events; they are refused.`,
		Example: "  importer webhooks remove we_17",
		Args:    one("endpoint (importer webhooks list shows them)"),
		RunE: onLedger(g, func(ctx context.Context, l openLedger, args []string) error {
			return runWebhooksRemove(ctx, g.terminal, webhook.NewEndpoints(l.DB), args[0], yes)
		}),
	}
	addYesFlag(c, &yes, "do not ask")
	return c
}

func runWebhooksRemove(ctx context.Context, t *terminal, stored endpoints, id string, yes bool) error {
	all, err := stored.List(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(e webhook.Endpoint) bool { return e.ID == id })
	if i < 0 {
		return fmt.Errorf("there is no endpoint %s (importer webhooks list shows them)", id)
	}
	t.say("The signing secret of this endpoint will be deleted, and its events refused:\n  id   %s\n  url  %s", id,
		all[i].URL)
	if err := t.ask(ctx, yes, "Delete it?", "Nothing was changed."); err != nil {
		return err
	}
	if err := stored.Delete(withAudit(ctx, "webhook-remove", id, ""), id); err != nil {
		return err
	}
	t.print("The signing secret of %s was deleted. The filing service keeps sending events; ask it to delete the "+
		"endpoint.", id)
	return nil
}
