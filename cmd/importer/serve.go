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
		Short: "The page in a browser, and the service's events as they happen",
		Long: `serve has the page on which all of this is done in a browser: hand a sheet over,
correct it, see what it costs, say yes, watch it, get the answers. On this machine
alone it prints a link that signs you in, once, to your terminal; where its output
goes elsewhere, the link is in a file of the data folder that you alone can read.
The link of the start before ends. Elsewhere people sign in by name and password
(importer accounts).

It also listens for the events by which the service tells how filings fare, at
` + webhook.Path + `. Each is verified by its signature, stored once, answered,
and applied to its row; what it could not store the service sends again. What is
due of a season it fires, too.

Without REDIS_URL it places what is handed in by itself; with it, the workers do.
Any number of them may run over one ledger, and any may end at any time.

The service has to reach it, and people elsewhere only over TLS: put it behind a
proxy that has a certificate (--public-url, --trust-proxy), or give it one.
GET /healthz answers 200 as long as it runs.`,
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
			if s.public, err = publicURL(public); err != nil {
				return err
			}
			if s.proxies, err = parseProxies(proxies); err != nil {
				return err
			}
			if s.maxUpload < 1 {
				return usage("--max-upload is a number of MiB, at least 1")
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
				log.Warn("whoever comes through the proxy counts as one address: somebody's wrong passwords hold " +
					"everybody up; see --trust-proxy")
			}
			return a.withAnyLedger(c.Context(), func(l *ledger.Ledger) error {
				s.env = *a.env
				quiet, err := s.env.Tell(c.Context(), l, log)
				if err != nil {
					return err
				}
				defer quiet()
				return a.serve(c.Context(), l, s, log)
			})
		},
	}
	c.Flags().StringVar(&s.listen, "listen", "127.0.0.1:8080", "address to listen on")
	c.Flags().StringVar(&s.cert, "tls-cert", "", "a certificate, and those that vouch for it: a PEM file")
	c.Flags().StringVar(&s.key, "tls-key", "", "the certificate's key: a PEM file")
	c.Flags().StringVar(&public, "public-url", "",
		"the address that people type, where a proxy stands in front: https://filings.example.com")
	c.Flags().StringVar(&proxies, "trust-proxy", "",
		"the addresses of the proxies in front, whose X-Forwarded-For is believed: 127.0.0.1,10.42.0.0/16")
	c.Flags().BoolVar(&s.place, "place", false, "place what is handed in (default: where REDIS_URL is not set)")
	c.Flags().Int64Var(&s.maxUpload, "max-upload", 64, "the largest sheet that is taken in, in MiB")
	return c
}

// How many spreadsheets the page reads at once, and how many requests may wait
// for that: further ones are told to come back. Each reader takes at most some
// 150 MB.
const (
	readersAtOnce  = 2
	readersWaiting = 8
)

// publicURL reads the address that people type.
func publicURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.User != nil {
		return nil, usage("--public-url is an address such as https://filings.example.com, and nothing behind it")
	}
	return u, nil
}

// parseProxies reads the addresses of the proxies in front. It also takes false,
// which deployments write for none; true once meant anybody.
func parseProxies(text string) (network.Proxies, error) {
	switch strings.TrimSpace(text) {
	case "false":
		return network.Proxies{}, nil
	case "true":
		return network.Proxies{}, usage(
			"--trust-proxy names the proxies by address, such as 127.0.0.1 or 10.42.0.0/16: with \"true\" anybody " +
				"could give any address as his own")
	}
	proxies, err := network.ParseProxies(text)
	if err != nil {
		return network.Proxies{}, usage("--trust-proxy: %s", err)
	}
	return proxies, nil
}

// server is what serve was asked for.
type server struct {
	env       config.Environment
	listen    string
	cert, key string
	public    *url.URL
	proxies   network.Proxies
	place     bool
	maxUpload int64 // MiB
}

// leave is how long requests have to come to their end.
const leave = 10 * time.Second

// serve answers until ctx ends. The applier outlives the last request, and what
// it places is placed to its end.
func (a *app) serve(ctx context.Context, l *ledger.Ledger, s server, log *slog.Logger) error {
	secrets := webhook.Secrets(l.Endpoints(), s.env.WebhookSecrets)
	events, applier := webhook.Handler(l, webhook.NewHMAC(secrets), log)
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
		ReadTimeout:       15 * time.Second, // a file that is handed over has its own
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	if certificates != nil {
		srv.TLSConfig = network.NewTLS()
		srv.TLSConfig.Certificates = certificates
	}
	srv.RegisterOnShutdown(p.site.Close) // pages that are watched would never end
	invited, err := p.invite(ctx, scheme, listener.Addr(), a.terminal(a.out))
	if err != nil {
		return errors.Join(err, p.leave())
	}
	defer func() {
		if err := invited.withdraw(); err != nil {
			log.Warn("sign-in link stays in its file", "file", invited.file, "err", err)
		}
	}()
	fmt.Fprintf(a.out, "%s\n%s\n", greeting(ctx, scheme, listener.Addr(), secrets), invited.text)

	// What places ends with ctx; what the last requests need, after them.
	working, leaving := context.WithCancel(ctx)
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer leaving()
	var running sync.WaitGroup
	running.Go(func() { applier.Run(beside) })
	running.Go(func() { p.site.Tidy(beside) })
	running.Go(func() { p.fireSeasons(working) })
	running.Go(func() { p.place(working) })
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
	leaving()
	stop()
	running.Wait()
	p.site.Close()
	return errors.Join(err, p.leave())
}

// routes is everything that is served.
func routes(events, page http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+webhook.Path, events)
	mux.Handle(webhook.Path, events) // which refuses the other methods
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "GET it", http.StatusMethodNotAllowed)
	})
	mux.Handle("/", page)
	return mux
}

// greeting says where it listens and whether it can tell the service's events.
func greeting(ctx context.Context, scheme string, addr net.Addr,
	secrets func(context.Context) ([]string, error)) string {
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
