package web

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// accountHandler handles the accounts of the firm and the audit log.
type accountHandler struct {
	accounts *account.Accounts
	log      *audit.Log
}

func (h *accountHandler) routes() []route {
	const account = "/settings/accounts/{account}"
	return []route{
		{pattern: "POST /settings/accounts", may: operator, serve: h.addAccount},
		{pattern: "POST " + account, may: operator, serve: ofAccount(h.changeAccount)},
		{pattern: "POST " + account + "/email", may: operator, serve: ofAccount(h.changeEmail)},
		{pattern: "POST " + account + "/link", may: operator, serve: ofAccount(h.makeLink)},
		{pattern: "POST /settings/links/{link}/revoke", may: operator, serve: h.revokeLink},
		{pattern: "POST /sessions/end", may: self, serve: h.endOtherSessions},
		{pattern: "GET /audit", may: auditor, serve: h.audit},
	}
}

// rolesOf returns the roles that are ticked in a form.
func rolesOf(v *request) []account.Role {
	var roles []account.Role
	for _, r := range v.r.PostForm["role"] {
		roles = append(roles, account.Role(r))
	}
	return roles
}

func (h *accountHandler) addAccount(v *request) error {
	name := strings.TrimSpace(v.form("name"))
	account, err := h.accounts.Add(
		v.withAudit("account-add", name, strings.Join(v.r.PostForm["role"], ", ")), name, rolesOf(v))
	if err != nil {
		return err
	}
	// The form's once-only key is used up. Making the link is a second change.
	v.once = ""
	return h.showLink(v, account, "Added.")
}

func (h *accountHandler) changeAccount(v *request, account account.Account) error {
	disabled := v.form("disabled") != ""
	what, note := "account-roles", strings.Join(v.r.PostForm["role"], ", ")
	switch {
	case disabled && !account.Disabled:
		what = "account-disable"
	case !disabled && account.Disabled:
		what = "account-enable"
	}
	if err := h.accounts.Change(v.withAudit(what, account.Name, note), account.ID, rolesOf(v),
		disabled); err != nil {
		return err
	}
	if disabled {
		note = "disabled, cannot sign in"
	}
	return v.done(nil, "/settings#accounts", "%s: %s.", account.Name,
		cmp.Or(note, "no role; sees only how it signs in"))
}

// changeEmail changes where messages to the owner of an account go.
func (h *accountHandler) changeEmail(v *request, account account.Account) error {
	email := v.form("email")
	err := h.accounts.SetEmail(v.withAudit("account-email", account.Name, email), account.ID,
		email)
	return v.done(err, "/settings#accounts", "%s: %s.", account.Name, cmp.Or(email, "no email address"))
}

func (h *accountHandler) makeLink(v *request, a account.Account) error { return h.showLink(v, a, "") }

// showLink makes a one-time sign-in link and shows it on the answer page only.
func (h *accountHandler) showLink(v *request, a account.Account, said string) error {
	secret, err := h.accounts.MakeSignInLink(v.withAudit("account-link", a.Name, ""), a.ID, linkLife)
	switch {
	case errors.Is(err, account.ErrSignInLink):
		return badRequest("%s is disabled and cannot sign in with a link. No link was made.", a.Name)
	case errors.Is(err, account.ErrManaged):
		return badRequest("%s signs in with a company account and needs no link. No link was made.", a.Name)
	case err != nil:
		return err
	}
	return v.show(nil, "link.html", "One-time sign-in link", struct{ Name, Said, Link string }{a.Name, said,
		linkTo(v.server.of(v.r), secret)})
}

// revokeLink revokes a one-time sign-in link.
func (h *accountHandler) revokeLink(v *request) error {
	id := v.r.PathValue("link")
	err := h.accounts.RevokeSignInLink(v.withAudit("account-link-revoke", id, ""), id)
	if errors.Is(err, ledger.ErrNotFound) {
		return v.leadTo("/settings#links", "note", "The link was used or has expired.")
	}
	return v.done(err, "/settings#links", "The link is revoked.")
}

// endOtherSessions ends all sessions of the reader's account except the current one.
func (h *accountHandler) endOtherSessions(v *request) error {
	err := h.accounts.EndOtherSessions(v.withAudit("session-end", v.who(), "all sessions but this one"),
		v.session.Account.ID, v.secret)
	return v.done(err, "/security", "You are signed out everywhere else.")
}

// auditPage is a page of the audit log.
type auditPage struct {
	Acts         []audit.Event
	By, What, Of string
	Pager        pager
}

const actsOnPage = 100

func (h *accountHandler) audit(v *request) error {
	ask := v.r.URL.Query()
	p := auditPage{By: ask.Get("by"), What: ask.Get("what"), Of: ask.Get("of")}
	before, _ := strconv.ParseInt(ask.Get("before"), 10, 64)
	acts, err := h.log.List(v.ctx(), audit.Query{
		By:     p.By,
		What:   strings.ReplaceAll(strings.ToLower(strings.TrimSpace(p.What)), " ", "-"),
		Of:     p.Of,
		Before: before,
		Limit:  actsOnPage + 1,
	})
	p.Pager, p.Acts = keyset(v, "before", acts, actsOnPage, func(a audit.Event) any { return a.Seq }, "")
	return v.show(err, "audit.html", "Audit log", p)
}

// eventName returns the name of an audit event for readers: "Account roles" for "account-roles".
func eventName(code string) string { return text.Capital(strings.ReplaceAll(code, "-", " ")) }
