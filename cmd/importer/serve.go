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
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"bulkfiling/internal/config"
	"bulkfiling/internal/ledger"
	"bulkfiling/internal/network"
	"bulkfiling/internal/sheet"
	"bulkfiling/internal/webhook"
)

func (a *app) serveCommand() *cobra.Command {
	var s server
	var public, proxies string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the page and receive the filing service's events",
		Long: `serve runs the page, where you upload spreadsheets, fix errors, see the cost,
approve, follow the orders, and download the results. On this machine it prints a
one-time sign-in link to your terminal. If its output goes elsewhere, the link is in
a file of the data folder that only you can read. Each start replaces the link of
the start before. On other machines, people sign in with their accounts (importer
accounts).

serve also receives the events of the filing service at
` + webhook.Path + `. It verifies, stores, and applies each event; the
filing service sends again what was not stored. It also runs the schedules that are
due.

Without REDIS_URL, serve places the orders itself; with it, the workers do. Several
can run on one ledger, and each can stop at any time.

The filing service must be able to reach serve, and other machines must use TLS:
put serve behind a proxy with a certificate (--public-url, --trust-proxy), or give
it a certificate. GET /healthz answers 200 while it runs.`,
		Example: `  importer serve
  importer serve --listen :8443 --tls-cert cert.pem --tls-key key.pem
  importer serve --listen 127.0.0.1:8080 --public-url https://filings.example.com --trust-proxy 127.0.0.1
  importer webhooks create --url https://filings.example.com` + webhook.Path,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if (s.cert == "") != (s.key == "") {
				return usage("--tls-cert and --tls-key go together")
			}
			var err error
			if s.public, err = parsePublicURL(public); err != nil {
				return err
			}
			if s.proxies, err = parseProxies(proxies); err != nil {
				return err
			}
			if s.maxUpload < 1 {
				return usage("--max-upload must be at least 1 MiB")
			}
			if s.env, err = a.environment(); err != nil {
				return err
			}
			if !c.Flags().Changed("place") {
				s.place = s.env.RedisURL == ""
			}
			log := slog.New(slog.NewTextHandler(a.err, nil))
			config.LimitMemory(log)
			sheet.LimitReaders(readersAtOnce, readersWaiting)
			if s.public != nil && !s.proxies.Any() {
				log.Warn("all clients behind the proxy share one address, so wrong passwords slow down " +
					"every sign-in; set --trust-proxy")
			}
			return a.withAnyLedger(c.Context(), func(l *ledger.Ledger) error {
				s.env = *a.env
				quiet, err := s.env.SendNotifications(c.Context(), l, log)
				if err != nil {
					return err
				}
				defer quiet()
				return a.serve(c.Context(), l, s, log)
			})
		},
	}
	c.Flags().StringVar(&s.listen, "listen", "127.0.0.1:8080", "the address to listen on")
	c.Flags().StringVar(&s.cert, "tls-cert", "", "a PEM file with the certificate and its chain")
	c.Flags().StringVar(&s.key, "tls-key", "", "a PEM file with the certificate's key")
	c.Flags().StringVar(&public, "public-url", "",
		"the address of the page if it is behind a proxy, such as https://filings.example.com")
	c.Flags().StringVar(&proxies, "trust-proxy", "",
		"the addresses of proxies whose X-Forwarded-For is trusted: 127.0.0.1,10.42.0.0/16")
	c.Flags().BoolVar(&s.place, "place", false, "place orders in this process (default: if REDIS_URL is not set)")
	c.Flags().Int64Var(&s.maxUpload, "max-upload", 64, "the largest upload in MiB")
	return c
}

// The number of spreadsheets that the page reads at the same time, and of requests
// that wait for that. Further requests are refused. A reader needs up to 150 MB.
const (
	readersAtOnce  = 2
	readersWaiting = 8
)

// parsePublicURL reads --public-url.
func parsePublicURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.User != nil {
		return nil, usage("--public-url must be an address such as https://filings.example.com, without a path")
	}
	return u, nil
}

// parseProxies reads --trust-proxy. It also accepts false, which deployments use
// for no proxies. true once trusted every client and is refused.
func parseProxies(text string) (network.Proxies, error) {
	switch strings.TrimSpace(text) {
	case "false":
		return network.Proxies{}, nil
	case "true":
		return network.Proxies{}, usage(
			"--trust-proxy takes the addresses of the proxies, such as 127.0.0.1 or 10.42.0.0/16: with \"true\" any " +
				"client could claim any address")
	}
	proxies, err := network.ParseProxies(text)
	if err != nil {
		return network.Proxies{}, usage("--trust-proxy: %s", err)
	}
	return proxies, nil
}

// server has the options of serve.
type server struct {
	env       config.Environment
	listen    string
	cert, key string
	public    *url.URL
	proxies   network.Proxies
	place     bool
	maxUpload int64 // MiB
}

// shutdownTimeout is how long requests have to finish.
const shutdownTimeout = 10 * time.Second

// serve serves the page until ctx ends. Events are applied until after the last
// request, and orders in flight are finished.
func (a *app) serve(ctx context.Context, l *ledger.Ledger, s server, log *slog.Logger) error {
	secrets := webhook.Secrets(l.Endpoints(), s.env.WebhookSecrets)
	events, applier := webhook.Handler(l.Events(), webhook.NewHMAC(secrets), log)
	var certificates []tls.Certificate
	scheme := "http"
	if s.cert != "" {
		pair, err := tls.LoadX509KeyPair(s.cert, s.key)
		if err != nil {
			return fmt.Errorf("read the certificate: %w", err)
		}
		scheme, certificates = "https", []tls.Certificate{pair}
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer listener.Close()
	p, err := openPage(ctx, l, s, listener.Addr(), log)
	if err != nil {
		return err
	}
	srv := &http.Server{
		Handler:           p.handler(events),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second, // uploads have their own
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	if certificates != nil {
		srv.TLSConfig = network.NewTLS()
		srv.TLSConfig.Certificates = certificates
	}
	srv.RegisterOnShutdown(p.site.Close) // live pages would never end
	invited, err := p.invite(ctx, scheme, listener.Addr(), a.terminal(a.out))
	if err != nil {
		return errors.Join(err, p.close())
	}
	defer func() {
		if err := invited.removeFile(); err != nil {
			log.Warn("sign-in link stays in its file", "file", invited.file, "err", err)
		}
	}()
	fmt.Fprintf(a.out, "%s\n%s\n", greeting(ctx, scheme, listener.Addr(), secrets), invited.text)

	// Placing and schedules end with ctx; what the last requests need ends after them.
	working, leaving := context.WithCancel(ctx)
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer leaving()
	var running sync.WaitGroup
	running.Go(func() { applier.Run(beside) })
	running.Go(func() { p.site.Tidy(beside) })
	running.Go(func() { p.runSchedules(working) })
	running.Go(func() { p.placeOrders(working) })
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
		patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if srv.Shutdown(patient) != nil {
			err = errors.Join(errors.New("some requests were cut off"), srv.Close())
		}
	}
	leaving()
	stop()
	running.Wait()
	p.site.Close()
	return errors.Join(err, p.close())
}

// routes are the paths of the server.
func routes(events, page http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+webhook.Path, events)
	mux.Handle(webhook.Path, events) // refuses other methods
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "GET it", http.StatusMethodNotAllowed)
	})
	mux.Handle("/", page)
	return mux
}

// greeting says where events are received and whether they can be verified.
func greeting(ctx context.Context, scheme string, addr net.Addr,
	secrets func(context.Context) ([]string, error)) string {
	text := fmt.Sprintf("Events are received at %s://%s%s", scheme, addr, webhook.Path)
	if tcp, ok := addr.(*net.TCPAddr); ok && scheme == "http" && !tcp.IP.IsLoopback() {
		text += " (not encrypted; put it behind a proxy with a certificate)"
	}
	switch known, err := secrets(ctx); {
	case err != nil:
		text += fmt.Sprintf("; signing secrets cannot be read: %s.", err)
	case len(known) == 0:
		text += "; no signing secret yet. To register an endpoint: importer webhooks create --url https://HOST" +
			webhook.Path
	case len(known) == 1:
		text += " with one signing secret."
	default:
		text += fmt.Sprintf(" with %d signing secrets.", len(known))
	}
	return text
}
