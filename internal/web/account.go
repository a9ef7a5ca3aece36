package web

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

var accountRoutes = []route{
	{pattern: "POST /settings/accounts", may: operator, serve: (*Site).addAccount},
	{pattern: "POST /settings/accounts/{account}", may: operator, serve: ofAccount((*Site).changeAccount)},
	{pattern: "POST /settings/accounts/{account}/email", may: operator, serve: ofAccount((*Site).changeEmail)},
	{pattern: "POST /settings/accounts/{account}/link", may: operator, serve: ofAccount((*Site).makeLink)},
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
	account, err := s.Ledger.Accounts().Add(
		v.withAudit("account-add", name, strings.Join(v.r.PostForm["role"], ", ")), name, rolesOf(v))
	if err != nil {
		return err
	}
	v.once = "" // the form has done its act; the link is another
	return s.showLink(v, account, "Added.")
}

// findAccount finds the account that a path names.
func (s *Site) findAccount(v *request) (ledger.Account, error) {
	return s.Ledger.Accounts().Find(v.ctx(), v.r.PathValue("account"))
}

func (s *Site) changeAccount(v *request, account ledger.Account) error {
	disabled := v.r.PostForm.Get("disabled") != ""
	what, note := "account-roles", strings.Join(v.r.PostForm["role"], ", ")
	switch {
	case disabled && !account.Disabled:
		what = "account-disable"
	case !disabled && account.Disabled:
		what = "account-enable"
	}
	if err := s.Ledger.Accounts().Change(v.withAudit(what, account.Name, note), account.ID, rolesOf(v),
		disabled); err != nil {
		return err
	}
	if disabled {
		note = "disabled, cannot sign in"
	}
	return v.done(nil, "/settings#accounts", "%s: %s.", account.Name, cmp.Or(note, "no role; sees only its own sessions"))
}

// changeEmail changes where links and messages to the owner of an account go.
func (s *Site) changeEmail(v *request, account ledger.Account) error {
	email := v.r.PostForm.Get("email")
	err := s.Ledger.Accounts().SetEmail(v.withAudit("account-email", account.Name, email), account.ID,
		email)
	return v.done(err, "/settings#accounts", "%s: %s.", account.Name, cmp.Or(email, "no email address"))
}

func (s *Site) makeLink(v *request, a ledger.Account) error {
	return s.showLink(v, a, "")
}

// showLink makes a one-time link and shows it, once.
func (s *Site) showLink(v *request, a ledger.Account, said string) error {
	secret, err := s.Ledger.Accounts().MakeSignInLink(v.withAudit("account-link", a.Name, ""), a.ID, linkLife)
	switch {
	case errors.Is(err, ledger.ErrSignInLink):
		return badRequest("%s is disabled and cannot sign in with a link. No link was made.", a.Name)
	case errors.Is(err, ledger.ErrManaged):
		return badRequest("%s signs in with a company account and needs no link. No link was made.", a.Name)
	case err != nil:
		return err
	}
	return v.show("link.html", "One-time sign-in link", struct{ Name, Said, Link string }{a.Name, said,
		linkTo(s.address(v.r), secret)})
}

// revokeLink ends a link that someone made.
func (s *Site) revokeLink(v *request) error {
	id := v.r.PathValue("link")
	err := s.Ledger.Accounts().RevokeSignInLink(v.withAudit("account-link-revoke", id, ""), id)
	if errors.Is(err, ledger.ErrNotFound) {
		return v.leadTo("/settings#links", "note", "The link was used or has expired.")
	}
	return v.done(err, "/settings#links", "The link is revoked.")
}

// auditPage is who did what.
type auditPage struct {
	Acts         []ledger.AuditEvent
	By, What, Of string
	Events       []auditEvent // for the filter
	Older        string
}

const actsOnPage = 100

func (s *Site) audit(v *request) error {
	ask := v.r.URL.Query()
	p := auditPage{By: ask.Get("by"), What: ask.Get("what"), Of: ask.Get("of"), Events: auditEvents}
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
	if n := len(p.Acts); n == actsOnPage {
		ask.Set("before", strconv.FormatInt(p.Acts[n-1].Seq, 10))
		p.Older = "/audit?" + ask.Encode()
	}
	return v.show("audit.html", "Audit log", p)
}
