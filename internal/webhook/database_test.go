package webhook_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

var discard = slog.New(slog.DiscardHandler)

// fixture is a ledger under test.
type fixture struct {
	*testing.T
	config ledger.Config
}

// onBothDatabases runs one suite on SQLite and on PostgreSQL.
func onBothDatabases(t *testing.T, suite func(*fixture)) {
	ledgertest.OnBoth(t, func(t *testing.T, database string) {
		suite(&fixture{t, ledger.Config{Dir: ledgertest.Dir(t), DatabaseURL: database}})
	})
}

func (s *fixture) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// open opens the ledger as one more process.
func (s *fixture) open() *ledger.Ledger {
	s.Helper()
	return ledgertest.Open(s, s.config)
}

// receive returns what delivers a body, signed with a secret, to a receiver over a
// ledger.
func receive(l *ledger.Ledger) func(body, secret string) (status int) {
	rc, _ := webhook.Handler(l.Events(), webhook.NewHMAC(webhook.Secrets(webhook.NewEndpoints(l.DB), nil)), discard)
	return func(body, secret string) int { return answer(rc, delivery(body, sign(secret, body))).StatusCode }
}

// An event that one process stored is applied by another, once, though it comes twice.
func TestStoredEventIsAppliedByAnyProcess(t *testing.T) {
	onBothDatabases(t, func(s *fixture) {
		l, other := s.open(), s.open()
		s.must(webhook.NewEndpoints(l.DB).Set(s.Context(), webhook.Endpoint{ID: "we_1", URL: "https://here"}, secret))
		deliver := receive(l)
		for range 2 {
			if got := deliver(event, secret); got != 200 {
				s.Fatal(got)
			}
		}
		for _, want := range []int{1, 0} {
			if n, err := other.Events().Apply(s.Context()); n != want || err != nil {
				s.Errorf("%d events applied, want %d, %v", n, want, err)
			}
		}
		events, err := l.Events().List(s.Context(), "", 10)
		if s.must(err); len(events) != 1 || events[0].State != ledger.EventUnknown {
			s.Errorf("%+v", events)
		}
	})
}

// An endpoint's secret is accepted as soon as it is kept by another process, and
// refused soon after it is dropped.
func TestEndpointsComeAndGo(t *testing.T) {
	onBothDatabases(t, func(s *fixture) {
		l, other := s.open(), s.open()
		deliver := receive(l)
		if got := deliver(event, "whsec_1"); got != 503 {
			s.Errorf("before: %d", got)
		}
		for _, n := range []string{"1", "2"} {
			s.must(webhook.NewEndpoints(other.DB).Set(s.Context(),
				webhook.Endpoint{ID: "we_" + n, URL: "https://here"}, "whsec_"+n))
		}
		if one, two := deliver(event, "whsec_1"), deliver(event, "whsec_2"); one != 200 || two != 200 {
			s.Errorf("kept: %d and %d", one, two)
		}
		s.must(webhook.NewEndpoints(other.DB).Delete(s.Context(), "we_1"))
		deadline := time.Now().Add(2 * time.Minute)
		for ; deliver(event, "whsec_1") == 200; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				s.Fatal("a dropped secret is still accepted")
			}
		}
		if one, two := deliver(event, "whsec_1"), deliver(event, "whsec_2"); one != 401 || two != 200 {
			s.Errorf("one dropped: %d and %d", one, two)
		}
	})
}

// Whatever the service signs is answered with 200 or 400 and kept: a body that
// no database would take must not come back for ever.
func TestSignedIsAlwaysKept(t *testing.T) {
	onBothDatabases(t, func(s *fixture) {
		l := s.open()
		s.must(webhook.NewEndpoints(l.DB).Set(s.Context(), webhook.Endpoint{ID: "we_1", URL: "https://here"}, secret))
		deliver := receive(l)
		bodies := []string{
			`{"id":"evt_a\ud800","type":"t"}`, "{\"id\":\"evt_b\xff\",\"type\":\"t\"}", `{"id":" evt_c ","type":"t"}`,
			`{"id":"` + strings.Repeat("x", 201) + `","type":"t"}`,
			`{"id":"evt_1","type":"\u0000","data":{"orderId":"\u0000","filingStatus":"\u0000",` +
				`"exceptionCode":"99999999999999999999"}}`,
			`{"id":"evt_2","type":"filing.status_changed","createdAt":"9999-12-31T23:59:59Z",` +
				`"data":{"orderId":"order_1","exceptionCode":9223372036854775807}}`,
			`{"id":"evt_3","type":"filing.status_changed","createdAt":"0000-01-01T00:00:00Z",` +
				`"data":{"orderId":"order_1","filingStatus":"` + strings.Repeat("x", 1<<19) + `"}}`,
			"\x00", "", "\xff\xfe{}",
		}
		for _, body := range bodies {
			if got := deliver(body, secret); got != 200 && got != 400 {
				s.Errorf("%.80q: %d", body, got)
			}
		}
		_, err := l.Events().Apply(s.Context())
		s.must(err)
		if kept, err := l.Events().List(s.Context(), "", 100); err != nil || len(kept) != len(bodies) {
			s.Errorf("%d of %d kept, %v", len(kept), len(bodies), err)
		}
	})
}
