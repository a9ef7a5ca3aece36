package web

import (
	"errors"
	"net/http"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/signin"
)

// securityHandler handles the ways to sign in of an account, and passkeys.
type securityHandler struct {
	*Config
	*authenticator
}

func (h *securityHandler) routes() []route {
	return []route{
		{pattern: "GET /security", may: self, serve: h.security},
		{pattern: "POST /security/passkeys/challenge", may: self, fresh: true, serve: h.challengeEnroll},
		{pattern: "POST /security/passkeys", may: self, fresh: true, serve: h.addPasskey},
		{pattern: "POST /security/passkeys/{passkey}/remove", may: self, fresh: true, serve: h.removePasskey},
		{pattern: "POST /sign-in/passkey/challenge", may: anyone, serve: h.challengeSignIn},
		{pattern: "POST /sign-in/passkey", may: anyone, serve: h.passkeySignIn},
	}
}

// securityPage shows the ways to sign in and the newest events of the account.
type securityPage struct {
	Account  account.Account
	Fresh    bool
	Passkeys []account.Passkey
	// NoPasskeys is the reason why passkeys are not available here. Empty if they are.
	NoPasskeys string
	// Provider is the host of the sign-in provider. Empty if none is configured.
	Provider   string
	Identities []account.Identity
	Acts       []audit.Event
}

const actsOnSecurity = 12

func (h *securityHandler) security(v *request) error {
	a := v.session.Account
	page := securityPage{Account: a, Fresh: v.fresh()}
	err := errors.Join(
		load(&page.Passkeys)(h.accounts.ListPasskeys(v.ctx(), a.ID)),
		load(&page.Identities)(h.accounts.ListIdentities(v.ctx(), a.ID)),
		load(&page.Acts)(h.Ledger.AuditLog().List(v.ctx(), audit.Query{Of: a.Name, Limit: actsOnSecurity})))
	if err != nil {
		return err
	}
	if _, err := v.passkeys(); err != nil {
		page.NoPasskeys = err.Error()
	}
	if h.Provider != nil {
		page.Provider = h.Provider.Host()
	}
	return v.show(nil, "security.html", "Security", page)
}

func (h *securityHandler) challengeEnroll(v *request) error {
	p, o, err := h.enrollment(v)
	if err != nil {
		return err
	}
	c, err := p.BeginEnrollment(o)
	return h.challenge(v, account.FlowEnroll, o.ID, c, err)
}

// enrollment returns the passkeys and the owner if the person may add a passkey now, at this
// address. Otherwise it returns errManaged or errNoPasskeys.
func (h *securityHandler) enrollment(v *request) (*signin.Passkeys, signin.Owner, error) {
	a := v.session.Account
	o := signin.Owner{ID: a.ID, Name: a.Name}
	if a.ManagedBy != "" {
		return nil, o, errManaged
	}
	p, err := v.passkeys()
	if err != nil {
		return nil, o, err
	}
	all, err := h.accounts.ListPasskeys(v.ctx(), a.ID)
	for _, one := range all {
		o.Passkeys = append(o.Passkeys, one.Data)
	}
	return p, o, err
}

// addPasskey adds a passkey that the browser has made.
func (h *securityHandler) addPasskey(v *request) error {
	p, o, err := h.enrollment(v)
	if err != nil {
		return err
	}
	state, err := h.answered(v, account.FlowEnroll, o.ID)
	if err != nil {
		return err
	}
	key, err := p.FinishEnrollment(o, state.State, v.form("credential"))
	if errors.Is(err, signin.ErrPasskey) {
		h.Log.Warn("passkey refused", "account", o.ID, "err", err)
		return badRequest("The browser did not make a passkey that works here. Try again, or use another device.")
	}
	if err != nil {
		return err
	}
	added := account.Passkey{
		Account:    o.ID,
		Name:       v.device(),
		Credential: key.Credential,
		Data:       key.Data,
	}
	err = h.accounts.AddPasskey(v.withAudit("passkey-add", v.who(), added.Name), added, v.secret)
	return h.changed(v, err, "a passkey was added to",
		"The passkey is added. Your other sessions have ended. Next time, sign in with it.")
}

func (h *securityHandler) removePasskey(v *request) error {
	err := h.accounts.RemovePasskey(v.withAudit("passkey-remove", v.who(), ""), v.session.Account.ID,
		v.r.PathValue("passkey"), v.secret)
	return h.changed(v, err, "a passkey was removed from", "The passkey is removed. Your other sessions have ended.")
}

var (
	errNoPasskeys = &httpError{http.StatusUnprocessableEntity, "No passkeys at this address",
		sentence(signin.ErrNoPasskeys.Error()) + " Sign in another way."}
	errPasskey = &httpError{http.StatusUnauthorized, "The passkey was not accepted",
		"No one was signed in. The passkey may have been removed, or belongs to another site. Sign in another way."}
)

// passkeyState is the state of a challenge between two requests.
type passkeyState struct {
	// Account is the ID of the account whose passkey has to answer. Empty if any passkey may.
	Account string
	State   string
	Begun   time.Time
}

// challenge stores the state of a challenge and sends its options to the page's script.
func (h *securityHandler) challenge(v *request, kind account.FlowKind, account string, c signin.Challenge,
	err error) error {
	if err != nil {
		return err
	}
	if err := h.beginFlow(v, kind, passkeyState{account, c.State, v.server.Ledger.Now()}); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "application/json")
	_, _ = v.w.Write(c.Options) // the reader may have left
	return nil
}

// answered ends the challenge that this browser answers, and returns its state. It returns errFlow
// if the challenge was made for another account. An empty account stands for any passkey.
func (h *securityHandler) answered(v *request, kind account.FlowKind, account string) (kept passkeyState, err error) {
	if err = h.endFlow(v, kind, &kept); err == nil && kept.Account != account {
		err = errFlow
	}
	return kept, err
}

func (h *securityHandler) challengeSignIn(v *request) error {
	p, err := v.passkeys()
	if err != nil {
		return err
	}
	c, err := p.BeginSignIn()
	return h.challenge(v, account.FlowPasskey, "", c, err)
}

// passkeySignIn signs in with a passkey. The authenticator has verified its owner by a fingerprint
// or a PIN.
func (h *securityHandler) passkeySignIn(v *request) error {
	p, err := v.passkeys()
	if err != nil {
		return err
	}
	state, err := h.answered(v, account.FlowPasskey, "")
	if err != nil {
		return err
	}
	var a account.Account
	var kept account.Passkey
	find := func(credential string) (_ signin.Owner, err error) {
		if kept, err = h.accounts.FindPasskey(v.ctx(), credential); err != nil {
			return signin.Owner{}, err
		}
		if a, err = h.accounts.Find(v.ctx(), kept.Account); err != nil {
			return signin.Owner{}, err
		}
		return signin.Owner{ID: a.ID, Name: a.Name, Passkeys: []string{kept.Data}}, nil
	}
	used, err := p.FinishSignIn(state.State, v.form("credential"), find)
	if errors.Is(err, signin.ErrCloned) {
		return h.recordClonedPasskey(v, a, kept)
	}
	if err == nil {
		err = h.accounts.UsePasskey(v.ctx(), kept, used.Data, state.Begun)
	}
	if errors.Is(err, signin.ErrPasskey) || errors.Is(err, account.ErrPasskey) {
		v.server.recordFailedSignIn(v, a, "passkey", err)
		return errPasskey
	}
	if err != nil {
		return err
	}
	if a.ManagedBy != "" {
		return errManaged
	}
	return h.admit(v, a, "by passkey", account.SignIn{Life: sessionLife, OwnWay: true},
		local(v.form("to")))
}

// recordClonedPasskey records that a passkey may have been copied, and notifies the firm. It
// returns the error for the reader.
func (h *securityHandler) recordClonedPasskey(v *request, a account.Account, p account.Passkey) error {
	v.server.keepTrace(v.ctx(), v.server.failures,
		audit.Event{From: v.from(), What: "passkey-copied", Of: a.Name, Note: p.Name})
	_, err := h.notifications.Add(v.ctx(), outbox.Notification{
		Kind: outbox.KindAccess, Subject: "a passkey of " + a.Name + " may have been copied",
		Body: "The passkey \"" + p.Name + "\" of " + a.Name + " was used from " + v.from() +
			" with a use counter that went back, so a copy may exist. The sign-in was refused.\n" + a.Name +
			" must remove that passkey under Security and add another one.\n",
	})
	if err != nil {
		return err
	}
	return &httpError{
		http.StatusForbidden, "The passkey was refused",
		"Its use counter went back, so a copy may exist. Sign in another way, remove the passkey " +
			"under Security, and add another one.",
	}
}
