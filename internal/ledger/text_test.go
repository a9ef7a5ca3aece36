package ledger_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// spoil puts a text into every text of a value, but for names that are ours.
func spoil(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() && v.CanSet() {
			v.SetString(text + v.String())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			spoil(v.Field(i), text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i), text)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem(), text)
		}
	}
}

// Whatever bytes the service answers with, the answer is recorded, and what is
// recorded is text.
func TestAnyTextIsRecorded(t *testing.T) {
	texts := []string{"\x00", "a\x00b", "\xff\xfe", "\xed\xa0\x80", "\xed\xb0\x80x", "\xc3", "\u2028", "\U0001F600",
		"\ufffd\x00\xff", "'; --", "\\u0000", strings.Repeat("\x00", 300)}
	random := rand.New(rand.NewPCG(7, 11))
	for range 20 {
		b := make([]byte, random.IntN(40))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		texts = append(texts, string(b))
	}
	onBothDatabases(t, func(s *suite) { s.recordTexts(texts) })
}

// recordTexts records each text wherever an answer, an event or a person may bring one.
func (s *suite) recordTexts(texts []string) {
	ctx, l := s.Context(), s.open()
	rows := s.add(l, "a", reports("a", 3*len(texts))...)
	for i, text := range texts {
		for j, class := range []filing.AnswerKind{filing.Accepted, filing.Refused, filing.NoAnswer} {
			row := rows[3*i+j]
			out := outcome(row, s.send(l, row), class)
			out.Company, out.Made = "comp", &ledger.MadeCompany{
				Ref:    fmt.Sprint("ref", i, j),
				Record: filing.Company{ID: "comp", LegalName: "x"},
			}
			spoil(reflect.ValueOf(&out).Elem(), text)
			out.Owner, out.Of = "", ledger.BatchRow{} // it is ours
			s.must(l.RecordOutcome(ctx, out))
			got := s.row(l, row.ID)
			for _, stored := range append([]string{got.Message, got.Company}, itemTexts(got)...) {
				if !utf8.ValidString(stored) || strings.Contains(stored, "\x00") {
					s.Errorf("%q became %q", text, stored)
				}
			}
			if class == filing.Accepted &&
				(got.Result != filing.Placed || len(got.Items) != 1 ||
					!strings.HasSuffix(got.Items[0].OrderID, "annual-report")) {
				s.Errorf("%q: %+v", text, got)
			}
		}
		e := filing.Event{ID: fmt.Sprint("event", i), Type: "order.updated", CreatedAt: time.UnixMilli(1)}
		spoil(reflect.ValueOf(&e).Elem(), text)
		for attempt := range 2 { // the service tells it again
			if fresh, err := l.Events().Keep(ctx, e, []byte(text)); err != nil || fresh != (attempt == 0) {
				s.Errorf("an event with %q: %v, %v", text, fresh, err)
			}
		}
		s.must(l.Entries().RecordDeposit(ctx, 100_000, text))
		s.must(l.Fleet().RecordKeyRefused(ctx, text))
		s.must(l.Fleet().RecordKeyAccepted(ctx))
	}
}

func itemTexts(r ledger.Row) (texts []string) {
	for _, i := range r.Items {
		texts = append(texts, i.OrderID, i.OrderType, i.FilingStatus, i.FilingDate, i.SubscriptionStatus,
			i.ExceptionNote)
	}
	return texts
}

// A text is found as it is stored, also among others.
func TestAnyTextIsFoundAmongOthers(t *testing.T) {
	texts := []string{`a"b`, `a\b`, "a\u2028b", "a<b>&", "null", "[]", "", "1e3", "a\nb", "a\u0301", "nul\x00x",
		"bad\xff\xfeutf8"}
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		for _, text := range texts {
			s.must(l.Companies().Remember(s.Context(), text, filing.Company{ID: "comp " + text}))
		}
		found, err := l.Companies().Find(s.Context(), texts)
		if s.must(err); len(found) != len(texts) {
			s.Errorf("found %d of %d: %v", len(found), len(texts), found)
		}
	})
}
