package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/inconshreveable/mousetrap"
	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/network"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

// serveOptions are the options of serve.
type serveOptions struct {
	listen          string
	tlsCert, tlsKey string
	publicURL       string
	trustProxy      string
	noBrowser       bool
	// maxUpload is in MiB.
	maxUpload int64

	// public and proxies are parsed from publicURL and trustProxy. public is nil without the flag.
	public  *url.URL
	proxies network.Proxies
}

func newServeCommand(g *global) *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the page and receive the filing service's events",
		Long: `serve runs the page, where you upload spreadsheets, fix errors, see the cost,
approve, follow the orders, and download the results. On Windows and macOS it opens
your browser, signed in; so does a double click on this program. Elsewhere it prints a
one-time sign-in link to your terminal. On other machines, people sign in with their
accounts (importer accounts). Without a filing service, the page asks for its address
and your API key.

serve also receives the events of the filing service at ` + webhook.Path + `,
and runs the schedules that are due. Without REDIS_URL, it places the orders; with it,
the workers do. Several can run on one ledger, and each can stop at any time.

The filing service must be able to reach serve, and other machines must use TLS:
put serve behind a proxy with a certificate (--public-url, --trust-proxy), or give
it a certificate. GET /healthz answers 200 while it runs.`,
		Example: `  importer serve
  importer serve --listen :8443 --tls-cert cert.pem --tls-key key.pem
  importer serve --listen 127.0.0.1:8080 --public-url https://filings.example.com --trust-proxy 127.0.0.1
  importer webhooks create --url https://filings.example.com` + webhook.Path,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.parse(); err != nil {
				return err
			}
			log, err := g.logger(slog.LevelInfo)
			if err != nil {
				return err
			}
			config.LimitMemory(log)
			// A reader needs up to 150 MB. Further requests wait, or are refused.
			sheet.LimitReaders(2, 8)
			if o.public != nil && !o.proxies.Any() {
				log.Warn("all clients behind the proxy share one address in logs and sessions; set --trust-proxy")
			}
			return runServe(c.Context(), o, g, log)
		},
	}
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "the address to listen on")
	f.StringVar(&o.tlsCert, "tls-cert", "", "a PEM file with the certificate and its chain")
	f.StringVar(&o.tlsKey, "tls-key", "", "a PEM file with the certificate's key")
	f.StringVar(&o.publicURL, "public-url", "",
		"the address of the page if it is behind a proxy, such as https://filings.example.com")
	f.StringVar(&o.trustProxy, "trust-proxy", "",
		"the addresses of proxies whose X-Forwarded-For is trusted: 127.0.0.1,10.42.0.0/16")
	f.BoolVar(&o.noBrowser, "no-browser", false, "do not open the browser")
	f.Int64Var(&o.maxUpload, "max-upload", 64, "the largest upload in MiB")
	return c
}

// parse checks the options.
func (o *serveOptions) parse() (err error) {
	if (o.tlsCert == "") != (o.tlsKey == "") {
		return usage("--tls-cert and --tls-key go together")
	}
	if o.publicURL != "" {
		const what = "an address such as https://filings.example.com, without a path"
		if o.public, err = webAddress("--public-url", o.publicURL, what); err != nil {
			return err
		}
		if strings.Trim(o.public.Path, "/") != "" || o.public.RawQuery != "" {
			return usage("--public-url must be %s", what)
		}
	}
	if o.proxies, err = network.ParseProxies(o.trustProxy); err != nil {
		return usage("--trust-proxy: %w", err)
	}
	if o.maxUpload < 1 {
		return usage("--max-upload must be at least 1 MiB")
	}
	return nil
}

// runServe serves the page until ctx ends. After a setup on the page it starts again, behind the same
// address.
func runServe(ctx context.Context, o serveOptions, g *global, log *slog.Logger) error {
	if _, err := g.environment(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	// Another program listens at the address, perhaps another instance of this one.
	if err != nil && g.clicked {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer listener.Close()
	f, err := openFront(o, listener, log)
	if err != nil {
		return err
	}
	defer f.Close()
	for again := true; again && err == nil; {
		err = withAnyLedger(ctx, g, func(l openLedger) error {
			quiet, err := l.env.SendNotifications(ctx, l.Ledger, log)
			if err != nil {
				return err
			}
			defer quiet()
			again, err = f.serve(ctx, o, g, l, log)
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
func openFront(o serveOptions, listener net.Listener, log *slog.Logger) (*front, error) {
	f := &front{scheme: "http", addr: listener.Addr(), ended: make(chan error, 1), again: make(chan struct{}, 1)}
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
	if o.tlsCert == "" {
		go func() { f.ended <- f.Serve(listener) }()
		return f, nil
	}
	pair, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	f.scheme, f.TLSConfig = "https", network.NewTLS()
	f.TLSConfig.Certificates = []tls.Certificate{pair}
	go func() { f.ended <- f.ServeTLS(listener, "", "") }()
	return f, nil
}

// serve serves the page until ctx ends, or until a restart is requested. Events are applied until
// after the last request, and orders in flight are finished.
func (f *front) serve(ctx context.Context, o serveOptions, g *global, l openLedger, log *slog.Logger) (again bool,
	err error) {
	secrets := webhook.Secrets(webhook.NewEndpoints(l.DB), l.env.WebhookSecrets)
	events, applier := webhook.Handler(l.Events(), webhook.NewHMAC(secrets), log)
	p, err := openPage(ctx, o, g, l, f, log)
	if err != nil {
		return false, err
	}
	// Live pages would never end.
	f.RegisterOnShutdown(p.site.Close)
	if f.starts++; f.starts == 1 {
		if err := welcome(ctx, g, p, secrets); err != nil {
			return false, errors.Join(err, p.close())
		}
	} else {
		log.Info("started again", "service", l.env.BaseURL)
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
	if p.client != nil {
		running.Go(func() { p.scheduler.Run(working) })
	}
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
		// Requests have this time to finish.
		patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
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

// welcome prints how to sign in, and opens the browser on a desktop.
func welcome(ctx context.Context, g *global, p *page, secrets func(context.Context) ([]string, error)) error {
	t := g.terminal
	text, address, err := p.invite(ctx, isTerminal(t.out))
	if err != nil {
		return err
	}
	t.print("%s\n%s", greeting(ctx, p.front.scheme, p.front.addr, secrets), text)
	if p.opts.noBrowser || address == "" || !isDesktop(g.getenv) || !g.clicked && !isTerminal(t.out) {
		return nil
	}
	open := openCommand(runtime.GOOS, address)
	if err := open.Start(); err != nil {
		p.log.Warn("browser not opened; open the page yourself", "err", err)
		return nil
	}
	// Do not block, because the page must serve the browser.
	go func() { _ = open.Wait() }()
	t.print("The page opens in your browser. Press Ctrl-C, or close this window, to stop Bulkfiling.")
	return nil
}

// reachable returns an address of a listener that a person can type. A listener on all addresses of
// the machine, as in a container, is reached at the loopback address.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return addr.String()
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

// firstLinkLife is the validity of the sign-in link of serve.
const firstLinkLife = 12 * time.Hour

// ownerRoles are the roles of the person who starts the page on their computer.
var ownerRoles = []account.Role{account.Preparer, account.Approver, account.Operator}

// invite returns the text that explains how to sign in, and the address to open in the browser. A
// page that only this machine can reach gets a one-time sign-in link for the user who starts it. The
// link is printed only to a terminal, because others read logs. The address is empty if the page is
// for other machines.
func (p *page) invite(ctx context.Context, terminal bool) (text, address string, err error) {
	base := p.front.scheme + "://" + reachable(p.front.addr)
	if p.opts.public != nil {
		base = p.opts.public.String()
	}
	text = "The page is at " + base + "/"
	if !p.local {
		accounts, err := p.ledger.Accounts().List(ctx)
		if err == nil && len(accounts) == 0 {
			text += ". There are no accounts yet. To add one: importer accounts add NAME --role " +
				"operator,approver,preparer --url " + base
		}
		return text, "", err
	}
	owner, err := findOwner(ctx, p.ledger.Ledger)
	switch {
	case err != nil:
		return "", "", err
	case owner.ManagedBy != "":
		return text + ". Sign in with your company account", base + "/", nil
	case !terminal:
		text = fmt.Sprintf("%s. To sign in: importer accounts link %q --url %s", text, owner.Name, base)
		return text, base + "/", nil
	}
	link, err := ownerLink(ctx, p.ledger.Ledger, owner, "by importer serve", firstLinkLife)
	return "The page, with a one-time sign-in link: " + base + link, base + link, err
}

// ownerLink returns the path of a one-time link for the owner of this computer.
func ownerLink(ctx context.Context, l *ledger.Ledger, owner account.Account, by string,
	life time.Duration) (string, error) {
	audited := withAudit(ctx, "account-link", owner.Name, by+", for "+life.String())
	secret, err := l.Accounts().MakeSignInLink(audited, owner.ID, life)
	return linkPath(secret), err
}

// findOwner finds the account of the user who starts the page, and adds it if it is missing.
func findOwner(ctx context.Context, l *ledger.Ledger) (account.Account, error) {
	account, err := l.Accounts().Find(ctx, currentUser())
	if errors.Is(err, ledger.ErrNotFound) {
		return l.Accounts().Add(withAudit(ctx, "account-add", strings.ToLower(currentUser()),
			"by importer serve, roles "+roleText(ownerRoles)), currentUser(), ownerRoles)
	}
	return account, err
}

// linkPath returns the path of a one-time sign-in link.
func linkPath(secret string) string { return "/enter?" + url.Values{"link": {secret}}.Encode() }

// isDesktop reports whether a browser can be opened for the person at this computer. This is not
// the case on CI or over SSH. It is limited to Windows and macOS, because on other systems other
// users see the arguments of the command, which would include the sign-in link.
func isDesktop(getenv func(string) string) bool {
	return (runtime.GOOS == "windows" || runtime.GOOS == "darwin") && getenv("CI") == "" &&
		getenv("SSH_CONNECTION") == ""
}

// clickedOn reports whether the program was started by a double click. It then has no arguments,
// and was not started from a shell or a script.
func clickedOn(args []string) bool {
	if len(args) > 0 {
		return false
	}
	// StartedByExplorer is false on other systems than Windows.
	if mousetrap.StartedByExplorer() {
		return true
	}
	// Finder opens a terminal in the home folder with the path of the program.
	home, err := os.UserHomeDir()
	dir, wrong := os.Getwd()
	return runtime.GOOS == "darwin" && err == nil && wrong == nil && dir == home && filepath.IsAbs(os.Args[0]) &&
		os.Getenv("TERM_PROGRAM") == "Apple_Terminal"
}

// openCommand returns the command of Windows or macOS that opens a link in the browser.
func openCommand(goos, link string) *exec.Cmd {
	if goos == "windows" {
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", link)
	}
	// Pass the link on stdin, because it is a secret and other users see the arguments of a
	// command.
	c := exec.Command("osascript", "-")
	c.Stdin = strings.NewReader(fmt.Sprintf("open location %q\n", link))
	return c
}

// waitForClose keeps the window of a double click open so that a person can read an error. On
// Windows the window closes with the program.
func waitForClose(t *terminal) {
	if runtime.GOOS == "windows" {
		t.say("Press Enter to close this window.")
		var line string
		// Any input closes the window.
		_, _ = fmt.Fscanln(t.in, &line)
	}
}
