package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/retry"
)

// Config configures a service. The zero value is a usable service without money.
type Config struct {
	// Keys are the accepted API keys. Empty means any key that begins with sk_test_.
	Keys []string
	// OpeningBalance is the prepaid balance in cents.
	OpeningBalance int64

	// Latency is the duration of every request. An order is placed after half of that time, even if
	// the client has disconnected.
	Latency time.Duration
	// HangLimit bounds a timeout fault for a client that never disconnects. The default is two
	// minutes.
	HangLimit time.Duration

	// Prices is the price list. Nil means DefaultPrices.
	Prices []Price
	// Fees are the state fees. Nil means DefaultFees. A fee that is not listed is 0 in the books.
	Fees []Fee
	// ExpeditedService is the service charge of an expedited formation in cents. The default is
	// 5000.
	ExpeditedService int64

	// OrderTypes is the style of order and price types. The default is Snake.
	OrderTypes Style
	// Success is the status of a successful POST. The default is 201. Other requests succeed with
	// 200.
	Success int
	// Invalid is the status of a request that breaks a rule. The default is 400.
	Invalid int
	// NestedErrors puts the message of an error body into an object: {"error": {"message": "…"}}.
	// The spec shows only that a message exists.
	NestedErrors bool
	// ShuffleItems answers the items of an order in a random order.
	ShuffleItems bool

	// Seed is the seed of every random choice: ids, secrets, fault rates.
	Seed uint64
	// Now is the clock of the records. Nil means time.Now. Latency always takes real time.
	Now func() time.Time

	// AutoSeed makes an unknown but well-formed user or company appear when it is first named.
	AutoSeed bool
	// Companies are on record from the start, with or without AutoSeed. They have the same agents
	// as the companies of AutoSeed. See ReadCompanies.
	Companies []Company
	// AutoEntityType and AutoFormationState apply to the companies of AutoSeed. The defaults are
	// LLC and DE. Such a company has no legal name, because an invented one would be another
	// company's.
	AutoEntityType, AutoFormationState string

	// Webhooks are registered from the start. An endpoint without types gets all events. An
	// endpoint without a secret gets a random one.
	Webhooks []Webhook

	// Faults are active from the start.
	Faults []Fault

	// Advance is the interval at which every filing moves one step. Zero means that filings keep
	// their status until they are advanced, as in the test environment.
	Advance time.Duration

	// Retries is the number of further attempts for an event that an endpoint did not answer with
	// 2xx. The default is 12. A negative value means no retries.
	Retries int
	// RetryAfter is the wait before the first retry. Each further wait is twice as long, up to a
	// minute. The default is one second.
	RetryAfter time.Duration
	// Client delivers events. Nil means a client with a timeout of ten seconds that follows no
	// redirects.
	Client *http.Client
}

// Style is the spelling of product names with several words.
type Style string

// The styles.
const (
	// Snake spells annual_report.
	Snake Style = "snake"
	// Camel spells annualReport.
	Camel Style = "camel"
)

var nextWord = regexp.MustCompile("_.")

func (s Style) write(name string) string {
	if s != Camel {
		return name
	}
	return nextWord.ReplaceAllStringFunc(name, func(word string) string { return strings.ToUpper(word[1:]) })
}

// core is what the areas of the service share. Its lock guards the fields of all areas.
type core struct {
	cfg Config
	// life ends the clock and the deliveries.
	life  context.Context
	close context.CancelFunc

	mu     sync.Mutex
	rand   *rand.Rand
	lastID uint64
}

// Service is the whole remote service in memory. All methods are safe for concurrent use. Each area
// of the API is a type of its own, and Service has the methods of all.
type Service struct {
	*core
	*records
	*priceList
	*organization
	*orderBook
	*webhooks
	*documents
	*filings
	*faultInjector
	*requestLog
	// keys are the accepted API keys.
	keys []string
}

// New returns a service that is ready to serve.
func New(cfg Config) *Service {
	cfg.HangLimit = cmp.Or(cfg.HangLimit, 2*time.Minute)
	cfg.OrderTypes = cmp.Or(cfg.OrderTypes, Snake)
	cfg.Success, cfg.Invalid = cmp.Or(cfg.Success, http.StatusCreated), cmp.Or(cfg.Invalid, http.StatusBadRequest)
	cfg.ExpeditedService = cmp.Or(cfg.ExpeditedService, 50_00)
	cfg.AutoEntityType, cfg.AutoFormationState = cmp.Or(cfg.AutoEntityType, "LLC"), cmp.Or(cfg.AutoFormationState, "DE")
	cfg.Retries, cfg.RetryAfter = cmp.Or(cfg.Retries, 12), cmp.Or(cfg.RetryAfter, time.Second)
	cfg.Client = cmp.Or(cfg.Client, &http.Client{
		Timeout:       10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	if cfg.Prices == nil {
		cfg.Prices = DefaultPrices()
	}
	if cfg.Fees == nil {
		cfg.Fees = DefaultFees()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	c := &core{cfg: cfg, rand: rand.New(rand.NewPCG(cfg.Seed, 0x5eed))}
	c.life, c.close = context.WithCancel(context.Background())
	s := &Service{
		core: c,
		records: &records{
			core:         c,
			users:        make(map[string]*User),
			usersByEmail: make(map[string]*User),
			usersByPhone: make(map[string]*User),
			companies:    make(map[string]*company),
			companySlugs: make(map[string]*company),
			items:        make(map[string]*Item),
		},
		priceList:     &priceList{core: c, prices: slices.Clone(cfg.Prices)},
		organization:  &organization{core: c, record: newOrganization(cfg.Now())},
		webhooks:      &webhooks{core: c},
		faultInjector: &faultInjector{core: c, faultsFired: make(map[string]int), outageChanged: make(chan struct{})},
		requestLog: &requestLog{
			core:     c,
			requests: make(map[string]int),
			lookups:  make(map[string]int),
			refused:  make(map[int]int),
		},
		keys: slices.Clone(cfg.Keys),
	}
	s.orderBook = &orderBook{core: c, records: s.records, prices: s.priceList, balance: cfg.OpeningBalance}
	s.documents = &documents{
		core:    c,
		records: s.records,
		files:   make(map[string]*Document),
		links:   make(map[string]link),
	}
	s.filings = &filings{
		core:      c,
		records:   s.records,
		orders:    s.orderBook,
		documents: s.documents,
		webhooks:  s.webhooks,
	}
	for _, c := range cfg.Companies {
		s.addCompany(c).auto = true
	}
	for _, hook := range cfg.Webhooks {
		s.AddWebhook(hook)
	}
	s.Inject(cfg.Faults...)
	if cfg.Advance > 0 {
		go s.advanceByClock()
	}
	return s
}

// Close stops the clock and the deliveries. The API still answers.
func (s *Service) Close() { s.close() }

// id returns a new identifier. The numbers are scattered so that no client relies on their order,
// and still the same for the same seed. The caller holds s.mu.
func (s *core) id(prefix string) string {
	s.lastID++
	// This is splitmix64, a bijection, so no two values are equal.
	z := s.cfg.Seed + s.lastID*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return fmt.Sprintf("%s_%016x", prefix, z)
}

// SetKeys replaces the accepted API keys. A client's key is refused from the next request on.
// Without arguments any sk_test_ key is accepted.
func (s *Service) SetKeys(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = slices.Clone(keys)
}

// Deposit adds cents to the prepaid balance.
func (b *orderBook) Deposit(cents int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.balance += cents
}

// charge deducts cents from the prepaid balance. A negative amount is a refund. The caller holds
// s.mu.
func (b *orderBook) charge(cents int64) {
	b.balance -= cents
	b.charged += cents
}

// endpoint is one row of the table of section 4. Its handler runs under the lock.
type endpoint struct {
	method, path string
	do           func(*Service, *call) (any, error)
}

func (e endpoint) name() string { return e.method + " " + e.path }

// The path of "set price" is not shown in the spec. Ours is /organization/prices/{id}.
// Source: spec section 4.
var endpoints = []endpoint{
	{"POST", "/orders", (*Service).createOrder},
	{"POST", "/companies", (*Service).createCompany},
	{"GET", "/companies/{id}", (*Service).getCompany},
	{"PATCH", "/companies/{id}", (*Service).patchCompany},
	{"GET", "/organization", (*Service).getOrganization},
	{"PATCH", "/organization", (*Service).patchOrganization},
	{"GET", "/organization/prices", (*Service).getPrices},
	{"PUT", "/organization/prices/{id}", (*Service).putPrice},
	{"POST", "/users", (*Service).createUser},
	{"GET", "/users/{id}", (*Service).getUser},
	{"GET", "/documents/{id}", (*Service).getDocument},
	{"POST", "/webhook-endpoints", (*Service).createWebhook},
	{"POST", "/auth/magic-link", (*Service).createMagicLink},
}

// call is one request.
type call struct {
	request *http.Request
	// endpoint is the method and the path, such as "POST /orders".
	endpoint string
	// id is the path parameter.
	id  string
	raw []byte
	// body is nil for a GET.
	body  *object
	found problems
	// order is set if the request placed an order.
	order *Order
}

// company returns the company of the request, as the client wrote it.
func (c *call) company() string {
	if strings.Contains(c.endpoint, "/companies/") {
		return c.id
	}
	if c.body != nil {
		id, _ := c.body.fields["companyId"].(string)
		return id
	}
	return ""
}

// refusal is an answer with a 4xx status.
type refusal struct {
	status  int
	message string
	// minimum is in cents.
	minimum *int64
	// Each of the problems becomes a Violation.
	problems problems
}

func (r *refusal) Error() string { return r.message }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, message: fmt.Sprintf(format, args...)}
}

// forbidden returns a refusal of a request that the spec rules out.
func forbidden(status int, rule, format string, args ...any) *refusal {
	r := refuse(status, format, args...)
	r.problems = problems{{rule: rule, message: r.message}}
	return r
}

// finish refuses a request with problems, including fields that were not read.
func (s *core) finish(c *call) error {
	c.body.done()
	return s.invalid(c.found)
}

// invalid returns a refusal with the problems found, or nil if there are none.
func (s *core) invalid(found problems) error {
	if len(found) == 0 {
		return nil
	}
	messages := make([]string, len(found))
	for i, p := range found {
		messages[i] = p.message
	}
	r := refuse(s.cfg.Invalid, "%s", strings.Join(messages, "; "))
	r.problems = found
	return r
}

// answer is the status and body of an answer.
type answer struct {
	status int
	body   []byte
}

const maxBody = 1 << 20

// Handler serves the API under /v1/, the books at /books.json, and the controls under /admin/.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, e := range endpoints {
		mux.HandleFunc(e.method+" /v1"+e.path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, e) })
	}
	unknown := endpoint{"*", "(unknown)", (*Service).unknownEndpoint}
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, unknown) })
	s.handlePages(mux)
	s.handleAdmin(mux)
	return mux
}

func (s *Service) unknownEndpoint(c *call) (any, error) {
	return nil, forbidden(http.StatusNotFound, "4 endpoints", "There is no %s %s", c.request.Method, c.request.URL.Path)
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request, e endpoint) {
	arrived := time.Now()
	s.countRequest(r, e)

	c := &call{request: r, endpoint: e.name(), id: r.PathValue("id")}
	var readErr error
	if c.raw, readErr = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); readErr != nil {
		var tooBig *http.MaxBytesError
		if !errors.As(readErr, &tooBig) {
			// The client disconnected before its request was complete.
			panic(http.ErrAbortHandler)
		}
	}
	parseErr := c.parse(readErr)

	waitUntil(r.Context(), arrived.Add(s.cfg.Latency/2))
	if s.isOut(w) {
		return
	}
	fault := s.pickFault(c)
	if fault != nil && !fault.after() {
		s.applyFault(w, c, fault, s.answerWithoutOrder(c))
		return
	}
	a := s.do(e, c, parseErr)
	waitUntil(r.Context(), arrived.Add(s.cfg.Latency))
	if fault != nil {
		s.applyFault(w, c, fault, a)
		return
	}
	write(w, a)
}

func (l *requestLog) countRequest(r *http.Request, e endpoint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[e.name()]++
	if r.Method == http.MethodGet {
		l.lookups[r.URL.Path]++
	}
}

// waitUntil returns at t, or when the client has disconnected. The service continues without it.
func waitUntil(ctx context.Context, t time.Time) { _ = retry.Sleep(ctx, time.Until(t)) }

// parse reads the body of a request that has one. It refuses a body that the spec does not have.
func (c *call) parse(readErr error) error {
	r := c.request
	switch {
	case readErr != nil:
		return forbidden(http.StatusRequestEntityTooLarge, "2 shape", "The body is larger than %d bytes", maxBody)
	case r.URL.RawQuery != "":
		return forbidden(http.StatusBadRequest, "4 endpoints", "This endpoint takes no query parameters")
	case r.Method == http.MethodGet && len(c.raw) > 0:
		return forbidden(http.StatusBadRequest, "4 endpoints", "A GET takes no body")
	case r.Method == http.MethodGet:
		return nil
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return forbidden(http.StatusUnsupportedMediaType, "4 JSON", "Content-Type must be application/json, not %q",
			r.Header.Get("Content-Type"))
	}
	body, err := parseBody(c.raw, &c.found)
	if err != nil {
		return forbidden(http.StatusBadRequest, "4 JSON", "The body cannot be read: %s", err)
	}
	c.body = body
	return nil
}

// do authenticates and executes a request.
func (s *Service) do(e endpoint, c *call, parseErr error) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := cmp.Or(s.authenticate(c.request), parseErr)
	if err == nil {
		var v any
		if v, err = e.do(s, c); err == nil {
			return s.success(c.request.Method, v)
		}
	}
	var r *refusal
	if !errors.As(err, &r) {
		r = refuse(http.StatusInternalServerError, "%s", err)
	}
	s.recordRefusal(c, r)
	return answer{r.status, s.errorBody(r.message, r.minimum)}
}

func (s *core) success(method string, v any) answer {
	body, err := json.Marshal(v)
	if err != nil {
		// Our own structs always encode.
		panic(fmt.Sprintf("sandbox: encode answer: %v", err))
	}
	status := http.StatusOK
	if method == http.MethodPost {
		status = s.cfg.Success
	}
	return answer{status, body}
}

func (s *core) errorBody(message string, minimum *int64) []byte {
	v := map[string]any{"message": message}
	if minimum != nil {
		v["minimumAmount"] = dollars(*minimum)
	}
	if s.cfg.NestedErrors {
		v = map[string]any{"error": v}
	}
	// Strings and numbers always encode.
	body, _ := json.Marshal(v)
	return body
}

// authenticate checks the API key. The caller holds the lock.
// Source: spec section 5, rules 1 and 2.
func (s *Service) authenticate(r *http.Request) error {
	given := r.Header.Values("X-Api-Key")
	if len(given) != 1 || given[0] == "" {
		return forbidden(http.StatusUnauthorized, "5.1 x-api-key", "One x-api-key header is required")
	}
	if (len(s.keys) == 0 && strings.HasPrefix(given[0], "sk_test_")) || slices.Contains(s.keys, given[0]) {
		return nil
	}
	return refuse(http.StatusUnauthorized, "The API key is not valid")
}

func write(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	// The client may have disconnected.
	_, _ = w.Write(a.body)
}

// Serve answers on ln until ctx ends. During a refusing outage it closes the listener with every
// connection, so that clients see refused connections. Afterwards it listens on the same address
// again.
func (s *Service) Serve(ctx context.Context, ln net.Listener) error {
	addr := ln.Addr()
	handler := s.Handler()
	for {
		srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(ln) }()

		refusing, err := s.waitFor(ctx, served, true)
		srv.Close()
		if !refusing {
			return err
		}
		<-served
		if back, err := s.waitFor(ctx, nil, false); !back {
			return err
		}
		if ln, err = net.Listen(addr.Network(), addr.String()); err != nil {
			return fmt.Errorf("listen again on %s: %w", addr, err)
		}
	}
}

// waitFor waits until connections are refused, or no longer are. It returns false if serving or ctx
// has ended.
func (s *Service) waitFor(ctx context.Context, served <-chan error, refusing bool) (bool, error) {
	for {
		s.mu.Lock()
		now, changed := s.outage == OutageRefuse, s.outageChanged
		s.mu.Unlock()
		if now == refusing {
			return true, nil
		}
		select {
		case <-changed:
		case err := <-served:
			return false, fmt.Errorf("serve: %w", err)
		case <-ctx.Done():
			return false, nil
		}
	}
}

// dollars encodes cents as an exact JSON number of dollars.
type dollars int64

func (d dollars) MarshalJSON() ([]byte, error) {
	sign, c := "", int64(d)
	if c < 0 {
		sign, c = "-", -c
	}
	if c%100 == 0 {
		return fmt.Appendf(nil, "%s%d", sign, c/100), nil
	}
	return fmt.Appendf(nil, "%s%d.%02d", sign, c/100, c%100), nil
}

// stamp encodes a time as the service does, in ISO 8601, UTC, with milliseconds. A zero time is
// null.
type stamp time.Time

func (t stamp) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return []byte(time.Time(t).UTC().Format(`"2006-01-02T15:04:05.000Z"`)), nil
}
