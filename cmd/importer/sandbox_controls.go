package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"bulkfiling/internal/money"
	"bulkfiling/internal/sandbox"
)

// fields is the body of a control.
type fields map[string]any

// sandboxAnswer is what the controls of the sandbox answer, all of them together.
type sandboxAnswer struct {
	Message string
	Balance json.Number
	Mode    string
	Moved   int
	Events  json.RawMessage // their ids, or their number
	EventID string
	// Behaviors are those that are on.
	Behaviors []string
	CompanyID string
	EIN       string
	Faults    []struct {
		Name, Endpoint, CompanyID string
		Nth, Times, Fired         int
		Rate                      float64
	}
}

// sandboxRequest is a command that acts on a sandbox that runs.
type sandboxRequest struct {
	use, short, example string
	args                cobra.PositionalArgs
	flags               func(*cobra.Command)
	ask                 func(c *cobra.Command, args []string) (method, path string, body fields, err error)
	say                 func(a *app, answer sandboxAnswer)
}

func (a *app) sandboxControls() []*cobra.Command {
	commands := make([]*cobra.Command, len(sandboxRequests))
	for i, request := range sandboxRequests {
		var at string
		var asJSON bool
		c := &cobra.Command{Use: request.use, Short: request.short, Example: request.example, Args: request.args}
		c.RunE = func(c *cobra.Command, args []string) error {
			method, path, body, err := request.ask(c, args)
			if err != nil {
				return err
			}
			raw, err := askSandbox(c.Context(), at, method, path, body)
			if err != nil {
				return err
			}
			if asJSON {
				fmt.Fprintf(a.out, "%s\n", raw)
				return nil
			}
			var answer sandboxAnswer
			if err := json.Unmarshal(raw, &answer); err != nil {
				return fmt.Errorf("%s is not a sandbox: %w", at, err)
			}
			request.say(a, answer)
			return nil
		}
		if request.flags != nil {
			request.flags(c)
		}
		c.Flags().StringVar(&at, "at", "http://127.0.0.1:4010", "the address of the sandbox")
		c.Flags().BoolVar(&asJSON, "json", false, "print the sandbox's answer as JSON")
		commands[i] = c
	}
	return commands
}

var sandboxRequests = []sandboxRequest{
	{
		use:     "advance [ORDER]",
		short:   "Advance filings one step or to a status",
		args:    cobra.MaximumNArgs(1),
		example: "  importer sandbox advance --all\n  importer sandbox advance order_4be8 --status filed",
		flags: func(c *cobra.Command) {
			c.Flags().Bool("all", false, "every filing that is not finished")
			c.Flags().String("status", "", "the status to move to (default: the next one)")
		},
		ask: func(c *cobra.Command, args []string) (string, string, fields, error) {
			body, err := oneOrAll(c, args, "orderId", "an order")
			return http.MethodPost, "advance", body.with(c, "status", "status"), err
		},
		say: sayMoved,
	},
	{
		use:     "exception [ORDER]",
		short:   "Give filings an exception; advance resolves it",
		args:    cobra.MaximumNArgs(1),
		example: "  importer sandbox exception order_4be8 --code 482\n  importer sandbox exception --all",
		flags: func(c *cobra.Command) {
			c.Flags().Bool("all", false, "every filing that can have it")
			c.Flags().Int("code", 0, "463 to 465, 482, 483, 484 or 487; default: one that fits the filing")
		},
		ask: func(c *cobra.Command, args []string) (string, string, fields, error) {
			body, err := oneOrAll(c, args, "orderId", "an order")
			return http.MethodPost, "exception", body.with(c, "code", "code"), err
		},
		say: sayMoved,
	},
	{
		use:     "redeliver [EVENT]",
		short:   "Deliver events again, with the same bytes and ID",
		args:    cobra.MaximumNArgs(1),
		example: "  importer sandbox redeliver evt_9c01\n  importer sandbox redeliver --all --reverse --twice",
		flags: func(c *cobra.Command) {
			c.Flags().Bool("all", false, "every event so far")
			c.Flags().Bool("reverse", false, "newest first")
			c.Flags().Bool("twice", false, "each twice")
		},
		ask: func(c *cobra.Command, args []string) (string, string, fields, error) {
			body, err := oneOrAll(c, args, "eventId", "an event")
			return http.MethodPost, "redeliver", body.with(c, "reverse", "reverse").with(c, "twice", "twice"), err
		},
		say: func(a *app, answer sandboxAnswer) {
			n, _ := strconv.Atoi(string(answer.Events))
			fmt.Fprintf(a.out, "Delivered again: %s.\n", count(n, "event"))
		},
	},
	{
		use:     "test-delivery",
		short:   "Send a test event to every endpoint",
		args:    cobra.NoArgs,
		example: "  importer sandbox test-delivery",
		ask: func(*cobra.Command, []string) (string, string, fields, error) {
			return http.MethodPost, "test-delivery", fields{}, nil
		},
		say: func(a *app, answer sandboxAnswer) { fmt.Fprintf(a.out, "Sent: %s.\n", answer.EventID) },
	},
	{
		use:     "mail ORDER",
		short:   "Deliver registered agent mail",
		args:    cobra.ExactArgs(1),
		example: "  importer sandbox mail order_4be8",
		ask: func(_ *cobra.Command, args []string) (string, string, fields, error) {
			return http.MethodPost, "mail", fields{"orderId": args[0]}, nil
		},
		say: func(a *app, answer sandboxAnswer) { fmt.Fprintf(a.out, "Sent: %s.\n", answer.EventID) },
	},
	{
		use:     "deposit AMOUNT",
		short:   "Top up the prepaid balance",
		args:    cobra.ExactArgs(1),
		example: "  importer sandbox deposit 2500",
		ask: func(_ *cobra.Command, args []string) (string, string, fields, error) {
			amount, err := money.Parse(args[0])
			return http.MethodPost, "deposit", fields{"amount": json.Number(amount.String())}, err
		},
		say: func(a *app, answer sandboxAnswer) { fmt.Fprintf(a.out, "The balance is $%s.\n", answer.Balance) },
	},
	{
		use:   "fault [KIND[:after]]",
		short: "List, add or clear faults of answers",
		args:  cobra.MaximumNArgs(1),
		example: `  importer sandbox fault reset:after --rate 0.05
  importer sandbox fault 503 --times 3 --retry-after 2s
  importer sandbox fault half-body --endpoint "GET /files/{id}" --times 1
  importer sandbox fault --clear`,
		flags: func(c *cobra.Command) {
			faultFlags(c)
			c.Flags().Int("nth", 0, "only the nth matching request")
			c.Flags().String("endpoint", "",
				`the endpoint, such as "GET /companies/{id}" or "GET *" (default "POST /orders")`)
			c.Flags().String("company", "", "only requests that name this company")
			c.Flags().Duration("retry-after", 0, "the Retry-After of a status")
		},
		ask: func(c *cobra.Command, args []string) (string, string, fields, error) {
			kind, when, timed := strings.Cut(first(args), ":")
			body := fields{}
			if status, err := strconv.Atoi(kind); err == nil {
				kind, body["status"] = "status", status
			}
			if timed {
				if when != "after" && when != "before" {
					return "", "", nil, usage("%s: a fault strikes before the order is made, or :after", args[0])
				}
				body["after"] = when == "after"
			}
			body.with(c, "nth", "nth").with(c, "endpoint", "endpoint").with(c, "company", "companyId").with(c,
				"retry-after", "retryAfterSeconds")
			return askFault(c, "faults", kind, body)
		},
		say: sayFaults,
	},
	{
		use:   "webhook-fault [KIND]",
		short: "List, add or clear faults of deliveries",
		args:  cobra.MaximumNArgs(1),
		example: `  importer sandbox webhook-fault duplicate --rate 0.2
  importer sandbox webhook-fault delay --for 10s
  importer sandbox webhook-fault --clear`,
		flags: faultFlags,
		ask: func(c *cobra.Command, args []string) (string, string, fields, error) {
			return askFault(c, "webhook-faults", first(args), fields{})
		},
		say: sayFaults,
	},
	{
		use:     "behavior [NAME]",
		short:   "List or switch behaviors of the filing service",
		args:    cobra.MaximumNArgs(1),
		example: "  importer sandbox behavior slow-agents\n  importer sandbox behavior slow-agents --off",
		flags: func(c *cobra.Command) {
			c.Flags().Bool("off", false, "switch it off")
		},
		ask: func(c *cobra.Command, args []string) (string, string, fields, error) {
			if len(args) == 0 {
				return http.MethodGet, "behaviors", nil, nil
			}
			return http.MethodPost, "behaviors", fields{"behavior": args[0]}.with(c, "off", "off"), nil
		},
		say: func(a *app, answer sandboxAnswer) {
			if len(answer.Behaviors) == 0 {
				fmt.Fprintf(a.out, "No behavior is on. There are: %s.\n", strings.Join(sandbox.BehaviorNames(), ", "))
				return
			}
			fmt.Fprintf(a.out, "On: %s.\n", strings.Join(answer.Behaviors, ", "))
		},
	},
	{
		use:     "ein COMPANY [EIN]",
		short:   "Set or remove the EIN of a company",
		args:    cobra.RangeArgs(1, 2),
		example: "  importer sandbox ein comp_1 12-3456789",
		ask: func(_ *cobra.Command, args []string) (string, string, fields, error) {
			body := fields{"companyId": args[0]}
			if len(args) == 2 {
				body["ein"] = args[1]
			}
			return http.MethodPost, "ein", body, nil
		},
		say: func(a *app, answer sandboxAnswer) {
			if answer.EIN == "" {
				fmt.Fprintf(a.out, "%s has no EIN.\n", answer.CompanyID)
				return
			}
			fmt.Fprintf(a.out, "%s has the EIN %s.\n", answer.CompanyID, answer.EIN)
		},
	},
	{
		use:   "subscription [ORDER]",
		short: "Change the status of a subscription",
		args:  cobra.MaximumNArgs(1),
		example: "  importer sandbox subscription order_4be8 --status past_due\n  importer sandbox subscription " +
			"--all --status canceled",
		flags: func(c *cobra.Command) {
			c.Flags().Bool("all", false, "every active subscription to annual reports")
			c.Flags().String("status", "past_due", "active, canceled or past_due")
		},
		ask: func(c *cobra.Command, args []string) (string, string, fields, error) {
			body, err := oneOrAll(c, args, "orderId", "an order")
			if body != nil {
				body["status"] = c.Flag("status").Value.String()
			}
			return http.MethodPost, "subscription", body, err
		},
		say: sayMoved,
	},
	{
		use:     "renew [ORDER]",
		short:   "Place the next annual report of a subscription",
		args:    cobra.MaximumNArgs(1),
		example: "  importer sandbox renew order_4be8\n  importer sandbox renew --all",
		flags: func(c *cobra.Command) {
			c.Flags().Bool("all", false, "every active subscription to annual reports")
		},
		ask: func(c *cobra.Command, args []string) (string, string, fields, error) {
			body, err := oneOrAll(c, args, "orderId", "an order")
			return http.MethodPost, "renew", body, err
		},
		say: sayMoved,
	},
	{
		use:     "down [503|refuse|up]",
		short:   "Stop or restart the filing service of the sandbox",
		args:    cobra.MaximumNArgs(1),
		example: "  importer sandbox down 503\n  importer sandbox down refuse --for 30s\n  importer sandbox down up",
		flags: func(c *cobra.Command) {
			c.Flags().Duration("for", 0, "how long; required with refuse")
		},
		ask: func(c *cobra.Command, args []string) (string, string, fields, error) {
			mode := first(args)
			if mode == "" {
				mode = "503"
			}
			return http.MethodPost, "down", fields{"mode": mode}.with(c, "for", "seconds"), nil
		},
		say: func(a *app, answer sandboxAnswer) {
			fmt.Fprintln(a.out, map[string]string{
				"up": "The filing service is up.", "503": "The filing service answers every request with 503.",
				"refuse": "The filing service refuses connections.",
			}[answer.Mode])
		},
	},
}

// oneOrAll is the choice between one thing by its id and --all.
func oneOrAll(c *cobra.Command, args []string, field, what string) (fields, error) {
	all, _ := c.Flags().GetBool("all") // both flags are there, or the table is wrong
	if all == (len(args) == 1) {
		return nil, usage("%s takes %s or --all", c.CommandPath(), what)
	}
	if all {
		return fields{"all": true}, nil
	}
	return fields{field: args[0]}, nil
}

// with adds a flag that was given, under the control's own name for it. Times
// become whole seconds, rounded up.
func (f fields) with(c *cobra.Command, flag, field string) fields {
	given := c.Flags().Lookup(flag)
	if f == nil || !given.Changed {
		return f
	}
	switch given.Value.Type() {
	case "string":
		f[field] = given.Value.String()
	case "duration":
		d, _ := c.Flags().GetDuration(flag)
		f[field] = int((d + time.Second - 1) / time.Second)
	default:
		f[field] = json.RawMessage(given.Value.String())
	}
	return f
}

func faultFlags(c *cobra.Command) {
	c.Flags().Float64("rate", 0, "the share of requests it hits, 0 to 1 (default 1)")
	c.Flags().Int("times", 0, "how often at most (default: no limit)")
	c.Flags().Duration("for", 0, "the length of a delay, a timeout, or a slow body")
	c.Flags().Bool("clear", false, "remove every such fault")
}

func askFault(c *cobra.Command, path, kind string, body fields) (string, string, fields, error) {
	remove, _ := c.Flags().GetBool("clear")
	switch {
	case remove && kind != "":
		return "", "", nil, usage("%s takes a fault or --clear", c.CommandPath())
	case remove:
		return http.MethodDelete, path, nil, nil
	case kind == "":
		return http.MethodGet, path, nil, nil
	}
	body["kind"] = kind
	return http.MethodPost, path, body.with(c, "rate", "rate").with(c, "times", "times").with(c, "for", "forSeconds"),
		nil
}

func sayMoved(a *app, answer sandboxAnswer) {
	var ids []string
	_ = json.Unmarshal(answer.Events, &ids) // the sandbox's own list
	fmt.Fprintf(a.out, "Moved: %s; sent: %s.\n", count(answer.Moved, "filing"), count(len(ids), "event"))
	for _, id := range ids[:min(len(ids), 20)] {
		fmt.Fprintln(a.out, id)
	}
	if len(ids) > 20 {
		fmt.Fprintf(a.out, "and %d more\n", len(ids)-20)
	}
}

func sayFaults(a *app, answer sandboxAnswer) {
	if len(answer.Faults) == 0 {
		fmt.Fprintln(a.out, "No fault is in force.")
		return
	}
	table := newTable(a.out)
	fmt.Fprintln(table, "FAULT\tENDPOINT\tRATE\tAT MOST\tHITS")
	for _, f := range answer.Faults {
		rate, most := "always", "-"
		if f.Rate > 0 {
			rate = strconv.FormatFloat(f.Rate, 'g', -1, 64)
		}
		if f.Times > 0 {
			most = strconv.Itoa(f.Times)
		}
		endpoint := f.Endpoint
		if endpoint == "" {
			endpoint = "webhooks"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\n", f.Name, endpoint, rate, most, f.Fired)
	}
	table.Flush()
}

// askSandbox sends one control to a sandbox and returns its answer. The address
// may end in /v1, as the one of its API does.
func askSandbox(ctx context.Context, at, method, path string, body fields) ([]byte, error) {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return nil, usage("a flag cannot be sent: %w", err)
		}
	}
	base := strings.TrimSuffix(strings.TrimRight(at, "/"), "/v1")
	req, err := http.NewRequestWithContext(ctx, method, base+"/admin/"+path, &content)
	if err != nil {
		return nil, usage("--at %s: %w", at, err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if errors.Is(err, syscall.ECONNREFUSED) || os.IsTimeout(err) {
		return nil, fmt.Errorf(
			"no sandbox answers at %s: start one with importer sandbox, or say where it is with --at", at)
	}
	if err != nil {
		return nil, fmt.Errorf("ask the sandbox: %w", err)
	}
	defer res.Body.Close()
	var raw json.RawMessage
	if err := json.NewDecoder(res.Body).Decode(&raw); err != nil {
		return nil, fmt.Errorf("what answers at %s is no sandbox: %s", at, res.Status)
	}
	if res.StatusCode != http.StatusOK {
		var answer sandboxAnswer
		_ = json.Unmarshal(raw, &answer) // without a message the status has to do
		if answer.Message == "" {
			answer.Message = res.Status
		}
		return nil, fmt.Errorf("the sandbox refuses: %s", answer.Message)
	}
	return raw, nil
}
