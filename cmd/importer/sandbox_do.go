package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

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
				return list[sandbox.Action]{
					columns: "CONTROL\tMEANING\tFIELDS",
					cells:   func(c sandbox.Action) []any { return []any{c.Name, c.Help, c.Fields} },
				}.print(g.terminal, sandbox.Actions, false)
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
	body, err := actionBody(pairs)
	if err != nil {
		return err
	}
	answer, err := askSandbox(ctx, at, name, body)
	if err == nil {
		t.print("%s", answer)
	}
	return err
}

// actionBody parses key=value pairs into an object. A value that is JSON, such as a number or true,
// keeps its type. Any other value is a text.
func actionBody(pairs []string) (map[string]any, error) {
	body := make(map[string]any)
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, usage("%s is not key=value", pair)
		}
		if body[name] = value; json.Valid([]byte(value)) {
			body[name] = json.RawMessage(value)
		}
	}
	return body, nil
}

// askSandbox sends a control to a sandbox and returns its answer. The address can end in /v1, like
// the address of its API.
func askSandbox(ctx context.Context, at, name string, body map[string]any) (json.RawMessage, error) {
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
	if errors.Is(err, syscall.ECONNREFUSED) || os.IsTimeout(err) {
		return nil, fmt.Errorf(
			"no sandbox answers at %s: start one with importer sandbox, or give its address with --at", at)
	}
	if err != nil {
		return nil, fmt.Errorf("ask the sandbox: %w", err)
	}
	defer res.Body.Close()
	var raw json.RawMessage
	if err := json.NewDecoder(res.Body).Decode(&raw); err != nil {
		return nil, fmt.Errorf("the server at %s is not a sandbox: %s", at, res.Status)
	}
	if res.StatusCode != http.StatusOK {
		var answer struct{ Message string }
		// The status is shown if the answer has no message.
		_ = json.Unmarshal(raw, &answer)
		if answer.Message == "" {
			answer.Message = res.Status
		}
		return nil, fmt.Errorf("the sandbox refused the request: %s", answer.Message)
	}
	return raw, nil
}
