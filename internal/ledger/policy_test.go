package ledger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// approvers adds accounts with the role.
func (s *suite) approvers(l *ledger.Ledger, names ...string) {
	s.Helper()
	for _, name := range names {
		_, err := l.Accounts().Add(s.Context(), name, []account.Role{account.Approver, account.Operator})
		s.must(err)
	}
}

func TestPolicy(t *testing.T) {
	onBothDatabases(t, func(s *suite) {
		ctx, l := audit.With(s.Context(), audit.Event{By: "ana", What: "policy"}), s.open()
		if p, err := approval.New(l).Policy(ctx); err != nil || p.Second {
			s.Errorf("%+v, %v", p, err)
		}
		want := approval.Policy{Second: true, From: 500_00, Terminal: true}
		s.must(approval.New(l).ChangePolicy(ctx, want))
		got, err := approval.New(l).Policy(ctx)
		if s.must(err); got.From != want.From || !got.Terminal ||
			got.ChangedBy != "ana" || got.ChangedAt.IsZero() {
			s.Errorf("%+v", got)
		}
		if n := s.count(`SELECT COUNT(*) FROM notifications WHERE kind = 'access'`); n != 0 {
			s.Errorf("%d notices of a stricter policy", n)
		}
		weaker := want
		weaker.From++
		s.must(approval.New(l).ChangePolicy(ctx, weaker))
		if n := s.count(`SELECT COUNT(*) FROM notifications WHERE kind = 'access'`); n != 1 {
			s.Errorf("%d notices of a weaker policy", n)
		}
		s.wantErr(approval.New(l).ChangePolicy(ctx, approval.Policy{From: -1}), approval.ErrPolicy)
	})
}

// What the policy covers, by amount and terminal: a cost that is not known
// counts as above every amount.
func TestWhatThePolicyCovers(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.quoted(l, "quoted", cost)
		s.imported(l, "unquoted", "")
		s.exec(`UPDATE batches SET product = 'annual-report'`)
		terminal := audit.AtTerminal(ctx, "root")
		for name, c := range map[string]struct {
			policy                     approval.Policy
			quoted, unquoted, terminal bool
		}{
			"off":           {approval.Policy{Terminal: true}, false, false, false},
			"all":           {approval.Policy{Second: true}, true, true, false},
			"terminal":      {approval.Policy{Second: true, Terminal: true}, true, true, true},
			"at the amount": {approval.Policy{Second: true, From: cost}, true, true, false},
			"below it":      {approval.Policy{Second: true, From: cost + 1}, false, true, false},
		} {
			s.must(approval.New(l).ChangePolicy(ctx, c.policy))
			quoted, err := approval.New(l).NeedsSecond(ctx, "quoted")
			s.must(err)
			unquoted, err := approval.New(l).NeedsSecond(ctx, "unquoted")
			s.must(err)
			typed, err := approval.New(l).NeedsSecond(terminal, "quoted")
			s.must(err)
			if quoted != c.quoted || unquoted != c.unquoted || typed != c.terminal {
				s.Errorf("%s: quoted %v, unquoted %v, at the terminal %v", name, quoted, unquoted, typed)
			}
		}
	})
}

// A batch that its maker opens without asking waits all the same, and goes on
// waiting for a second person under a weaker policy. One that waits for any
// approval needs a second person's under a stricter policy.
func TestABatchWaitsUnderTheStricterPolicy(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.approvers(l, "ana", "ben")
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true}))
		byAna := audit.With(ctx, audit.Event{By: "ana", What: "run"})
		s.imported(l, "a", "ana")
		s.must(l.OpenBatch(byAna, "a"))
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{}))
		s.sendable(l)
		s.wantErr(approve(ctx, l, "a", "", "ana"), approval.ErrSecondPerson)

		s.imported(l, "b", "ana")
		s.must(approval.New(l).Request(byAna, "b", "plan"))
		s.must(l.OpenBatch(byAna, "b"))
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true}))
		s.wantErr(approve(ctx, l, "b", "plan", "ana"), approval.ErrSecondPerson)
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{}))
		s.must(approve(ctx, l, "a", "", "ben"))
		s.must(approve(ctx, l, "b", "plan", "ben"))
		if ids, err := l.Backlog().ListSendable(ctx, "", 10); err != nil || len(ids) != 2 {
			s.Errorf("sendable: %v, %v", ids, err)
		}
	})
}

// imported makes a batch of one row that is not open yet.
func (s *suite) imported(l *ledger.Ledger, id, by string) {
	s.Helper()
	_, err := l.CreateBatch(s.Context(),
		ledger.Batch{ID: id, File: id + ".csv", Product: filing.AnnualReport, CreatedBy: by})
	s.must(err)
	s.must(l.AddRows(s.Context(), id,
		[]ledger.Row{
			{Number: 2, Cells: []byte("[]"), Result: filing.Ready, Request: report("comp_"+id, "2026").Request},
		}))
	s.must(l.PrepareBatch(s.Context(), id))
}

// The maker of a link for another account counts as one person with it until its owner
// signs in by a passkey or at the provider.
func TestTheMakerOfALinkIsNoSecondPerson(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.must(approval.New(l).ChangePolicy(ctx, approval.Policy{Second: true}))
		s.approvers(l, "ana", "ben", "cid", "dot")
		by := func(name string) context.Context {
			return audit.With(ctx, audit.Event{By: name, What: "account-link"})
		}
		signIn := func(name string, ownWay bool) string {
			s.Helper()
			session, err := l.Accounts().BeginSession(ctx, name, account.SignIn{Life: time.Hour, OwnWay: ownWay})
			s.must(err)
			return session
		}
		// comes has somebody sign in by a link that another made, and says with which session.
		comes := func(name, maker string) string {
			s.Helper()
			link, err := l.Accounts().MakeSignInLink(by(maker), name, time.Hour)
			s.must(err)
			_, err = l.Accounts().UseSignInLink(ctx, link)
			s.must(err)
			return signIn(name, false)
		}
		batches := 0
		// submitAndApprove has somebody submit a batch and another approve it.
		submitAndApprove := func(submits, approves string, want error) {
			s.Helper()
			batches++
			id := string(rune('a' + batches))
			s.imported(l, id, submits)
			_, err := approval.New(l).Submit(ctx, approval.Draft{Batch: id}, "plan", submits)
			s.must(err)
			if err := approve(ctx, l, id, "plan", approves); !errors.Is(err, want) ||
				want == nil && err != nil {
				s.Errorf("%s approves what %s submitted: %v", approves, submits, err)
			}
		}
		submitAndApprove("ana", "ben", nil)

		session := comes("ben", "ana")
		submitAndApprove("ana", "ben", approval.ErrSecondPerson)
		submitAndApprove("ben", "ana", approval.ErrSecondPerson) // whichever of the two names
		submitAndApprove("cid", "ben", nil)
		comes("ben", "ben") // ana may have made it, as ben
		submitAndApprove("ana", "ben", approval.ErrSecondPerson)

		// Through a second link the first is not forgotten, and what ben makes is ana's.
		comes("ben", "cid")
		submitAndApprove("ana", "ben", approval.ErrSecondPerson)
		submitAndApprove("cid", "ben", approval.ErrSecondPerson)
		comes("dot", "ben")
		submitAndApprove("ana", "dot", approval.ErrSecondPerson)

		signIn("ben", true)
		_, err := l.Accounts().FindSession(ctx, session)
		s.wantErr(err, account.ErrSession) // it may be ana's
		submitAndApprove("ana", "ben", nil)
		submitAndApprove("ben", "ana", nil)
		submitAndApprove("ana", "dot", approval.ErrSecondPerson)
	})
}

// Notifications tell of a link that someone else makes for a new account, and of a
// role that lets money out; not of other roles, or of one's own link.
func TestNewApproversAreReported(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		by := func(name string) context.Context {
			return audit.With(ctx, audit.Event{By: name, What: "account-add"})
		}
		told := 0
		tells := func(what string, n int) {
			s.Helper()
			told += n
			if got := s.count(`SELECT COUNT(*) FROM notifications WHERE kind = 'access'`); got != told {
				s.Errorf("%s: %d notices in all, want %d", what, got, told)
				told = got
			}
		}
		pat, err := l.Accounts().Add(by("ana"), "pat", []account.Role{account.Approver})
		s.must(err)
		tells("an approver is added", 1)
		_, err = l.Accounts().MakeSignInLink(by("ana"), pat.ID, time.Hour)
		s.must(err)
		tells("a link of somebody else", 1)
		_, err = l.Accounts().MakeSignInLink(by("pat"), pat.ID, time.Hour)
		s.must(err)
		tells("one's own link", 0)
		s.must(
			l.Accounts().Change(by("ana"), pat.ID, []account.Role{account.Approver, account.Preparer, account.Auditor},
				false),
		)
		tells("other roles", 0)
		s.must(l.Accounts().Change(by("ana"), pat.ID, []account.Role{account.Operator, account.Approver}, false))
		tells("an operator", 1)
		if n := s.count(
			`SELECT COUNT(*) FROM notifications
				WHERE subject LIKE '%pat got the role operator%'
				AND body LIKE 'ana gave pat the role operator.%'`); n != 1 {
			s.Errorf("%d notices say who made pat an operator", n)
		}
		_, err = l.Accounts().Add(by("ana"), "leo", []account.Role{account.Preparer})
		s.must(err)
		tells("a preparer is added", 0)
	})
}
