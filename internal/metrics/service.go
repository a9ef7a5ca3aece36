package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
)

// classes are all kinds of answers. Every counter starts at zero before the first answer, because a
// rate needs a start.
var classes = []filing.AnswerKind{
	filing.NotSent, filing.Accepted, filing.Unreadable, filing.NoAnswer, filing.ServerError,
	filing.Busy, filing.NoFunds, filing.KeyRefused, filing.HasItem, filing.Refused,
}

// The values of the label call, which are the calls that cost nothing.
const (
	lookUpCompany = "company"
	lookUpUser    = "user"
	createUser    = "create_user"
	updateCompany = "update_company"
)

// outcomes are the values of the label outcome. The first matching error applies.
var outcomes = []struct {
	name string
	err  error
}{
	{"not_found", filingapi.ErrNotFound},
	{"conflict", filingapi.ErrConflict},
	{"refused", filingapi.ErrRefused},
	{"busy", filingapi.ErrBusy},
	{"key_refused", filingapi.ErrKeyRefused},
	{"unavailable", filingapi.ErrUnavailable},
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o.name
		}
	}
	return "other" // this process canceled the call
}

// seconds are the buckets of latencies. An answer usually takes some tens of milliseconds, and
// never longer than FILING_TIMEOUT, which is 30 s by default.
var seconds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60}

// Service counts and times the requests to the filing service that pass through it. It is a
// jobs.Service.
type Service struct {
	service jobs.Service

	// orders and creations are by kind of answer.
	orders    *prometheus.CounterVec
	creations *prometheus.CounterVec
	// items are by product.
	items         *prometheus.CounterVec
	inFlight      prometheus.Gauge
	orderDuration prometheus.Observer
	// calls are by call and outcome.
	calls        *prometheus.CounterVec
	callDuration *prometheus.HistogramVec
}

// Observe wraps s in a Service, whose metrics it registers.
func Observe(s jobs.Service, registry prometheus.Registerer) *Service {
	to := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return to.NewCounterVec(prometheus.CounterOpts{Name: "bulkfiling_" + name, Help: help}, labels)
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return to.NewHistogramVec(
			prometheus.HistogramOpts{Name: "bulkfiling_" + name, Help: help, Buckets: seconds}, labels)
	}
	m := &Service{
		service: s,
		orders:  counter("orders_total", "Attempts to send an order, by the class of the answer.", "class"),
		creations: counter("company_creations_total", "Attempts to create a company, by the class of the answer.",
			"class"),
		items: counter("order_items_total", "Filings in accepted orders, by product.", "product"),
		inFlight: to.NewGauge(prometheus.GaugeOpts{
			Name: "bulkfiling_orders_in_flight", Help: "Orders and creations that wait for their answer.",
		}),
		orderDuration: histogram("order_duration_seconds",
			"How long the filing service took to answer an order that was sent.").WithLabelValues(),
		calls: counter("lookups_total", "Requests about users and companies, by call and outcome.", "call", "outcome"),
		callDuration: histogram("lookup_duration_seconds", "How long requests about users and companies took.",
			"call"),
	}
	for _, class := range classes {
		m.orders.WithLabelValues(string(class))
		m.creations.WithLabelValues(string(class))
	}
	for _, product := range filing.Products {
		m.items.WithLabelValues(string(product))
	}
	for _, call := range []string{lookUpCompany, lookUpUser, createUser, updateCompany} {
		m.calls.WithLabelValues(call, outcome(nil))
		m.callDuration.WithLabelValues(call)
	}
	return m
}

// PlaceOrder sends an order and counts its answer.
func (m *Service) PlaceOrder(ctx context.Context, o *filing.Order) filing.Answer {
	a := m.send(m.orders, func() filing.Answer { return m.service.PlaceOrder(ctx, o) })
	if a.Kind == filing.Accepted {
		for _, product := range o.Products() {
			m.items.WithLabelValues(string(product)).Inc()
		}
	}
	return a
}

// CreateCompany sends a company and counts its answer.
func (m *Service) CreateCompany(ctx context.Context, c filing.NewCompany) filing.Answer {
	return m.send(m.creations, func() filing.Answer { return m.service.CreateCompany(ctx, c) })
}

// send times requests that were written to the wire. Requests that an open breaker rejected would
// make the service look faster than it is.
func (m *Service) send(counter *prometheus.CounterVec, send func() filing.Answer) filing.Answer {
	m.inFlight.Inc()
	defer m.inFlight.Dec()
	began := time.Now()
	a := send()
	counter.WithLabelValues(string(a.Kind)).Inc()
	if a.Kind != filing.NotSent && counter == m.orders {
		m.orderDuration.Observe(time.Since(began).Seconds())
	}
	return a
}

// BreakerState returns why the order breaker sends no order.
func (m *Service) BreakerState() filingapi.BreakerState { return m.service.BreakerState() }

// Company looks up a company.
func (m *Service) Company(ctx context.Context, ref string) (filing.Company, error) {
	return call(m, lookUpCompany, func() (filing.Company, error) { return m.service.Company(ctx, ref) })
}

// UpdateCompany changes the fields of a company.
func (m *Service) UpdateCompany(ctx context.Context, id string, c filing.Company) (filing.Company, error) {
	return call(m, updateCompany, func() (filing.Company, error) { return m.service.UpdateCompany(ctx, id, c) })
}

// User looks up a user.
func (m *Service) User(ctx context.Context, ref string) (filing.User, error) {
	return call(m, lookUpUser, func() (filing.User, error) { return m.service.User(ctx, ref) })
}

// CreateUser creates a user.
func (m *Service) CreateUser(ctx context.Context, u filing.User) (filing.User, error) {
	return call(m, createUser, func() (filing.User, error) { return m.service.CreateUser(ctx, u) })
}

func call[T any](m *Service, name string, do func() (T, error)) (T, error) {
	began := time.Now()
	v, err := do()
	m.calls.WithLabelValues(name, outcome(err)).Inc()
	m.callDuration.WithLabelValues(name).Observe(time.Since(began).Seconds())
	return v, err
}
