package web

import (
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// signInView is what the settings show of signing in.
type signInView struct {
	Rules    ledger.SignInRules
	Provider string   // its issuer; "" for none
	Away     string   // why it could not be reached; "" where it was
	Only     bool     // passwords sign in break-glass accounts only
	Groups   []string // GROUP=ROLE
	Claim    string
	Glass    []string // break-glass accounts that can sign in
	Without  []string // approvers and operators without a second factor
}

// signInView gathers what an operator has to know of signing in.
func (s *Site) signInView(v *request, accounts []accountLine) (view signInView, err error) {
	view = signInView{Only: s.ProviderOnly, Groups: s.Settings.Groups, Claim: s.Settings.Claim}
	if view.Rules, err = s.Ledger.Accounts().LoadSignInRules(v.ctx()); err != nil {
		return view, err
	}
	if s.Provider != nil {
		view.Provider = s.Provider.Issuer()
		if err := s.Provider.Away(); err != nil {
			view.Away = "not reachable"
		}
	}
	for _, a := range accounts {
		if a.BreakGlass && a.HasPassword && !a.Disabled {
			view.Glass = append(view.Glass, a.Name)
		}
		if (a.May(ledger.Approver) || a.May(ledger.Operator)) && !a.HasFactor && a.ManagedBy == "" {
			view.Without = append(view.Without, a.Name)
		}
	}
	return view, nil
}

// changeSignIn changes the sign-in rules of the firm. A person who requires a
// second step of others must have one.
func (s *Site) changeSignIn(v *request) error {
	rules := ledger.SignInRules{
		SecondFactor:  v.r.PostForm.Get("second") != "",
		TrustProvider: v.r.PostForm.Get("trust") != "",
	}
	if rules.SecondFactor && v.session.Factor == "" {
		return badRequest(
			"Sign in with your own second step first, or you would lose access to this page. Add one under " +
				"Security. Nothing was changed.")
	}
	note := "approvers and operators sign in without a second step"
	if rules.SecondFactor {
		note = "approvers and operators need a second step"
	}
	if rules.TrustProvider {
		note += "; the sign-in provider checks it for company accounts"
	}
	before, err := s.Ledger.Accounts().LoadSignInRules(v.ctx())
	if err != nil {
		return err
	}
	if err := s.Ledger.Accounts().SetSignInRules(v.withAudit("sign-in-rules", "", note), rules); err != nil {
		return err
	}
	if weaker := before.SecondFactor && !rules.SecondFactor || !before.TrustProvider && rules.TrustProvider; weaker {
		if _, err := s.Ledger.Notifications().Add(v.ctx(), ledger.Notification{
			Kind: ledger.NotifyAccess, Subject: "the sign-in rules were weakened",
			Body: text.Capital(note) + " from now on. " + v.who() + " changed it, from " + v.from() + ".\n",
		}); err != nil {
			return err
		}
	}
	v.flash("ok", "From now on %s.", note)
	return v.redirect("/settings#sign-in")
}
