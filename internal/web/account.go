package web

import (
	"cmp"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

var accountRoutes = []route{
	{pattern: "POST /settings/accounts", may: operator, serve: (*Site).addAccount},
	{pattern: "POST /settings/accounts/{account}", may: operator, serve: (*Site).changeAccount},
	{pattern: "POST /settings/accounts/{account}/link", may: operator, serve: (*Site).makeLink},
	{pattern: "POST /settings/accounts/{account}/vouch", may: operator, serve: (*Site).vouch},
	{pattern: "POST /settings/links/{link}/revoke", may: operator, serve: (*Site).revokeLink},
	{pattern: "GET /audit", may: auditor, serve: (*Site).audit},
}

// rolesOf are the roles that a form has ticked.
func rolesOf(v *request) []ledger.Role {
	var roles []ledger.Role
	for _, r := range v.r.PostForm["role"] {
		roles = append(roles, ledger.Role(r))
	}
	return roles
}

func (s *Site) addAccount(v *request) error {
	name := strings.TrimSpace(v.r.PostForm.Get("name"))
	if s.ProviderOnly {
		return badRequest(
			"People are added when they first sign in with a company account. To add a break-glass account: " +
				"importer accounts add. No one was added.")
	}
	account, err := s.Ledger.Accounts().Add(
		v.withAudit("account-add", name, strings.Join(v.r.PostForm["role"], ", ")), name, rolesOf(v))
	if errors.Is(err, ledger.ErrAccount) {
		return badRequest("%s No one was added.", sentence(err.Error()))
	}
	if err != nil {
		return err
	}
	v.once = "" // the form has done its act; the link is another
	return s.showLink(v, account, "Added.")
}

func (s *Site) changeAccount(v *request) error {
	account, err := s.Ledger.Accounts().Find(v.ctx(), v.r.PathValue("account"))
	if err != nil {
		return err
	}
	disabled := v.r.PostForm.Get("disabled") != ""
	what, note := "account-roles", strings.Join(v.r.PostForm["role"], ", ")
	switch {
	case disabled && !account.Disabled:
		what = "account-disable"
	case !disabled && account.Disabled:
		what = "account-enable"
	}
	err = s.Ledger.Accounts().Change(v.withAudit(what, account.Name, note), account.ID, rolesOf(v), disabled)
	if errors.Is(err, ledger.ErrLastOperator) || errors.Is(err, ledger.ErrAccount) {
		return badRequest("%s Nothing was changed.", sentence(err.Error()))
	}
	if err != nil {
		return err
	}
	if disabled {
		note = "disabled, cannot sign in"
	}
	v.flash("ok", "%s: %s.", account.Name, cmp.Or(note, "no role; sees only its own sessions"))
	return v.redirect("/settings#accounts")
}

// linkLife is how long a sign-in link works.
const linkLife = 24 * time.Hour

func (s *Site) makeLink(v *request) error {
	account, err := s.Ledger.Accounts().Find(v.ctx(), v.r.PathValue("account"))
	if err != nil {
		return err
	}
	return s.showLink(v, account, "")
}

// showLink makes a one-time link and shows it, once.
func (s *Site) showLink(v *request, a ledger.Account, said string) error {
	if s.refuseLocal(a) == errProvider {
		return badRequest(
			"%s cannot use a link: only break-glass accounts sign in without a company account. No link was made.",
			a.Name)
	}
	note := "to sign in"
	if a.HasPassword {
		note = "to reset the password"
	}
	secret, err := s.Ledger.Accounts().MakeSignInLink(v.withAudit("account-link", a.Name, note), a.ID, linkLife)
	if errors.Is(err, ledger.ErrSignInLink) {
		return badRequest("%s is disabled and cannot sign in with a link. No link was made.", a.Name)
	}
	if errors.Is(err, ledger.ErrManaged) {
		return badRequest("%s signs in with a company account and needs no link. No link was made.", a.Name)
	}
	if err != nil {
		return err
	}
	title := "One-time sign-in link"
	if a.HasPassword {
		title = "Password reset link"
	}
	return v.show("link.html", title, struct {
		Name, Said, Link string
		Resets           bool
	}{a.Name, said, s.address(v.r) + "/enter?link=" + url.QueryEscape(secret), a.HasPassword})
}

// revokeLink ends a link that someone made.
func (s *Site) revokeLink(v *request) error {
	id := v.r.PathValue("link")
	err := s.Ledger.Accounts().RevokeSignInLink(v.withAudit("account-link-revoke", id, ""), id)
	if errors.Is(err, ledger.ErrNotFound) {
		v.flash("note", "The link was used or has expired.")
		return v.redirect("/settings#links")
	}
	if err != nil {
		return err
	}
	v.flash("ok", "The link is revoked.")
	return v.redirect("/settings#links")
}

// vouch makes the credentials of an account count as its owner's own.
func (s *Site) vouch(v *request) error {
	account, err := s.Ledger.Accounts().Find(v.ctx(), v.r.PathValue("account"))
	if err != nil {
		return err
	}
	err = s.Ledger.Accounts().VouchFor(v.withAudit("account-vouch", account.Name, ""), account.ID)
	if errors.Is(err, ledger.ErrVouch) {
		return badRequest(
			"You made the sign-in link of %s, or signed in with a link from the same person. Another operator must "+
				"confirm the account. If there is no other operator, run on the server: importer accounts vouch. "+
				"Nothing was changed.", account.Name)
	}
	if err != nil {
		return err
	}
	v.flash("ok", "The account %s is confirmed. It can approve what others uploaded.", account.Name)
	return v.redirect("/settings#accounts")
}

// auditPage is who did what.
type auditPage struct {
	Acts         []ledger.AuditEvent
	By, What, Of string
	Events       []auditEvent // for the filter
	Older        string
	Similar      map[string]string // ids of people whose names look like another's
}

const actsOnPage = 100

// similarNames finds the people whose names look like another's.
func (s *Site) similarNames(v *request) (map[string]string, error) {
	all, err := s.Ledger.Accounts().List(v.ctx())
	return ledger.SimilarNames(all), err
}

func (s *Site) audit(v *request) error {
	ask := v.r.URL.Query()
	p := auditPage{By: ask.Get("by"), What: ledger.AuditName(ask.Get("what")), Of: ask.Get("of"), Events: auditEvents}
	before, _ := strconv.ParseInt(ask.Get("before"), 10, 64)
	var err error
	p.Acts, err = s.Ledger.AuditLog().List(v.ctx(), ledger.AuditQuery{
		By:     p.By,
		What:   p.What,
		Of:     p.Of,
		Before: before,
		Limit:  actsOnPage,
	})
	if err != nil {
		return err
	}
	if p.Similar, err = s.similarNames(v); err != nil {
		return err
	}
	if n := len(p.Acts); n == actsOnPage {
		ask.Set("before", strconv.FormatInt(p.Acts[n-1].Seq, 10))
		p.Older = "/audit?" + ask.Encode()
	}
	return v.show("audit.html", "Audit log", p)
}
