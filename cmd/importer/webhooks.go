package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bulkfiling/internal/filing"
	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/webhook"
)

func (a *app) webhooksCommand() *cobra.Command {
	return family("webhooks", "Register where the service's events arrive",
		`webhooks are the endpoints to which the service delivers its events, each with a
signing secret that it tells once. The secrets are sealed into the ledger, where
importer serve and the workers find them. The service shows no way to list its
endpoints or to delete one: what is listed here is what was kept here.`,
		"  importer webhooks create --url https://filings.example.com"+webhook.Path+"\n  importer webhooks list",
		a.webhooksCreateCommand(), a.webhooksAddCommand(), a.webhooksListCommand(), a.webhooksRemoveCommand())
}

// endpoints is what these commands need of the ledger.
type endpoints interface {
	Secrets(context.Context) ([]string, error)
	Set(ctx context.Context, e ledger.Endpoint, secret string) error
	List(ctx context.Context) ([]ledger.Endpoint, error)
	Delete(ctx context.Context, id string) error
}

func (a *app) webhooksCreateCommand() *cobra.Command {
	var m manner
	var address string
	var types []string
	var hide bool
	c := &cobra.Command{
		Use:   "create --url URL",
		Short: "Register an endpoint at the service and keep its signing secret",
		Long: `create registers an endpoint, prints the signing secret this once, and seals it
into the ledger. Register before the first order: what happened before is not told.

The same command again registers another endpoint, to which every event is
delivered as well.`,
		Example: "  importer webhooks create --url https://filings.example.com" + webhook.Path +
			"\n  importer webhooks create --url https://filings.example.com" + webhook.Path +
			" --event-type filing.status_changed --yes --hide-secret",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := isWebAddress(address); err != nil {
				return err
			}
			client, err := a.service()
			if err != nil {
				return err
			}
			return a.withAnyLedger(c.Context(), func(l *ledger.Ledger) error {
				return a.createEndpoint(c.Context(), client, l.Endpoints(), address, types, hide, m)
			})
		},
	}
	c.Flags().StringVar(&address, "url", "", "the endpoint's address, https")
	c.Flags().StringSliceVar(&types, "event-type", filing.EventTypes, "the events to deliver; repeat it for several")
	c.Flags().BoolVar(&hide, "hide-secret", false, "do not print the signing secret")
	m.changes(c)
	return c
}

// createEndpoint registers an endpoint. Its secret is told once and can be had
// in no other way, so that it is printed, whatever was asked for, where it could
// not be kept.
func (a *app) createEndpoint(ctx context.Context, client *filingapi.Client, l endpoints, address string,
	types []string, hide bool, m manner) error {
	kept, err := l.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range kept {
		if e.URL == address {
			a.say("%s", a.paint.yellow(
				fmt.Sprintf(
					"ATTENTION: %s is registered for this address already; every event will be delivered twice.",
					e.ID)))
		}
	}
	if _, err := l.Secrets(ctx); err != nil {
		return fmt.Errorf(
			"%w: this machine has another sealing key than the one that keeps the others; give it theirs "+
				"(FILING_SEAL_KEY) first", err)
	}
	if err := a.agreed(ctx, m, "A new endpoint:",
		[][]string{{"url", address}, {"eventTypes", strings.Join(types, ", ")}}, "Register it?"); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	var answer json.RawMessage
	made, err := client.CreateEndpoint(filingapi.KeepBody(ctx, &answer), address, types)
	if err != nil {
		return failed(
			err, "it may have been registered, and nobody knows its secret: its deliveries will be refused. The "+
				"same command again registers another one; ask the service to delete this one")
	}
	id := cmp.Or(made.ID, newEndpointID())
	if made.Secret == "" {
		return errors.Join(a.show(m, answer),
			&status{
				code: exitFailed,
				err: fmt.Errorf(
					"the endpoint %s is registered, and no signing secret is in the answer above; once you have it: "+
						"importer webhooks add --id %s --url %s --secret-file FILE", id, id, address),
			})
	}
	err = l.Set(acting(ctx, "webhook-create", id, address), ledger.Endpoint{ID: id, URL: address}, made.Secret)
	if hide && err == nil {
		answer = bytes.ReplaceAll(answer, quoted(made.Secret), quoted("(kept)"))
	}
	err = errors.Join(a.show(m, answer), err)
	if err != nil {
		return &status{
			code: exitFailed,
			err: fmt.Errorf(
				"the endpoint %s is registered, and its secret could not be kept: put it into a file, and then: "+
					"importer webhooks add --id %s --url %s --secret-file FILE: %w", id, id, address, err),
		}
	}
	a.say("The endpoint %s is registered, and its signing secret is kept.", id)
	if !hide {
		a.say("The secret is shown this once; whoever has it can forge events.")
	}
	return nil
}

// quoted is a text as it stands in JSON.
func quoted(text string) []byte {
	document, _ := json.Marshal(text) // a string always can
	return document
}

// newEndpointID names an endpoint for which the service has no name.
func newEndpointID() string { return "local_" + strings.ToLower(rand.Text()[:8]) }

func isWebAddress(address string) error {
	u, err := url.Parse(address)
	if address == "" || err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return usage("--url is the address that the service is to deliver to, such as https://filings.example.com" +
			webhook.Path)
	}
	return nil
}

func (a *app) webhooksAddCommand() *cobra.Command {
	var m manner
	var e ledger.Endpoint
	var file string
	c := &cobra.Command{
		Use:   "add --url URL --secret-file FILE",
		Short: "Keep the signing secret of an endpoint that was registered elsewhere",
		Long: `add seals a signing secret into the ledger, so that deliveries under it are
accepted. Nothing is sent to the service. The secret is read from a file, or from
the standard input where FILE is -, so that it stands in no list of processes.`,
		Example: "  importer webhooks add --id we_17 --url https://filings.example.com" + webhook.Path +
			" --secret-file secret.txt --yes",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := isWebAddress(e.URL); err != nil {
				return err
			}
			if file == "" {
				return usage("the secret is read from a file: --secret-file FILE")
			}
			if file == "-" && !m.yes {
				return usage("with --secret-file - there is nobody to ask: give --yes")
			}
			secret, err := a.secretIn(c.Context(), file)
			if err != nil {
				return err
			}
			e.ID = cmp.Or(e.ID, newEndpointID())
			return a.withAnyLedger(c.Context(),
				func(l *ledger.Ledger) error { return a.addEndpoint(c.Context(), l.Endpoints(), e, secret, m) })
		},
	}
	c.Flags().StringVar(&e.ID, "id", "", "the service's name for the endpoint; without it one is made up")
	c.Flags().StringVar(&e.URL, "url", "", "the endpoint's address")
	c.Flags().StringVar(&file, "secret-file", "", "a file that holds the signing secret; - for the standard input")
	c.Flags().BoolVarP(&m.yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) addEndpoint(ctx context.Context, l endpoints, e ledger.Endpoint, secret string, m manner) error {
	if err := a.agreed(ctx, m, "Deliveries under the signing secret of this endpoint are to be accepted:",
		[][]string{{"id", e.ID}, {"url", e.URL}}, "Keep its secret?"); err != nil {
		return err
	}
	if err := l.Set(acting(ctx, "webhook-add", e.ID, e.URL), e, secret); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "The signing secret of %s is kept.\n", e.ID)
	return nil
}

// secretIn reads a secret from a file, or from the standard input.
func (a *app) secretIn(ctx context.Context, file string) (string, error) {
	in := a.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("read the secret: %w", err)
		}
		defer f.Close()
		in = f
	}
	const longest = 4096
	content, err := typed(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(in, longest+1)) })
	secret := strings.TrimSpace(string(content))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the secret: %w", err)
	case secret == "":
		return "", fmt.Errorf("read the secret: %s is empty", file)
	case len(content) > longest || strings.ContainsAny(secret, " \t\r\n"):
		return "", fmt.Errorf("read the secret: %s holds more than a secret", file)
	}
	return secret, nil
}

func (a *app) webhooksListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the endpoints whose signing secrets are kept here",
		Example: "  importer webhooks list\n  importer webhooks list --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.listing(c.Context(), "No endpoint is known",
				func(l *ledger.Ledger) error { return a.listEndpoints(c.Context(), l.Endpoints(), asJSON) })
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON line per endpoint")
	return c
}

func (a *app) listEndpoints(ctx context.Context, l endpoints, asJSON bool) error {
	all, err := l.List(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		lines := json.NewEncoder(a.out)
		for _, e := range all {
			line := struct {
				ID        string    `json:"id"`
				URL       string    `json:"url"`
				CreatedAt time.Time `json:"createdAt"`
			}{e.ID, e.URL, e.CreatedAt.UTC()}
			if err := lines.Encode(line); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		a.say("No endpoint is kept. Begin with: importer webhooks create --url https://HOST" + webhook.Path)
		return nil
	}
	table := lineUp(a.out)
	fmt.Fprintln(table, "ENDPOINT\tKEPT\tURL")
	for _, e := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\n", plain(e.ID), e.CreatedAt.Local().Format("2006-01-02 15:04"), plain(e.URL))
	}
	return table.Flush()
}

func (a *app) webhooksRemoveCommand() *cobra.Command {
	var m manner
	c := &cobra.Command{
		Use:   "remove ENDPOINT",
		Short: "Forget an endpoint: deliveries under its signing secret are refused",
		Long: `remove drops the signing secret of an endpoint, for good. The service shows no way
to delete an endpoint and goes on delivering to it; those deliveries are refused.`,
		Example: "  importer webhooks remove we_17",
		Args:    one("endpoint: importer webhooks list shows them"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withLedger(c.Context(),
				func(l *ledger.Ledger) error { return a.removeEndpoint(c.Context(), l.Endpoints(), args[0], m) })
		},
	}
	c.Flags().BoolVarP(&m.yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) removeEndpoint(ctx context.Context, l endpoints, id string, m manner) error {
	all, err := l.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.ID != id {
			continue
		}
		if err := a.agreed(
			ctx, m, "The signing secret of this endpoint is to be dropped, and deliveries under it refused:",
			[][]string{
				{"id", e.ID}, {"url", e.URL},
			}, "Drop it?"); err != nil {
			return err
		}
		if err := l.Delete(acting(ctx, "webhook-remove", id, ""), id); err != nil {
			return err
		}
		fmt.Fprintf(
			a.out, "The signing secret of %s is dropped. The service goes on delivering to it; ask the service to "+
				"delete it.\n", id)
		return nil
	}
	return fmt.Errorf("there is no endpoint %s here: importer webhooks list shows those that are kept", id)
}
