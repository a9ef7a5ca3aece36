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

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/network"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

func (a *app) serveCommand() *cobra.Command {
	var s server
	var public, proxies string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the page and receive the filing service's events",
		Long: `serve runs the page, where you upload spreadsheets, fix errors, see the cost,
approve, follow the orders, and download the results. On a desktop it opens your
browser, signed in; so does a double click on this program. On this machine it prints
a one-time sign-in link to your terminal. If its output goes elsewhere, the link is
in a file of the data folder that only you can read. Each start replaces the link of
the start before. On other machines, people sign in with their accounts (importer
accounts).

Without a filing service, the page of this machine asks for its address and your API
key, checks them, and stores them in the settings file. It also offers sample data.

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
			if s.proxies, err = network.ParseProxies(proxies); err != nil {
				return usage("--trust-proxy: %w", err)
			}
			if s.maxUpload < 1 {
				return usage("--max-upload must be at least 1 MiB")
			}
			log, err := a.logger(slog.LevelInfo)
			if err != nil {
				return err
			}
			config.LimitMemory(log)
			sheet.LimitReaders(readersAtOnce, readersWaiting)
			if s.public != nil && !s.proxies.Any() {
				log.Warn("all clients behind the proxy share one address in logs and sessions; set --trust-proxy")
			}
			return a.servePages(c.Context(), s, log)
		},
	}
	c.Flags().StringVar(&s.listen, "listen", "127.0.0.1:8080", "the address to listen on")
	c.Flags().StringVar(&s.cert, "tls-cert", "", "a PEM file with the certificate and its chain")
	c.Flags().StringVar(&s.key, "tls-key", "", "a PEM file with the certificate's key")
	c.Flags().StringVar(&public, "public-url", "",
		"the address of the page if it is behind a proxy, such as https://filings.example.com")
	c.Flags().StringVar(&proxies, "trust-proxy", "",
		"the addresses of proxies whose X-Forwarded-For is trusted: 127.0.0.1,10.42.0.0/16")
	c.Flags().BoolVar(&s.noBrowser, "no-browser", false, "do not open the browser")
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
	u, err := webAddress("--public-url", text, publicURL)
	if err == nil && (strings.Trim(u.Path, "/") != "" || u.RawQuery != "") {
		err = usage("--public-url must be %s", publicURL)
	}
	return u, err
}

const publicURL = "an address such as https://filings.example.com, without a path"

// server has the options of serve.
type server struct {
	env       config.Environment
	listen    string
	cert, key string
	public    *url.URL
	proxies   network.Proxies
	maxUpload int64 // MiB
	noBrowser bool

	app    *app             // this program on the settings of this start
	owner  *app             // and on those of the user, where the start is on sample data
	starts int              // starts before this one
	sample *sampleData      // nil for the user's own settings
	again  chan *sampleData // has serve start again
}

// shutdownTimeout is how long requests have to finish.
const shutdownTimeout = 10 * time.Second

// servePages serves the page until ctx ends. It starts again, at the same address,
// when the page was set up: with the settings file as it is then, or on sample data.
func (a *app) servePages(ctx context.Context, s server, log *slog.Logger) error {
	if _, err := a.environment(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil && a.clicked { // another program listens there, perhaps another of these
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer listener.Close()
	defer func() { s.sample.end() }()
	s.owner = a
	for ; ; s.starts++ {
		on := a
		if s.sample != nil {
			on = s.sample.app(a)
		}
		s.app, s.again = on, make(chan *sampleData, 1)
		err := on.withAnyLedger(ctx, func(l *ledger.Ledger) error {
			one := s
			one.env = *on.env
			quiet, err := one.env.SendNotifications(ctx, l, log)
			if err != nil {
				return err
			}
			defer quiet()
			return on.serveOn(ctx, l, one, listener, log)
		})
		again, is := errors.AsType[*startAgainError](err)
		if !is {
			return err
		}
		s.sample.end()
		s.sample = again.sample
	}
}

// startAgainError is returned where serve is to start again.
type startAgainError struct{ sample *sampleData } // nil for the user's own settings

func (*startAgainError) Error() string { return "serve starts again" }

// serveOn serves the page at a listener, which stays open, until ctx ends or serve is
// to start again: startAgainError. Events are applied until after the last request, and
// orders in flight are finished.
func (a *app) serveOn(ctx context.Context, l *ledger.Ledger, s server, listener net.Listener,
	log *slog.Logger) error {
	secrets := webhook.Secrets(l.Endpoints(), s.env.WebhookSecrets)
	events, applier := webhook.Handler(l.Events(), webhook.NewHMAC(secrets), log)
	scheme, certificates, err := s.certificates()
	if err != nil {
		return err
	}
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
	srv.RegisterOnShutdown(p.leave)
	if s.starts == 0 {
		invited, err := a.welcome(ctx, p, scheme, listener.Addr(), secrets)
		if err != nil {
			return errors.Join(err, p.close())
		}
		defer func() {
			if invited.opened != nil {
				invited.opened()
			}
			if err := invited.removeFile(); err != nil {
				log.Warn("sign-in link stays in its file", "file", invited.file, "err", err)
			}
		}()
	} else {
		log.Info("started again", "service", s.env.BaseURL, "sample", s.sample != nil)
	}

	// Placing and schedules end with ctx; what the last requests need ends after them.
	working, leaving := context.WithCancel(ctx)
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer leaving()
	var running sync.WaitGroup
	running.Go(func() { applier.Run(beside) })
	running.Go(func() { p.site.Tidy(beside) })
	running.Go(func() { p.runSchedules(working) })
	running.Go(func() { p.backUp(working) })
	running.Go(func() { p.placeOrders(working) })
	ended := make(chan error, 1)
	go func() {
		if srv.TLSConfig != nil {
			ended <- srv.ServeTLS(keepOpen(listener), "", "")
		} else {
			ended <- srv.Serve(keepOpen(listener))
		}
	}()
	var again *startAgainError
	select {
	case err = <-ended:
		err = fmt.Errorf("serve: %w", err)
	case sample := <-s.again:
		again = &startAgainError{sample}
	case <-ctx.Done():
	}
	if err == nil {
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
	if again != nil {
		if err != nil {
			log.Warn("some requests were cut off by the new start", "err", err)
		}
		err = again
	}
	if closed := p.close(); closed != nil {
		return errors.Join(err, closed)
	}
	return err
}

// certificates reads the certificate of serve, if it has one.
func (s server) certificates() (scheme string, all []tls.Certificate, err error) {
	if s.cert == "" {
		return "http", nil, nil
	}
	pair, err := tls.LoadX509KeyPair(s.cert, s.key)
	if err != nil {
		return "", nil, fmt.Errorf("read the certificate: %w", err)
	}
	return "https", []tls.Certificate{pair}, nil
}

// welcome prints how to sign in, and opens the browser on a desktop.
func (a *app) welcome(ctx context.Context, p *page, scheme string, addr net.Addr,
	secrets func(context.Context) ([]string, error)) (invitation, error) {
	invited, err := p.invite(ctx, scheme, addr, a.terminal(a.out))
	if err != nil {
		return invitation{}, err
	}
	fmt.Fprintf(a.out, "%s\n%s\n", greeting(ctx, scheme, addr, secrets), invited.text)
	if p.noBrowser || invited.page == "" || !a.onDesktop() || !a.clicked && !a.terminal(a.out) {
		return invited, nil
	}
	remove, err := a.openBrowser(ctx, p, invited)
	if err != nil {
		p.log.Warn("browser not opened; open the page yourself", "err", err)
		return invited, nil
	}
	invited.opened = remove
	fmt.Fprintln(a.out, "The page opens in your browser. Press Ctrl-C, or close this window, to stop Bulkfiling.")
	return invited, nil
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
	text := fmt.Sprintf("Events are received at %s://%s%s", scheme, reachable(addr), webhook.Path)
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
