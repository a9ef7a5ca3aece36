package main

import (
	"bytes"
	"cmp"
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

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// fields is the body of a request.
type fields map[string]any

// sandboxAnswer has the fields of all answers of the sandbox.
type sandboxAnswer struct {
	Message string
	Balance json.Number
	Mode    string
	Moved   int
	Events  json.RawMessage // their IDs, or their number
	EventID string
	// Behaviors lists the ones that are on.
	Behaviors []string
	CompanyID string
	EIN       string
	Faults    []struct {
		Name, Endpoint, CompanyID string
		Nth, Times, Fired         int
		Rate                      float64
	}
}

// sandboxRequest is a command that acts on a running sandbox.
type sandboxRequest struct {
	use, short, example string
	args                cobra.PositionalArgs
	flags               func(*cobra.Command)
	path                string                                                // below /admin
	body                func(c *cobra.Command, args []string) (fields, error) // nil only shows something
	say                 func(a *app, answer sandboxAnswer)
}

func (a *app) sandboxControls() []*cobra.Command {
	commands := make([]*cobra.Command, len(sandboxRequests))
	for i, request := range sandboxRequests {
		var at string
		var asJSON bool
		c := &cobra.Command{Use: request.use, Short: request.short, Example: request.example, Args: request.args}
		c.RunE = func(c *cobra.Command, args []string) error {
			body, err := request.body(c, args)
			if err != nil {
				return err
			}
			raw, err := askSandbox(c.Context(), at, requestMethod(c, body), request.path, body)
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
		path: "advance",
		body: oneOrAll("orderId", "an order", "status"),
		say:  sayMoved,
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
		path: "exception",
		body: oneOrAll("orderId", "an order", "code"),
		say:  sayMoved,
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
		path: "redeliver",
		body: oneOrAll("eventId", "an event", "reverse", "twice"),
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
		path:    "test-delivery",
		body:    func(*cobra.Command, []string) (fields, error) { return fields{}, nil },
		say:     func(a *app, answer sandboxAnswer) { fmt.Fprintf(a.out, "Sent: %s.\n", answer.EventID) },
	},
	{
		use:     "mail ORDER",
		short:   "Deliver registered agent mail",
		args:    cobra.ExactArgs(1),
		example: "  importer sandbox mail order_4be8",
		path:    "mail",
		body:    func(_ *cobra.Command, args []string) (fields, error) { return fields{"orderId": args[0]}, nil },
		say:     func(a *app, answer sandboxAnswer) { fmt.Fprintf(a.out, "Sent: %s.\n", answer.EventID) },
	},
	{
		use:     "deposit AMOUNT",
		short:   "Top up the prepaid balance",
		args:    cobra.ExactArgs(1),
		example: "  importer sandbox deposit 2500",
		path:    "deposit",
		body: func(_ *cobra.Command, args []string) (fields, error) {
			amount, err := money.Parse(args[0])
			return fields{"amount": json.Number(amount.String())}, err
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
		path: "faults",
		body: func(c *cobra.Command, args []string) (fields, error) {
			kind, when, timed := strings.Cut(first(args), ":")
			body := fields{}
			if status, err := strconv.Atoi(kind); err == nil {
				kind, body["status"] = "status", status
			}
			if timed {
				if when != "after" && when != "before" {
					return nil, usage("%s: a fault strikes before the order is made, or :after", args[0])
				}
				body["after"] = when == "after"
			}
			body.with(c, "nth", "nth").with(c, "endpoint", "endpoint").with(c, "company", "companyId").with(c,
				"retry-after", "retryAfterSeconds")
			return faultBody(c, kind, body)
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
		path:  "webhook-faults",
		body:  func(c *cobra.Command, args []string) (fields, error) { return faultBody(c, first(args), fields{}) },
		say:   sayFaults,
	},
	{
		use:     "behavior [NAME]",
		short:   "List or switch behaviors of the filing service",
		args:    cobra.MaximumNArgs(1),
		example: "  importer sandbox behavior slow-agents\n  importer sandbox behavior slow-agents --off",
		flags: func(c *cobra.Command) {
			c.Flags().Bool("off", false, "switch it off")
		},
		path: "behaviors",
		body: func(c *cobra.Command, args []string) (fields, error) {
			if len(args) == 0 {
				return nil, nil
			}
			return fields{"behavior": args[0]}.with(c, "off", "off"), nil
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
		path:    "ein",
		body: func(_ *cobra.Command, args []string) (fields, error) {
			body := fields{"companyId": args[0]}
			if len(args) == 2 {
				body["ein"] = args[1]
			}
			return body, nil
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
		path: "subscription",
		body: func(c *cobra.Command, args []string) (fields, error) {
			body, err := oneOrAll("orderId", "an order")(c, args)
			if err == nil {
				body["status"] = c.Flag("status").Value.String() // also the default
			}
			return body, err
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
		path: "renew",
		body: oneOrAll("orderId", "an order"),
		say:  sayMoved,
	},
	{
		use:     "down [503|refuse|up]",
		short:   "Stop or restart the filing service of the sandbox",
		args:    cobra.MaximumNArgs(1),
		example: "  importer sandbox down 503\n  importer sandbox down refuse --for 30s\n  importer sandbox down up",
		flags: func(c *cobra.Command) {
			c.Flags().Duration("for", 0, "how long; required with refuse")
		},
		path: "down",
		body: func(c *cobra.Command, args []string) (fields, error) {
			return fields{"mode": cmp.Or(first(args), "503")}.with(c, "for", "seconds"), nil
		},
		say: func(a *app, answer sandboxAnswer) {
			fmt.Fprintln(a.out, map[string]string{
				"up": "The filing service is up.", "503": "The filing service answers every request with 503.",
				"refuse": "The filing service refuses connections.",
			}[answer.Mode])
		},
	},
}

// requestMethod is POST for a change, DELETE for --clear, and otherwise GET.
func requestMethod(c *cobra.Command, body fields) string {
	switch remove, _ := c.Flags().GetBool("clear"); {
	case body != nil:
		return http.MethodPost
	case remove:
		return http.MethodDelete
	}
	return http.MethodGet
}

// oneOrAll reads an ID or --all, and flags that are fields of the same name.
func oneOrAll(field, what string, flags ...string) func(*cobra.Command, []string) (fields, error) {
	return func(c *cobra.Command, args []string) (fields, error) {
		all, _ := c.Flags().GetBool("all") // the flag exists in each of these commands
		if all == (len(args) == 1) {
			return nil, usage("%s takes %s or --all", c.CommandPath(), what)
		}
		body := fields{"all": true}
		if !all {
			body = fields{field: args[0]}
		}
		for _, flag := range flags {
			body.with(c, flag, flag)
		}
		return body, nil
	}
}

// with adds the value of a flag that was given, as the field of a request. Times
// become whole seconds, rounded up.
func (f fields) with(c *cobra.Command, flag, field string) fields {
	given := c.Flags().Lookup(flag)
	if !given.Changed {
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

// faultBody adds the kind of a fault and its flags. Without a kind it returns nil:
// faults are listed or cleared.
func faultBody(c *cobra.Command, kind string, body fields) (fields, error) {
	remove, _ := c.Flags().GetBool("clear")
	switch {
	case remove && kind != "":
		return nil, usage("%s takes a fault or --clear", c.CommandPath())
	case kind == "":
		return nil, nil
	}
	body["kind"] = kind
	return body.with(c, "rate", "rate").with(c, "times", "times").with(c, "for", "forSeconds"), nil
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

// askSandbox sends a request to a sandbox and returns its answer. The address can
// end in /v1, like that of its API.
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
		var answer sandboxAnswer
		_ = json.Unmarshal(raw, &answer) // without a message the status has to do
		if answer.Message == "" {
			answer.Message = res.Status
		}
		return nil, fmt.Errorf("the sandbox refused the request: %s", answer.Message)
	}
	return raw, nil
}
