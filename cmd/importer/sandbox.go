package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"bulkfiling/internal/money"
	"bulkfiling/internal/sandbox"

	"github.com/spf13/cobra"
)

func (a *app) sandboxCommand() *cobra.Command {
	var listen, balance, style string
	var latency, jitter time.Duration
	var rate float64
	var seed uint64
	var kinds []string
	c := &cobra.Command{
		Use:   "sandbox",
		Short: "Run the filing service in memory, to try everything on",
		Long: `sandbox serves the whole of the filing service's API from memory, strict about
every field, with a page of its own books. Users and companies appear when they
are first named, so that any sheet can be tried. Nothing is kept when it ends.

It fails on request: --fault KIND[:after] with --fault-rate, or by the controls
under /admin that its page names.`,
		Example: `  importer sandbox --balance 5000
  FILING_BASE_URL=http://127.0.0.1:4010/v1 FILING_API_KEY=sk_test_try importer run companies.xlsx
  importer sandbox --fault reset:after --fault 503 --fault-rate 0.05`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			opening, err := money.Parse(balance)
			if err != nil {
				return err
			}
			faults, err := parseFaults(kinds, rate)
			if err != nil {
				return err
			}
			if style := sandbox.Style(style); style != sandbox.Snake && style != sandbox.Camel {
				return usage("--order-types is snake or camel, not %s", style)
			}
			service := sandbox.New(sandbox.Config{
				OpeningBalance: int64(opening), Latency: latency, Jitter: jitter, Seed: seed,
				OrderTypes: sandbox.Style(style), AutoSeed: true, Faults: faults,
			})
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("listen: %w", err)
			}
			fmt.Fprintf(a.out, "The sandbox is at http://%s (its books), the API at http://%s/v1; any key that begins with sk_test_ will do.\nCtrl-C ends it.\n", l.Addr(), l.Addr())
			return service.Serve(c.Context(), l)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:4010", "address to listen on")
	c.Flags().StringVar(&balance, "balance", "10000", "the prepaid balance in dollars")
	c.Flags().DurationVar(&latency, "latency", 20*time.Millisecond, "how long every answer takes")
	c.Flags().DurationVar(&jitter, "jitter", 0, "up to this much more")
	c.Flags().StringVar(&style, "order-types", string(sandbox.Snake), "how order types are written: snake or camel")
	c.Flags().StringArrayVar(&kinds, "fault", nil, "a fault, KIND or KIND:after (after the order was made); repeat it for several")
	c.Flags().Float64Var(&rate, "fault-rate", 0.05, "how often each fault strikes, 0 to 1")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of every random choice")
	return c
}

// parseFaults reads "reset:after" and "503" as the sandbox's faults.
func parseFaults(kinds []string, rate float64) ([]sandbox.Fault, error) {
	if rate <= 0 || rate > 1 {
		return nil, usage("--fault-rate is a share, more than 0 and at most 1")
	}
	var faults []sandbox.Fault
	for _, text := range kinds {
		name, when, _ := strings.Cut(text, ":")
		f := sandbox.Fault{Kind: sandbox.Kind(name), After: when == "after", Rate: rate, For: 5 * time.Second}
		if status, err := strconv.Atoi(name); err == nil {
			f.Kind, f.Status, f.RetryAfter = sandbox.FaultStatus, status, time.Second
		}
		if !f.Kind.Known() || when != "" && when != "after" && when != "before" {
			return nil, usage("--fault %s is not known: use one of %s, or a status such as 503, each with :after if you like", text, strings.Join(sandbox.KindNames(), ", "))
		}
		faults = append(faults, f)
	}
	return faults, nil
}
