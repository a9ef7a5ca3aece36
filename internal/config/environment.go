// Package config reads the settings (flags, environment, settings file) and opens the resources
// that they name. Both commands use it, so that a variable has the same meaning for an importer and
// for a fleet of workers.
package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/network"
	"github.com/bulkfiling/bulkfiling/internal/notify"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/secret"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Variable is an environment variable as the help texts show it.
type Variable struct{ Name, Default, Meaning string }

// Variables lists all environment variables.
var Variables = []Variable{
	{"FILING_BASE_URL", "", "the address of the filing service, with /v1"},
	{"FILING_API_KEY", "", "the API key: sk_test_… or sk_live_…"},
	{"FILING_LIVE", "", "1 allows a live API key (sk_live_…), like --live"},
	{"FILING_DATA_DIR", "", "the data folder, with a ledger for each filing account; default: " +
		"$XDG_DATA_HOME/bulkfiling or ~/.local/share/bulkfiling, ~/Library/Application Support/Bulkfiling, " +
		"%LocalAppData%\\Bulkfiling"},
	{"FILING_SEAL_KEY", "", "the key that seals Social Security numbers, uploads, and company lists: 64 hexadecimal " +
		"digits, the same on every machine; older keys can follow after spaces or on lines of their own; default: a " +
		"key file in the data folder; required for schedules with DATABASE_URL"},
	{"FILING_WEBHOOK_SECRET", "", "signing secrets of events, separated by commas, in addition to those stored by " +
		"importer webhooks create"},
	{"DATABASE_URL", "", "postgres://…; default: SQLite in the data folder"},
	{"REDIS_URL", "", "redis://[user:password@]host:port/0, rediss:// with TLS, unix:///path; default: in-process"},
	{"WORKER_CONCURRENCY", "32", "the number of orders in flight per process"},
	{"FILING_RATE", "", "the most requests a second (lookups, creations, and orders) of all processes that share " +
		"REDIS_URL or the data folder; default: no limit"},
	{"FILING_COST_TOLERANCE", "0",
		"the dollars by which an order can cost more than approved; above that, it waits for a new approval"},
	{"FILING_REPEAT_AGENT", "", "1 sends a registered agent order again after a lost answer; only for a " +
		"filing service that does not charge it twice"},
	{"FILING_TIMEOUT", "30s", "the timeout of a request, including its answer"},
	{"FILING_FEES", "", "a CSV or XLSX file of state fees: product,state,entityType,amount"},
	{"FILING_PRICE_TYPES", "", "the filing service's price names: annual-report=their_name,…"},
	{"DOCUMENT_HOSTS", "", "the hosts that documents can come from besides the filing service, separated by " +
		"commas: files.example.com, files.example.com:8443, *.example.com; a host named in full can have a " +
		"private address; default: any public host with https"},
	{"FILING_NOTIFY", "", "the targets of notifications, separated by commas: https://… (JSON), " +
		"https://hooks.slack.com/… or slack+https://…, smtp://user:password@host:587/?from=…&to=…"},
	{"FILING_NOTIFY_ON", "all", "the kinds of notifications: funds, key, batch, uncertain, exceptions, " +
		"bought-twice, schedule, due-soon, funds-needed, silent, access, backup, " +
		"approval-needed, approved, sent-back, rejected"},
	{"FILING_BACKUP_DIR", "", "the folder for the daily backups of an SQLite ledger by importer serve, as a full " +
		"path; default: backups, beside the ledger"},
	{"FILING_BACKUP_KEEP", "14", "how many daily backups to keep; 0 for none"},
	{"OIDC_ISSUER", "", "the sign-in provider (OpenID Connect) for the page, such as " +
		"https://login.example.com; default: none"},
	{"OIDC_CLIENT_ID", "", "the ID of this application at the sign-in provider"},
	{"OIDC_CLIENT_SECRET", "", "the secret of this application; empty for a public client"},
	{"OIDC_ROLES", "", "the roles of the provider's groups: filing-approvers=approver,filing-ops=operator " +
		"(separated by ; if names have commas)"},
	{"OIDC_GROUPS_CLAIM", "groups",
		"the claim with a user's groups; dots for nested claims: realm_access.roles"},
	{"OIDC_SCOPES", "openid profile email", "the scopes to request, separated by spaces"},
	{"PUBLIC_URL", "", "the address of the page, for the links of importer accounts and for the sign-in provider"},
	{"FILING_LOG_FORMAT", "", "the format of log lines, json or text; default: json for worker, text for importer"},
	{"…_FILE", "", "FILING_API_KEY_FILE, FILING_SEAL_KEY_FILE, FILING_WEBHOOK_SECRET_FILE, FILING_NOTIFY_FILE, " +
		"OIDC_CLIENT_SECRET_FILE, DATABASE_URL_FILE and REDIS_URL_FILE name files with these secrets"},
}

// Environment is the configuration from the variables.
type Environment struct {
	BaseURL string
	Live    bool
	// CostTolerance is how much an order may cost more than approved.
	CostTolerance money.Cents
	// RepeatAgents reports whether an agent order may be sent again after a lost answer.
	RepeatAgents bool
	DataDir      string
	DatabaseURL  string
	RedisURL     string
	Concurrency  int
	// Rate is in requests per second. Zero means unlimited.
	Rate       float64
	Timeout    time.Duration
	FeesFile   string
	PriceTypes string
	// Downloads has the hosts that documents may be downloaded from.
	Downloads network.Downloads
	Backups   Backups
	// SignIn is the sign-in provider of the page.
	SignIn SignIn
	// Ledger is the value of --ledger. It is empty if the organization's own ledger is used.
	Ledger string
	// Warn receives warnings about the data folder. It is optional.
	Warn func(error)

	// chosen is the ledger of the data folder, nil before the choice.
	chosen *filingAccount
	// organization is the one that the filing service reported, nil before the request.
	organization *ledger.Organization
	binding      *binding
	// layers are the sources of the values.
	layers layers

	key     secret.Value
	sealKey secret.Value
	// targets and kinds configure notifications.
	targets       secret.Value
	kinds         string
	webhookSecret func() (secret.Value, error)
}

// String returns the names of the filing service and the data folder without a secret.
func (e Environment) String() string { return "environment of " + e.BaseURL + " and " + e.DataDir }

// GoString keeps the secrets out of %#v.
func (e Environment) GoString() string { return e.String() }

// Read reads the variables, and the settings file for variables that are not set. It opens only
// these files and the files with secrets.
func Read(getenv func(string) string) (Environment, error) {
	settings, err := loadSettings(SettingsPath(getenv))
	if err != nil {
		return Environment{}, err
	}
	layers := layers{getenv, settings}
	e, err := layers.read()
	return e, layers.explain(err)
}

// read reads the variables from their layers.
func (l layers) read() (Environment, error) {
	value := l.value
	e := Environment{
		BaseURL:    value("FILING_BASE_URL"),
		DataDir:    value("FILING_DATA_DIR"),
		FeesFile:   value("FILING_FEES"),
		PriceTypes: value("FILING_PRICE_TYPES"),
		binding:    new(binding),
		kinds:      value("FILING_NOTIFY_ON"),
		layers:     l,
	}
	if e.DataDir == "" {
		e.DataDir = dataDir(l.getenv)
	}
	err := e.readSecrets(value)
	if err != nil {
		return e, err
	}
	if e.Downloads, err = network.ParseDownloads(e.BaseURL, value("DOCUMENT_HOSTS")); err != nil {
		return e, fmt.Errorf("DOCUMENT_HOSTS: %w", err)
	}
	if e.SignIn, err = readSignIn(value); err != nil {
		return e, err
	}
	if e.Backups, err = readBackups(value); err != nil {
		return e, err
	}
	return e, e.readNumbers(value)
}

// readSecrets reads the variables that can also be files.
func (e *Environment) readSecrets(value func(string) string) error {
	var database, redis, webhook secret.Value
	for _, v := range []struct {
		name string
		into *secret.Value
	}{
		{"FILING_API_KEY", &e.key},
		{"FILING_SEAL_KEY", &e.sealKey},
		{"FILING_NOTIFY", &e.targets},
		{"DATABASE_URL", &database},
		{"REDIS_URL", &redis},
		{"FILING_WEBHOOK_SECRET", &webhook},
	} {
		var err error
		if *v.into, err = readSecret(v.name, value); err != nil {
			return err
		}
	}
	e.DatabaseURL, e.RedisURL = database.Reveal(), redis.Reveal()
	e.webhookSecret = func() (secret.Value, error) { return readSecret("FILING_WEBHOOK_SECRET", value) }
	return nil
}

// readNumbers reads the switches, amounts and times.
func (e *Environment) readNumbers(value func(string) string) (err error) {
	if e.Live, err = readSwitch("FILING_LIVE", value); err != nil {
		return err
	}
	if e.RepeatAgents, err = readSwitch("FILING_REPEAT_AGENT", value); err != nil {
		return err
	}
	if e.CostTolerance, err = money.Parse(value("FILING_COST_TOLERANCE")); err != nil || e.CostTolerance < 0 {
		return errors.New("FILING_COST_TOLERANCE must be an amount in dollars, such as 5.00")
	}
	e.Concurrency, err = strconv.Atoi(value("WORKER_CONCURRENCY"))
	if err != nil || e.Concurrency < 1 || e.Concurrency > 1024 {
		return errors.New("WORKER_CONCURRENCY must be a number of orders in flight, 1 to 1024")
	}
	if v := value("FILING_RATE"); v != "" {
		if e.Rate, err = strconv.ParseFloat(v, 64); err != nil || e.Rate <= 0 {
			return errors.New("FILING_RATE must be more than 0 requests a second")
		}
	}
	if e.Timeout, err = time.ParseDuration(value("FILING_TIMEOUT")); err != nil || e.Timeout < time.Second {
		return errors.New("FILING_TIMEOUT must be a time such as 30s, at least one second")
	}
	return nil
}

// readSwitch reads a variable that is 1 or 0. The default is 0.
func readSwitch(name string, value func(string) string) (bool, error) {
	v := value(name)
	if v == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(v)
	if err != nil {
		return false, fmt.Errorf("%s must be 1 or 0", name)
	}
	return on, nil
}

// readSecret reads a variable, or the file that NAME_FILE names if the variable is empty.
// Containers get their secrets as files, so that lists of processes or variables do not show them.
// An empty file is an error. Otherwise an empty DATABASE_URL would silently select another ledger.
func readSecret(name string, value func(string) string) (secret.Value, error) {
	v, file := value(name), value(name+"_FILE")
	if v != "" || file == "" {
		return secret.New(v), nil
	}
	return readSecretFile("the file that "+name+"_FILE names", file)
}

// readSecretFile reads a file with a secret and trims the space around it.
func readSecretFile(what, path string) (secret.Value, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return secret.Value{}, fmt.Errorf("read %s: %w", what, err)
	}
	v := strings.TrimSpace(string(content))
	if v == "" {
		return secret.Value{}, fmt.Errorf("%s, %s, is empty", what, path)
	}
	return secret.New(v), nil
}

// OpenLedger opens the chosen ledger, or the database of DATABASE_URL.
func (e Environment) OpenLedger(ctx context.Context) (*ledger.Ledger, error) {
	dir := e.DataDir
	switch {
	case e.DatabaseURL != "":
	case e.chosen == nil:
		return nil, errors.New("no ledger was chosen")
	default:
		dir = e.chosen.dir
	}
	if err := store.KeepPrivate(e.DataDir); err != nil && e.DatabaseURL == "" && e.Warn != nil {
		e.Warn(err)
	}
	return ledger.Open(ctx, ledger.Config{
		Dir:          dir,
		DatabaseURL:  e.DatabaseURL,
		SealKey:      e.sealKey.Reveal(),
		RepeatAgents: e.RepeatAgents,
		Tolerance:    e.CostTolerance,
		Timeout:      e.Timeout,
		Gate:         approval.Gate{},
	})
}

// LedgerDir returns the folder of the chosen ledger, empty if there is none.
func (e Environment) LedgerDir() string {
	if e.chosen == nil {
		return ""
	}
	return e.chosen.dir
}

// Account identifies the filing account of the API key. It is empty before Recognize.
func (e Environment) Account() string {
	if e.organization == nil {
		return ""
	}
	return ledger.Client{Mode: e.Mode(), Organization: *e.organization, Unnamed: e.unnamedHash()}.Account()
}

// LedgerName returns the name of the ledger in use.
func (e Environment) LedgerName() string {
	if e.chosen == nil {
		return databaseName(e.DatabaseURL)
	}
	return e.chosen.name
}

// OpenQueue opens the queue and checks that it responds.
func (e Environment) OpenQueue() (*jobs.Queue, error) { return jobs.OpenQueue(e.RedisURL) }

// NewQueue opens the queue without a check.
func (e Environment) NewQueue() (*jobs.Queue, error) { return jobs.NewQueue(e.RedisURL) }

// Client returns a client of the filing service. It opens no connection.
func (e Environment) Client() (*filingapi.Client, error) {
	switch {
	case e.BaseURL == "":
		return nil, errors.New(
			"FILING_BASE_URL is not set: run importer setup, or set it to the address of the filing service, with " +
				"/v1, or enter it on the page of importer serve (to try without an account: importer demo or " +
				"importer sandbox)")
	case e.key.IsEmpty():
		return nil, errors.New(
			"FILING_API_KEY is not set: set it to the API key, or set FILING_API_KEY_FILE to a file with the key. " +
				"The key of the settings file is used only with the address of that file")
	}
	return filingapi.New(filingapi.Config{
		BaseURL:     e.BaseURL,
		Key:         e.key.Reveal(),
		Live:        e.Live,
		Timeout:     e.Timeout,
		Concurrency: 2 * e.Concurrency,
	})
}

// HasKey reports whether there is an API key.
func (e Environment) HasKey() bool { return !e.key.IsEmpty() }

// WebhookSecrets reads the signing secrets of events. It reads their file at every call, so that a
// replaced file takes effect immediately.
func (e Environment) WebhookSecrets() ([]string, error) {
	secrets, err := e.webhookSecret()
	return strings.FieldsFunc(secrets.Reveal(), func(r rune) bool { return r == ',' || unicode.IsSpace(r) }), err
}

// NotifyTargets parses the targets of notifications.
func (e Environment) NotifyTargets() ([]*notify.Target, error) {
	all, err := notify.ParseTargets(e.targets.Reveal())
	if err != nil {
		return nil, fmt.Errorf("FILING_NOTIFY: %w", err)
	}
	return all, nil
}

// Notifier returns the sender of notifications. It does nothing if there are no targets.
func (e Environment) Notifier(l *ledger.Ledger, log *slog.Logger) (*notify.Notifier, error) {
	targets, err := e.NotifyTargets()
	if err != nil {
		return nil, err
	}
	kinds, err := notify.ParseKinds(e.kinds)
	if err != nil {
		return nil, fmt.Errorf("FILING_NOTIFY_ON: %w", err)
	}
	return notify.New(notify.Config{Ledger: l, Targets: targets, On: kinds, Log: log}), nil
}

// Throttle limits the requests to FILING_RATE. The limit applies to all processes that share the
// queue, or the data folder if the queue is in-process. It is nil if the rate is unlimited.
func (e Environment) Throttle(q *jobs.Queue) *lookup.Throttle { return q.Throttle(e.Rate, e.DataDir) }

// Mode returns "live" if the key is not a test key, and "test" for a test key and without a key. A
// ledger has orders of one mode only.
func (e Environment) Mode() string {
	if e.key.IsEmpty() || strings.HasPrefix(e.key.Reveal(), "sk_test_") {
		return "test"
	}
	return "live"
}

// Fees loads the state fees. The fees of FILING_FEES override the built-in ones.
func (e Environment) Fees() (*pricing.Fees, error) {
	if e.FeesFile == "" {
		return pricing.BuiltinFees(), nil
	}
	return pricing.LoadFees(e.FeesFile)
}

// Quoter returns a quoter over prices and the state fees.
func (e Environment) Quoter(prices []filing.Price) (*pricing.Rates, error) {
	fees, err := e.Fees()
	if err != nil {
		return nil, err
	}
	book, err := pricing.NewPriceBook(prices, e.PriceTypes)
	if err != nil {
		return nil, err
	}
	return pricing.NewRates(book, fees), nil
}

// SendNotifications sends the notifications of a ledger until stop is called. stop sends the
// remaining ones, so that a run reports its own end.
func (e Environment) SendNotifications(ctx context.Context, l *ledger.Ledger,
	log *slog.Logger) (stop func(), err error) {
	notifier, err := e.Notifier(l, log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { notifier.Run(ctx) })
	return func() { cancel(); running.Wait() }, nil
}
