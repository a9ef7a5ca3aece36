package ledger_test

import (
	"context"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// The audit names the first rows whose state or charges do not follow from their attempts.
func TestAudit_ReplaysAttempts(t *testing.T) {
	for spoil, want := range map[string]string{
		`UPDATE attempts SET outcome = 'refused', purchases = '' WHERE row = 1`: "row 2: it is placed, but its " +
			"attempts leave it rejected",
		`UPDATE attempts SET outcome = 'no-answer', purchases = '' WHERE row = 1`: "row 2: it is placed, but its " +
			"attempts leave it uncertain",
		`UPDATE rows SET result = 'ready' WHERE id = 3`: "row 4: it is ready, but its attempts leave it uncertain",
		`UPDATE rows SET result = 'uncertain' WHERE id = 4`: "row 5: it is uncertain, but its attempts leave it " +
			"rejected",
		`UPDATE rows SET result = 'placed' WHERE id = 4`:  "row 5: it is placed, but its attempts leave it rejected",
		`UPDATE rows SET result = 'placing' WHERE id = 4`: "row 5: it is placing, but its attempts leave it rejected",
		`UPDATE rows SET result = 'placing', last_attempt = 2 WHERE id = 3`: "row 4: it is placing, but its " +
			"attempts leave it uncertain",
		`UPDATE rows SET result = 'uncertain' WHERE id = 5`: "row 6: no attempt to place it is recorded",
		`UPDATE attempts SET purchases = REPLACE(purchases, '75.00', '1.00') WHERE row = 1`: "row 2: it " +
			"was charged $75.00, but its attempts bought for $1.00",
	} {
		t.Run(want, func(t *testing.T) {
			onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
				rows := s.add(l, "a", reports("a", 5)...)
				s.place(l, rows[0])
				s.send(l, rows[1])
				for i, kind := range map[int]filing.AnswerKind{2: filing.NoAnswer, 3: filing.Refused} {
					s.send(l, rows[i])
					s.answer(l, rows[i], kind)
				}
				s.must(l.Audit(ctx))
				s.exec(spoil)
				if err := l.Audit(ctx); err == nil || !strings.Contains(err.Error(), want) {
					s.Errorf("the audit finds %v, want %q", err, want)
				}
				s.config.Dir, s.config.DatabaseURL = s.TempDir(), "" // the rest is not to be audited
			})
		})
	}
}
