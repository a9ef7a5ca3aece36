package ledger_test

import (
	"context"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// Names that are made to look like others are refused; names of people are not.
func TestNamesThatLookLikeOthers(t *testing.T) {
	onLedger(t, func(s *store, _ context.Context, l *ledger.Ledger) {
		for _, name := range []string{"op", "paul", "warren", "ana.lopez@example.com", "tom", "ロロ"} {
			s.account(l, name)
		}
		for name, says := range map[string]string{
			"оp": "mixes letters", "pаul": "mixes letters", "tοm": "mixes letters", "ана lopez": "mixes letters",
			// Cyrillic or Greek among Latin
			"ор": "looks like that of the account op", "том": "looks like that of the account tom", "ορ": "looks like",
			// of one script throughout
			"pau1": "looks like that of the account paul", "0p": "looks like",
			"vvarren": "looks like that of the account warren", "ana.1opez@example.com": "looks like",
			"ana.lopez＠example.com": "special forms", "ｏｐ": "special forms", "𝐨𝐩": "special forms",
			"ﬁona":     "special forms",
			"o\ufe00p": "invisible characters", "o\u034fp": "invisible characters", "op\u3164": "special forms",
			"o\u17b4p": "invisible characters",
			"ꮎꭴ":       "everyday", "ⲟⲣ": "everyday",
			"口口": "looks like that of the account ロロ",
		} {
			_, err := l.Accounts().Add(s.Context(), name, nil)
			s.wantErr(err, ledger.ErrAccount)
			if err == nil || !strings.Contains(err.Error(), says) {
				s.Errorf("%q: %v, want that it says %q", name, err, says)
			}
		}
		for _, name := range []string{"Zoë Müller-Łukasiewicz", "Ольга Петрова", "Γιώργος", "山田 たろう", "김 민준",
			"O'Brien", "ana.lopez+tax@example.com", "Նարե", "John Smith 2", "José", "Jose"} {
			s.account(l, name)
		}
	})
}
