package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"bulkfiling/internal/environment"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/webhook"

	"github.com/spf13/cobra"
)

func (a *app) serveCommand() *cobra.Command {
	var s server
	c := &cobra.Command{
		Use:   "serve",
		Short: "Take the service's events in, as they happen",
		Long: `serve listens for the events by which the service tells how filings fare, at
` + webhook.Path + `. Each is verified by its signature, stored once, answered,
and applied to its row; what it could not store the service sends again. Any
number of them may run over one ledger, and any may end at any time. What is due
of a season it fires, too; the filings are placed by workers.

The service has to reach it: put it behind a proxy that has a certificate, or
give it one. GET /healthz answers 200 as long as it runs.`,
		Example: `  importer serve
  importer serve --listen :8443 --tls-cert cert.pem --tls-key key.pem
  importer webhooks create --url https://filings.example.com` + webhook.Path,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if (s.cert == "") != (s.key == "") {
				return usage("--tls-cert and --tls-key go together")
			}
			env, err := a.environment()
			if err != nil {
				return err
			}
			s.secrets = env.WebhookSecrets
			log := slog.New(slog.NewTextHandler(a.err, nil))
			return a.withLedger(c.Context(), func(l *ledger.Ledger) error {
				quiet, err := env.Tell(c.Context(), l, log)
				if err != nil {
					return err
				}
				defer quiet()
				stop, err := fireSeasons(c.Context(), env, l, log)
				if err != nil {
					return err
				}
				defer stop()
				return a.serve(c.Context(), l, s, log)
			})
		},
	}
	c.Flags().StringVar(&s.listen, "listen", "127.0.0.1:8080", "address to listen on")
	c.Flags().StringVar(&s.cert, "tls-cert", "", "a certificate, and those that vouch for it: a PEM file")
	c.Flags().StringVar(&s.key, "tls-key", "", "the certificate's key: a PEM file")
	return c
}

// fireSeasons fires the seasons of the ledger until it is stopped, where the
// environment names a service: to take events in, none is needed.
func fireSeasons(ctx context.Context, env environment.Environment, l *ledger.Ledger, log *slog.Logger) (stop func(), err error) {
	client, err := env.Client()
	if err != nil {
		log.Info("seasons are not fired here", "why", err)
		return func() {}, nil
	}
	if err := l.Bind(ctx, env.Mode()); err != nil {
		client.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { env.Seasons(l, client, log).Run(ctx) })
	return func() {
		cancel()
		running.Wait()
		client.Close()
	}, nil
}

// server is what serve was asked for.
type server struct {
	listen, cert, key string
	secrets           func() ([]string, error) // of the environment
}

// leave is how long requests have to come to their end.
const leave = 10 * time.Second

// serve answers until ctx ends. The applier outlives the last request.
func (a *app) serve(ctx context.Context, l *ledger.Ledger, s server, log *slog.Logger) error {
	secrets := webhook.Secrets(l, s.secrets)
	events, applier := webhook.Handler(l, webhook.NewHMAC(secrets), log)
	srv := &http.Server{
		Handler:           a.routes(events),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	scheme := "http"
	if s.cert != "" {
		pair, err := tls.LoadX509KeyPair(s.cert, s.key)
		if err != nil {
			return fmt.Errorf("read the certificate: %w", err)
		}
		scheme, srv.TLSConfig = "https", &tls.Config{Certificates: []tls.Certificate{pair}}
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintln(a.out, greeting(ctx, scheme, listener.Addr(), secrets))

	applying, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { applier.Run(applying) })
	ended := make(chan error, 1)
	go func() {
		if srv.TLSConfig != nil {
			ended <- srv.ServeTLS(listener, "", "")
		} else {
			ended <- srv.Serve(listener)
		}
	}()
	select {
	case err = <-ended:
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), leave)
		defer cancel()
		if srv.Shutdown(patient) != nil {
			err = errors.Join(errors.New("some requests were cut off"), srv.Close())
		}
	}
	stop()
	running.Wait()
	return err
}

// routes is everything that is served.
func (a *app) routes(events http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+webhook.Path, events)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	return mux
}

// greeting says where it listens and whether it can tell the service's events.
func greeting(ctx context.Context, scheme string, addr net.Addr, secrets func(context.Context) ([]string, error)) string {
	text := fmt.Sprintf("Events are taken at %s://%s%s", scheme, addr, webhook.Path)
	if tcp, ok := addr.(*net.TCPAddr); ok && scheme == "http" && !tcp.IP.IsLoopback() {
		text += " (not encrypted: only behind a proxy that has a certificate)"
	}
	switch known, err := secrets(ctx); {
	case err != nil:
		text += fmt.Sprintf("; signing secrets cannot be read: %s.", err)
	case len(known) == 0:
		text += "; no signing secret yet: importer webhooks create --url https://HOST" + webhook.Path
	case len(known) == 1:
		text += ", by one signing secret."
	default:
		text += fmt.Sprintf(", by %d signing secrets.", len(known))
	}
	return text
}
