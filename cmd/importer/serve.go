package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
approve, follow the orders, and download the results. On Windows and macOS it opens
your browser, signed in; so does a double click on this program. On this machine it prints
a one-time sign-in link to your terminal. If its output goes elsewhere, the link is
in a file of the data folder that only you can read. Each start replaces the link of
the start before. On other machines, people sign in with their accounts (importer
accounts).

Without a filing service, the page of this machine asks for its address and your API
key, checks them, and stores them in the settings file.

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

// The number of spreadsheets that the page reads at the same time, and of requests that wait for
// that. Further requests are refused. A reader needs up to 150 MB.
const (
	readersAtOnce  = 2
	readersWaiting = 8
)

// parsePublicURL parses --public-url.
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
	// maxUpload is in MiB.
	maxUpload int64
	noBrowser bool

	// app is this program, if the page may set it up.
	app *app
}

// shutdownTimeout is the time that requests have to finish.
const shutdownTimeout = 10 * time.Second

// servePages serves the page until ctx ends. After a setup on the page it starts again, behind the
// same address.
func (a *app) servePages(ctx context.Context, s server, log *slog.Logger) error {
	if _, err := a.environment(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.listen)
	// Another program listens at the address, perhaps another instance of this one.
	if err != nil && a.clicked {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer listener.Close()
	f, err := s.openFront(listener, log)
	if err != nil {
		return err
	}
	defer f.Close()
	s.app = a
	for again := true; again && err == nil; {
		err = a.withAnyLedger(ctx, func(l *ledger.Ledger) error {
			s.env = *a.env
			quiet, err := s.env.SendNotifications(ctx, l, log)
			if err != nil {
				return err
			}
			defer quiet()
			again, err = a.serveOn(ctx, l, s, f, log)
			return err
		})
	}
	return err
}

// front is the HTTP server. It passes requests to the page of the current start, and holds them
// between two starts.
type front struct {
	http.Server
	scheme string
	addr   net.Addr
	ended  chan error
	starts int

	// gate is locked from startAgain to the next start.
	gate sync.RWMutex
	// active is locked for reading by each request.
	active sync.RWMutex
	page   http.Handler
	again  chan struct{}
	asked  atomic.Bool
}

// startAgain makes serve start again with the current settings file. Later requests wait for the
// new start.
func (f *front) startAgain() {
	if f.asked.CompareAndSwap(false, true) {
		f.gate.Lock()
		f.again <- struct{}{}
	}
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.gate.RLock()
	f.active.RLock()
	f.gate.RUnlock()
	defer f.active.RUnlock()
	f.page.ServeHTTP(w, r)
}

// openFront begins to accept requests. They wait for the first page.
func (s server) openFront(listener net.Listener, log *slog.Logger) (*front, error) {
	scheme, certificates, err := s.certificates()
	if err != nil {
		return nil, err
	}
	f := &front{scheme: scheme, addr: listener.Addr(), ended: make(chan error, 1), again: make(chan struct{}, 1)}
	f.active.Lock()
	f.gate.Lock()
	f.Server = http.Server{
		Handler:           f,
		ReadHeaderTimeout: 5 * time.Second,
		// Uploads have a separate timeout.
		ReadTimeout:    15 * time.Second,
		WriteTimeout:   2 * time.Minute,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	if certificates != nil {
		f.TLSConfig = network.NewTLS()
		f.TLSConfig.Certificates = certificates
	}
	go func() {
		if certificates != nil {
			f.ended <- f.ServeTLS(listener, "", "")
		} else {
			f.ended <- f.Serve(listener)
		}
	}()
	return f, nil
}

// serveOn serves the page until ctx ends, or until a restart is requested. Events are applied until
// after the last request, and orders in flight are finished.
func (a *app) serveOn(ctx context.Context, l *ledger.Ledger, s server, f *front, log *slog.Logger) (again bool,
	err error) {
	secrets := webhook.Secrets(l.Endpoints(), s.env.WebhookSecrets)
	events, applier := webhook.Handler(l.Events(), webhook.NewHMAC(secrets), log)
	p, err := openPage(ctx, l, s, f, log)
	if err != nil {
		return false, err
	}
	// Live pages would never end.
	f.RegisterOnShutdown(p.site.Close)
	if f.starts++; f.starts == 1 {
		invited, err := a.welcome(ctx, p, f.scheme, f.addr, secrets)
		if err != nil {
			return false, errors.Join(err, p.close())
		}
		defer func() {
			if err := invited.removeFile(); err != nil {
				log.Warn("sign-in link stays in its file", "file", invited.file, "err", err)
			}
		}()
	} else {
		log.Info("started again", "service", s.env.BaseURL)
	}
	f.page = p.handler(events)
	f.asked.Store(false)
	f.active.Unlock()
	f.gate.Unlock()

	// Placing and schedules end with ctx. The services that the last requests need end after them.
	working, leaving := context.WithCancel(ctx)
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer leaving()
	var running sync.WaitGroup
	running.Go(func() { applier.Run(beside) })
	running.Go(func() { p.site.Tidy(beside) })
	running.Go(func() { p.runSchedules(working) })
	running.Go(func() { p.backUp(working) })
	running.Go(func() { p.placeOrders(working) })
	select {
	case err = <-f.ended:
		err = fmt.Errorf("serve: %w", err)
	case <-f.again:
		again = true
		p.site.Close()
		// Wait for the last request.
		f.active.Lock()
	case <-ctx.Done():
		patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if f.Shutdown(patient) != nil {
			err = errors.Join(errors.New("some requests were cut off"), f.Close())
		}
	}
	leaving()
	stop()
	running.Wait()
	p.site.Close()
	return again, errors.Join(err, p.close())
}

// certificates reads the certificate of serve, if any.
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
	open := openCommand(runtime.GOOS, cmp.Or(invited.link, invited.page))
	if err := open.Start(); err != nil {
		p.log.Warn("browser not opened; open the page yourself", "err", err)
		return invited, nil
	}
	// Do not block, because the page must serve the browser.
	go func() { _ = open.Wait() }()
	fmt.Fprintln(a.out, "The page opens in your browser. Press Ctrl-C, or close this window, to stop Bulkfiling.")
	return invited, nil
}

// reachable returns an address of a listener that a person can type. A listener on all addresses of
// the machine, as in a container, is reached at the loopback address.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return addr.String()
}

// routes returns the handler of the server's paths.
func routes(events, page http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+webhook.Path, events)
	// The handler refuses other methods.
	mux.Handle(webhook.Path, events)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "GET it", http.StatusMethodNotAllowed)
	})
	mux.Handle("/", page)
	return mux
}

// greeting names the address that receives events, and whether they can be verified.
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
	default:
		text += " with " + count(len(known), "signing secret") + "."
	}
	return text
}
