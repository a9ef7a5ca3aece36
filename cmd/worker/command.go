package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/metrics"
)

// options are the flags.
type options struct{ listen, ledger string }

func command(log *slog.Logger) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "worker",
		Short: "Place the open orders of the ledger, as one process of a fleet",
		Long: `worker places the orders that importer run and importer submit have put into the
ledger, and runs the schedules that are due. Any number of workers share one
ledger (DATABASE_URL) and one queue (REDIS_URL); any of them may stop at any
time.

It waits for a database, a Redis and a filing service that are not available yet,
and logs that. On SIGTERM or Ctrl-C it sends no more orders, waits for the
answers that are out and records them. That takes at most FILING_TIMEOUT and ten
seconds: wait longer than that before you kill it. A second signal ends it at
once.

  GET /healthz   200 while the process and its loops run; else restart it
  GET /readyz    200 while it places orders: ledger and queue answer
  GET /metrics   for Prometheus`,
		Example: `  worker
  worker --listen 127.0.0.1:8081
  worker healthcheck http://127.0.0.1:8081/readyz`,
		Args:          cobra.NoArgs,
		Version:       metrics.ReadBuild().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			env, err := config.Read(os.Getenv)
			if err != nil {
				return err
			}
			env.Ledger = o.ledger
			env.Warn = func(err error) { log.Warn("data folder open to others", "err", err) }
			return newWorker(env, o, log).run(c.Context())
		},
	}
	c.Flags().StringVar(&o.listen, "listen", ":8081", "address of health and metrics; empty for none")
	c.Flags().StringVar(&o.ledger, "ledger", "",
		"the ledger to use, by its name (default: that of the API key's organization)")
	c.SetVersionTemplate("worker {{.Version}}\n")
	c.SetHelpTemplate(`{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{.UsageString}}
Exit status:
  0    stopped, and every answer is recorded
  1    usage or configuration error
  130  stopped at once by a second signal
{{if not .HasParent}}
Environment:
` + config.Help() + `{{end}}`)
	c.AddCommand(healthcheckCommand())
	return c
}
