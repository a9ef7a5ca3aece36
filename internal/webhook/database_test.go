package webhook_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/webhook"
)

var discard = slog.New(slog.DiscardHandler)

// store is a ledger under test.
type store struct {
	*testing.T
	config ledger.Config
}

// onBothDatabases runs one suite on SQLite and on PostgreSQL.
func onBothDatabases(t *testing.T, suite func(*store)) {
	ledgertest.OnBoth(t, func(t *testing.T, database string) {
		suite(&store{t, ledger.Config{Dir: ledgertest.Dir(t), DatabaseURL: database}})
	})
}

func (s *store) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// open opens the ledger as one more process.
func (s *store) open() *ledger.Ledger {
	s.Helper()
	l, err := ledger.Open(s.Context(), s.config)
	s.must(err)
	s.Cleanup(func() { l.Close() })
	return l
}

// add records a batch of n annual reports that are ready to be sent.
func (s *store) add(l *ledger.Ledger, n int) []ledger.Row {
	s.Helper()
	ctx := s.Context()
	created, err := l.CreateBatch(ctx, ledger.Batch{ID: "a", File: "a.csv", Product: filing.AnnualReport})
	if err != nil || !created {
		s.Fatal(created, err)
	}
	rows := make([]ledger.Row, n)
	for i := range rows {
		rows[i] = ledger.Row{Number: i + 2, Cells: []byte(`["x"]`), Result: filing.Ready, Request: &filing.Request{
			Product: filing.AnnualReport, Company: filing.CompanyRef{Ref: fmt.Sprintf("comp_%d", i)},
			Order: filing.Order{FilingState: "DE", AnnualReport: &filing.AnnualReportItem{FilingYear: "2026"}},
		}}
	}
	s.must(l.AddRows(ctx, "a", rows))
	s.must(l.OpenBatch(ctx, "a"))
	return s.rows(l)
}

func (s *store) rows(l *ledger.Ledger) []ledger.Row {
	s.Helper()
	var rows []ledger.Row
	for r, err := range l.Rows(s.Context(), "a") {
		s.must(err)
		rows = append(rows, r)
	}
	return rows
}

// place sends rows and gives each the order of its number.
func (s *store) place(l *ledger.Ledger, rows []ledger.Row) {
	s.Helper()
	for _, r := range rows {
		cost := money.Cost{Amount: 7500}
		begun, err := l.Begin(s.Context(), ledger.Intent{
			Row:    r.ID,
			Cost:   cost,
			Claims: []ledger.Claim{{Product: filing.AnnualReport, Key: filing.Key(r.Request.Company.Ref)}},
		})
		s.must(err)
		s.must(l.RecordOutcome(s.Context(), ledger.Outcome{
			Row:    r.ID,
			Try:    begun.Try,
			Answer: filing.Answer{Kind: filing.Accepted},
			Cost:   cost,
			Items: []ledger.Item{{
				Product:      filing.AnnualReport,
				OrderType:    "annual_report",
				OrderID:      order(r.Number),
				FilingStatus: "submitted",
				Cost:         cost,
			}},
		}))
	}
}

func order(number int) string { return fmt.Sprintf("order_%d", number) }

// status is an event of an order, made an hour after the one before.
func status(number, hour int, status string) string {
	date := ""
	if status == "filed" {
		date = `,"filingDate":"2026-03-07T10:00:00.000Z"`
	}
	return fmt.Sprintf(
		`{"id":"evt_%d_%s","type":"filing.status_changed","createdAt":"2026-03-01T%02d:00:00.000Z",`+
			`"data":{"orderId":"%s","orderType":"annual_report","filingStatus":"%s"%s}}`,
		number, status, hour, order(number), status, date)
}

func document(number int) string {
	return fmt.Sprintf(
		`{"id":"evt_%d_document","type":"document.uploaded","createdAt":"2026-03-01T09:00:00.000Z",`+
			`"data":{"orderId":"%s","documentType":"annual_report","documentId":"doc_%d"}}`,
		number, order(number), number)
}

// receive returns what delivers a body, signed with a secret, to a receiver over a
// ledger.
func receive(l *ledger.Ledger) func(body, secret string) (status int) {
	rc, _ := webhook.Handler(l.Events(), webhook.NewHMAC(webhook.Secrets(l.Endpoints(), nil)), discard)
	return func(body, secret string) int { return answer(rc, delivery(body, sign(secret, body))).StatusCode }
}

// drain applies whatever is stored.
func (s *store) drain(l *ledger.Ledger) {
	s.Helper()
	for {
		done, err := l.Events().Apply(s.Context())
		s.must(err)
		if done == 0 {
			return
		}
	}
}

// wantFiled checks that every row is filed, once, with its date and its
// document, and that nothing is left to apply.
func (s *store) wantFiled(l *ledger.Ledger, rows int) {
	s.Helper()
	filed := 0
	for _, r := range s.rows(l) {
		if len(r.Items) == 1 && r.Items[0].FilingStatus == "filed" &&
			r.Items[0].FilingDate == "2026-03-07T10:00:00.000Z" && r.Items[0].OrderID == order(r.Number) {
			filed++
		}
	}
	documents := make(map[string]int)
	for d, err := range l.Documents().OfBatch(s.Context(), "a") {
		s.must(err)
		documents[d.ID]++
		if d.OrderID != order(d.Number) || documents[d.ID] > 1 {
			s.Errorf("%+v", d)
		}
	}
	left, err := l.Events().List(s.Context(), ledger.EventNew, 10)
	s.must(err)
	unknown, err := l.Events().List(s.Context(), ledger.EventUnknown, 10)
	s.must(err)
	if filed != rows || len(documents) != rows || len(left)+len(unknown) != 0 {
		s.Errorf("%d filed and %d documents of %d; left to apply: %v, of unknown orders: %v", filed, len(documents),
			rows, left, unknown)
	}
}

// An event settles its row, whether it comes before or after the answer to the
// order, once or more often, in whatever order, and by whichever process: one that was
// stored is applied by another if the one that stored it dies.
func TestFromDeliveryToRow(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l, other := s.open(), s.open()
		s.must(l.Endpoints().Set(s.Context(), ledger.Endpoint{ID: "we_1", URL: "https://here"}, secret))
		rows := s.add(l, 4)
		s.place(l, rows[:2])
		deliver := receive(l)
		for _, r := range rows {
			for _, body := range []string{document(r.Number), status(r.Number, 9, "filed"),
				status(r.Number, 8, "pending")} {
				for range 2 {
					if got := deliver(body, secret); got != 200 {
						s.Fatal(got)
					}
				}
			}
			s.drain(other)
		}
		s.place(l, rows[2:])
		s.drain(l)
		s.wantFiled(l, 4)
	})
}

// An endpoint's secret is accepted as soon as it is kept by another process, and
// refused soon after it is dropped.
func TestEndpointsComeAndGo(t *testing.T) {
	onBothDatabases(t, func(s *store) {
		l, other := s.open(), s.open()
		deliver := receive(l)
		if got := deliver(event, "whsec_1"); got != 503 {
			s.Errorf("before: %d", got)
		}
		s.must(other.Endpoints().Set(s.Context(), ledger.Endpoint{ID: "we_1", URL: "https://here"}, "whsec_1"))
		s.must(other.Endpoints().Set(s.Context(), ledger.Endpoint{ID: "we_2", URL: "https://here"}, "whsec_2"))
		if one, two := deliver(event, "whsec_1"), deliver(event, "whsec_2"); one != 200 || two != 200 {
			s.Errorf("kept: %d and %d", one, two)
		}
		s.must(other.Endpoints().Delete(s.Context(), "we_1"))
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
	onBothDatabases(t, func(s *store) {
		l := s.open()
		s.must(l.Endpoints().Set(s.Context(), ledger.Endpoint{ID: "we_1", URL: "https://here"}, secret))
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
		s.drain(l)
		if kept, err := l.Events().List(s.Context(), "", 100); err != nil || len(kept) != len(bodies) {
			s.Errorf("%d of %d kept, %v", len(kept), len(bodies), err)
		}
	})
}
