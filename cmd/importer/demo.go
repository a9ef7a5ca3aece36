package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
	"github.com/bulkfiling/bulkfiling/samples"
)

// The demo's balance does not cover the whole sample, so that the funds run out.
const (
	demoOpening = 9_000_00
	demoTopUp   = 15_000_00
)

func newDemoCommand(g *global) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a sample of 60 companies on a sandbox",
		Long: `demo starts a sandbox of the filing service in this process and runs a sample
spreadsheet of 60 Delaware companies on it. Some rows have errors, and the funds run
out half-way. The demo then tops up the balance, resumes, and runs once more to show
that nothing is bought twice. It needs no account, server, or network.`,
		Example: "  importer demo\n  importer demo --dir /tmp/demo",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runDemo(c.Context(), g, dir) },
	}
	c.Flags().StringVar(&dir, "dir", "bulkfiling-demo", "the folder for the sample, the ledger, and the results")
	return c
}

func runDemo(ctx context.Context, g *global, dir string) error {
	file := filepath.Join(dir, samples.AnnualReportsName)
	if err := os.Mkdir(dir, 0o777); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the folder %s exists. Nothing was changed. Delete it, or name another folder: "+
			"importer demo --dir FOLDER", dir)
	} else if err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	if err := os.WriteFile(file, samples.AnnualReports, 0o666); err != nil {
		return fmt.Errorf("write the sample: %w", err)
	}
	service, address, stop, err := startSandbox(ctx)
	if err != nil {
		return err
	}
	defer stop()

	t := g.terminal
	env := map[string]string{
		"FILING_BASE_URL": address, "FILING_API_KEY": "sk_test_demo",
		// The secret avoids the warning about events, which the demo does not use.
		"FILING_WEBHOOK_SECRET": "whsec_demo",
		"FILING_DATA_DIR":       filepath.Join(dir, ".bulkfiling-demo"), "WORKER_CONCURRENCY": "8",
		"NO_COLOR": g.getenv("NO_COLOR"), "TERM": g.getenv("TERM"),
	}
	demo := newGlobal(t.in, t.out, t.out, func(name string) string { return env[name] })
	step := func(story, command string) { t.print("\n%s\n%s", t.bold(story), t.dim("$ importer "+command)) }
	run := func(story string, want int) error {
		step(story, "run "+file+" --yes")
		return expectExit(runRun(ctx, runOptions{yes: true, giveUpAfter: time.Minute}, demo, file), want)
	}

	step("An accountant has a spreadsheet of 60 Delaware companies. First, check it for errors.", "check "+file)
	if err := expectExit(runCheck(ctx, checkOptions{}, demo.terminal, file), exitCorrect); err != nil {
		return err
	}
	if err := run(fmt.Sprintf("The other rows are ready. The prepaid balance is %s. Order as far as it allows.",
		money.Cents(demoOpening).Dollars()), exitStopped); err != nil {
		return err
	}
	service.Deposit(demoTopUp)
	if err := run(fmt.Sprintf("The funds ran out. Nothing was lost, and no row is uncertain. After a top-up of %s, "+
		"the same command resumes.", money.Cents(demoTopUp).Dollars()), exitCorrect); err != nil {
		return err
	}
	before := service.Books()
	if err := run("Run it once more by mistake:", exitCorrect); err != nil {
		return err
	}
	return printRecords(t, before, service.Books(), file)
}

// startSandbox serves a sandbox with the companies of the sample on a free port.
func startSandbox(ctx context.Context) (service *sandbox.Service, address string, stop func(), err error) {
	companies, err := sandbox.ReadCompanies(bytes.NewReader(samples.Companies))
	if err != nil {
		return nil, "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, fmt.Errorf("start the sandbox: %w", err)
	}
	service = sandbox.New(sandbox.Config{
		OpeningBalance: demoOpening,
		Latency:        20 * time.Millisecond,
		AutoSeed:       true,
		Seed:           2026,
		Companies:      companies,
	})
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- service.Serve(serving, listener) }()
	return service, "http://" + listener.Addr().String() + "/v1", func() { end(); <-served; service.Close() }, nil
}

// expectExit returns nil if a command of the demo ended with the expected exit code.
func expectExit(err error, want int) error {
	if s, ended := errors.AsType[*status](err); ended && s.code == want && s.err == nil {
		return nil
	} else if ended && s.code == exitInterrupted {
		return err
	}
	return fmt.Errorf("the demo expected exit status %d: %v", want, err)
}

// printRecords prints the orders of the sandbox. before are its books before the last run.
func printRecords(t *terminal, before, after sandbox.Books, file string) error {
	t.print("\n%s", t.bold("The filing service's records:"))
	t.print("%d orders, %s charged; %d filings bought twice; %d orders refused for insufficient funds",
		len(after.Orders), money.Cents(after.Charged).Dollars(), len(after.Duplicates()), after.Refused[402])
	t.print("The last run sent %d orders.", len(after.Orders)-len(before.Orders))
	results := strings.TrimSuffix(file, filepath.Ext(file)) + ".results.xlsx"
	t.print("\n%s\n  %s", t.bold("Open the results:"), results)
	if len(after.Duplicates()) > 0 || len(after.Orders) != len(before.Orders) {
		return errors.New("a filing was bought twice; this must never happen")
	}
	return nil
}
