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
	demoKey     = "sk_test_demo"
	demoSecret  = "whsec_demo"
)

func (a *app) demoCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a sample of 60 companies on a sandbox",
		Long: `demo starts a sandbox of the filing service in this process and runs a sample
spreadsheet of 60 Delaware companies on it. Some rows have errors, and the funds run
out half-way. The demo then tops up the balance, resumes, and runs once more to show
that nothing is bought twice. It needs no account, server, or network.

It makes a folder of its own, which you can delete afterwards.`,
		Example: "  importer demo\n  importer demo --dir /tmp/demo",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.demo(c.Context(), dir) },
	}
	c.Flags().StringVar(&dir, "dir", "bulkfiling-demo", "the folder for the sample, the ledger, and the results")
	return c
}

func (a *app) demo(ctx context.Context, dir string) error {
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

	demo := a.demoApp(map[string]string{
		"FILING_BASE_URL": address, "FILING_API_KEY": demoKey,
		// The secret avoids the warning about events, which the demo does not use.
		"FILING_WEBHOOK_SECRET": demoSecret,
		"FILING_DATA_DIR":       filepath.Join(dir, ".bulkfiling-demo"), "WORKER_CONCURRENCY": "8",
	})

	a.showStep("An accountant has a spreadsheet of 60 Delaware companies. First, check it for errors.",
		"importer check "+file)
	if err := expectExit(demo.checkFile(ctx, file, "", sheetFlags{}, false), exitCorrect); err != nil {
		return err
	}
	a.showStep(fmt.Sprintf("The other rows are ready. The prepaid balance is %s. Order as far as it allows.",
		money.Cents(demoOpening).Dollars()), "importer run "+file+" --yes")
	flags := runFlags{yes: true, patience: time.Minute}
	if err := expectExit(demo.run(ctx, file, flags), exitStopped); err != nil {
		return err
	}
	service.Deposit(demoTopUp)
	a.showStep(fmt.Sprintf(
		"The funds ran out. Nothing was lost, and no row is uncertain. After a top-up of %s, the same command resumes.",
		money.Cents(demoTopUp).Dollars()), "importer run "+file+" --yes")
	if err := expectExit(demo.run(ctx, file, flags), exitCorrect); err != nil {
		return err
	}
	before := service.Books()
	a.showStep("Run it once more by mistake:", "importer run "+file+" --yes")
	if err := expectExit(demo.run(ctx, file, flags), exitCorrect); err != nil {
		return err
	}
	return a.printRecords(before, service.Books(), file)
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

// demoApp returns this program with the environment of the demo.
func (a *app) demoApp(env map[string]string) *app {
	return newApp(a.in, a.out, a.out, func(name string) string {
		if v, ok := env[name]; ok {
			return v
		}
		if name == "NO_COLOR" || name == "TERM" {
			return a.getenv(name)
		}
		return ""
	})
}

func (a *app) showStep(story, command string) {
	fmt.Fprintf(a.out, "\n%s\n%s\n", a.paint.bold(story), a.paint.dim("$ "+command))
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

func (a *app) printRecords(before, after sandbox.Books, file string) error {
	fmt.Fprintf(a.out, "\n%s\n", a.paint.bold("The filing service's records:"))
	fmt.Fprintf(a.out, "%d orders, %s charged; %d filings bought twice; %d orders refused for insufficient funds\n",
		len(after.Orders), money.Cents(after.Charged).Dollars(), len(after.Duplicates()), after.Refused[402])
	fmt.Fprintf(a.out, "The last run sent %d orders.\n", len(after.Orders)-len(before.Orders))
	results := file[:len(file)-len(filepath.Ext(file))] + ".results.xlsx"
	fmt.Fprintf(a.out, "\n%s\n  %s\n", a.paint.bold("Open the results:"), results)
	if len(after.Duplicates()) > 0 || len(after.Orders) != len(before.Orders) {
		return errors.New("a filing was bought twice; this must never happen")
	}
	return nil
}
