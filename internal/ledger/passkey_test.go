package ledger_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// A passkey is one account's. Adding and removing one ends the other sessions.
func TestPasskeys(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		ana, leo := s.account(l, "ana"), s.account(l, "leo")
		mine, other := s.session(l, ana), s.session(l, ana)
		ended := func(session string) {
			s.Helper()
			_, err := l.Accounts().FindSession(ctx, session)
			s.wantErr(err, account.ErrSession)
		}
		added := account.Passkey{Account: ana.ID, Name: "Mac", Credential: "c", Data: "0"}
		s.must(l.Accounts().AddPasskey(ctx, added, mine))
		ended(other)
		s.wantErr(l.Accounts().AddPasskey(ctx, account.Passkey{Account: leo.ID, Credential: "c", Data: "0"}, ""),
			account.ErrPasskeyTaken)
		if a, err := l.Accounts().Find(ctx, "ana"); err != nil || !a.HasPasskey {
			s.Errorf("%+v, %v", a, err)
		}
		p, err := l.Accounts().FindPasskey(ctx, "c")
		if err != nil || p.Account != ana.ID || p.Name != "Mac" || !p.UsedAt.IsZero() || p.CreatedAt.IsZero() {
			s.Errorf("%+v, %v", p, err)
		}
		s.pass(time.Minute)
		challenged := s.clock()
		s.pass(time.Second)
		s.must(l.Accounts().UsePasskey(ctx, p, "1", challenged))
		s.wantErr(l.Accounts().UsePasskey(ctx, p, "1", s.clock()), account.ErrPasskey) // its data has changed
		p.Data = "1"
		s.wantErr(l.Accounts().UsePasskey(ctx, p, "1", challenged), account.ErrPasskey) // the same answer again
		if all, err := l.Accounts().ListPasskeys(ctx, ana.ID); err != nil || len(all) != 1 || all[0].Data != "1" ||
			!all[0].UsedAt.Equal(s.clock()) {
			s.Errorf("%+v, %v", all, err)
		}
		s.wantErr(l.Accounts().RemovePasskey(ctx, leo.ID, p.ID, ""), ledger.ErrNotFound)
		other = s.session(l, ana)
		s.must(l.Accounts().RemovePasskey(ctx, ana.ID, p.ID, mine))
		ended(other)
		_, err = l.Accounts().FindPasskey(ctx, "c")
		s.wantErr(err, account.ErrPasskey)
		if _, err := l.Accounts().FindSession(ctx, mine); err != nil {
			s.Errorf("the session that did it: %v", err)
		}
		for i := range 11 {
			err = l.Accounts().AddPasskey(ctx, account.Passkey{Account: ana.ID, Credential: fmt.Sprint(i)}, mine)
		}
		s.wantErr(err, account.ErrPasskeys)
	})
}

// What a browser keeps of a flow opens for its kind alone, whole, and for a while.
func TestFlow(t *testing.T) {
	onLedger(t, func(s *suite, _ context.Context, l *ledger.Ledger) {
		sealed, err := l.Accounts().SealFlow(account.FlowPasskey, "challenge", time.Minute)
		s.must(err)
		data, err := s.open().Accounts().OpenFlow(account.FlowPasskey, sealed)
		if err != nil || data != "challenge" {
			s.Errorf("%q, %v", data, err)
		}
		for _, bad := range []string{"", "x", sealed[1:], sealed[:len(sealed)-8]} {
			_, err := l.Accounts().OpenFlow(account.FlowPasskey, bad)
			s.wantErr(err, account.ErrFlow)
		}
		_, err = l.Accounts().OpenFlow(account.FlowEnroll, sealed)
		s.wantErr(err, account.ErrFlow)
		s.pass(time.Minute)
		_, err = l.Accounts().OpenFlow(account.FlowPasskey, sealed)
		s.wantErr(err, account.ErrFlow)
	})
}
