package web

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/pquerna/otp/totp"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/signin"
	"github.com/bulkfiling/bulkfiling/internal/signin/signintest"
)

const passPhrase = "seven gray herons at noon"

// member signs someone in by a password.
func (s *testSite) member(name string, roles ...ledger.Role) *visitor {
	s.Helper()
	account, err := s.Ledger.Accounts().Add(s.Context(), name, roles)
	s.must(err)
	s.must(s.Ledger.Accounts().SetPassword(s.Context(), account.ID, passPhrase))
	v := s.nobody()
	v.name = account.Name
	if status, body := v.signInBy(name, passPhrase); status != http.StatusOK {
		s.Fatalf("sign in: %d\n%s", status, body)
	}
	return v
}

func (v *visitor) signInBy(name, password string) (int, string) {
	v.Helper()
	return v.send("/sign-in", url.Values{"name": {name}, "password": {password}})
}

// confirm proves once more who sits there.
func (v *visitor) confirm(fields ...string) (int, string) {
	v.Helper()
	if len(fields) == 0 {
		fields = []string{"present", passPhrase}
	}
	return v.post("/security/confirm", fields...)
}

// app adds an authenticator app and returns its secret and the recovery codes.
func (v *visitor) app() (secret string, recovery []string) {
	v.Helper()
	_, body := v.post("/security/app")
	found := regexp.MustCompile(`enter this key: <code>([A-Z2-7 ]+)</code>`).FindStringSubmatch(body)
	if found == nil {
		v.Fatalf("no key on\n%s", body)
	}
	secret = strings.ReplaceAll(found[1], " ", "")
	flow := hidden(body, "flow")
	if status, body := v.post("/security/app/add", "flow", flow, "code",
		"000000"); status != http.StatusUnprocessableEntity || hidden(body, "flow") != flow {
		v.Errorf("a wrong code: %d\n%s", status, body)
	}
	status, body := v.post("/security/app/add", "flow", flow, "name", "My phone", "code", v.code(secret, 0))
	if status != http.StatusOK {
		v.Fatalf("add the app: %d\n%s", status, body)
	}
	return secret, regexp.MustCompile(`[A-Z2-7]{6}(-[A-Z2-7]{6}){3}`).FindAllString(body, -1)
}

// code is what the app shows some steps from now.
func (v *visitor) code(secret string, steps int) string {
	v.Helper()
	code, err := totp.GenerateCode(secret, v.Ledger.Now().Add(time.Duration(steps)*30*time.Second))
	v.must(err)
	return code
}

func (v *visitor) leave() {
	v.Helper()
	if status, body := v.post("/leave"); status != http.StatusOK || !strings.Contains(body, "<h1>Sign in</h1>") {
		v.Fatalf("sign out: %d\n%s", status, body)
	}
}

// An app is added after a confirmation. It ends the other sessions, and its
// secrets are shown once.
func TestAddApp(t *testing.T) {
	s := newSite(t)
	v := s.member("ana", ledger.Operator)
	elsewhere := s.nobody()
	elsewhere.signInBy("ana", passPhrase)

	for _, path := range []string{"/security/app", "/security/app/add", "/security/passkeys", "/security/recovery",
		"/security/provider", "/security/passkeys/challenge"} {
		if status, body := v.post(path); status != http.StatusForbidden ||
			!strings.Contains(body, "Confirm your identity") {
			t.Errorf("%s without a confirmation: %d", path, status)
		}
	}
	if status, _ := v.confirm("present", "wrong"); status != http.StatusUnprocessableEntity {
		t.Errorf("a wrong password: %d", status)
	}
	if status, body := v.confirm(); status != http.StatusOK {
		t.Fatalf("%d\n%s", status, body)
	}
	secret, recovery := v.app()
	if len(recovery) != 10 {
		t.Errorf("%q", recovery)
	}
	if status, _ := elsewhere.get("/security"); status != http.StatusOK {
		t.Error(status)
	} else if _, body := elsewhere.get("/security"); !strings.Contains(body, "<h1>Sign in</h1>") {
		t.Error("the session in another browser goes on")
	}
	_, body := v.get("/security")
	v.wants(body, "My phone", "10 codes left", "Added a second step")
	if strings.Contains(body, secret) || strings.Contains(body, recovery[0]) {
		t.Error("a secret is shown again")
	}
	notices, err := s.Ledger.AuditLog().List(t.Context(), ledger.AuditQuery{What: "factor-add", Of: "ana"})
	if err != nil || len(notices) != 1 {
		t.Errorf("%+v, %v", notices, err)
	}
}

// Signing in takes a code of the app, each of which counts once; a recovery code
// stands in for it once.
func TestSignInWithSecondStep(t *testing.T) {
	s := newSite(t)
	v := s.member("ana", ledger.Operator)
	v.confirm()
	secret, recovery := v.app()
	v.leave()
	status, body := v.signInBy("ana", passPhrase)
	if status != http.StatusOK || !strings.Contains(body, "Second step") {
		t.Fatalf("%d\n%s", status, body)
	}
	if _, body := v.get("/settings"); !strings.Contains(body, "<h1>Sign in</h1>") {
		t.Error("a password alone is a session")
	}
	second := func(code string) (int, string) {
		return v.send("/sign-in/second", url.Values{"code": {code}})
	}
	for _, bad := range []string{v.code(secret, 0), v.code(secret, -1), "", "123"} { // the first one set the app up
		if status, _ := second(bad); status != http.StatusUnauthorized {
			t.Errorf("the code %q: %d", bad, status)
		}
	}
	if status, body := second(v.code(secret, 1)); status != http.StatusOK || !isSignedIn(body) {
		t.Fatalf("the next code: %d\n%s", status, body)
	}
	if status, _ := s.nobody().send("/sign-in/second", url.Values{"code": {recovery[0]}}); status != http.StatusGone {
		t.Errorf("a code without a password: %d", status)
	}
	v.leave()
	v.signInBy("ana", passPhrase)
	if status, body := second(strings.ToLower(recovery[0])); status != http.StatusOK ||
		!strings.Contains(body, "You signed in with a recovery code") {
		t.Errorf("a recovery code: %d\n%s", status, body)
	}
	v.leave()
	v.signInBy("ana", passPhrase)
	if status, _ := second(recovery[0]); status != http.StatusUnauthorized {
		t.Errorf("a recovery code again: %d", status)
	}
	second(recovery[1])

	// What comes with new codes and without the app.
	if status, _ := v.confirm(); status != http.StatusUnprocessableEntity {
		t.Errorf("the password alone of an account with a second step: %d", status)
	}
	if _, body := v.get("/security"); strings.Contains(body, `name="present"`) ||
		!strings.Contains(body, `name="code"`) {
		t.Error("the page asks for the password, and not for the second step")
	}
	if status, _ := v.post("/security/recovery"); status != http.StatusForbidden {
		t.Errorf("new codes without the second step: %d", status)
	}
	v.confirm("code", recovery[2])
	_, body = v.post("/security/recovery")
	if fresh := regexp.MustCompile(`[A-Z2-7]{6}(-[A-Z2-7]{6}){3}`).FindAllString(body, -1); len(fresh) != 10 ||
		fresh[0] == recovery[0] {
		t.Errorf("%q", fresh)
	}
	all, err := s.Ledger.Accounts().ListFactors(t.Context(), mustAccount(s, "ana").ID)
	s.must(err)
	if status, _ := v.post("/security/factors/" + all[0].ID + "/remove"); status != http.StatusOK {
		t.Errorf("remove: %d", status)
	}
	v.leave()
	if _, body := v.signInBy("ana", passPhrase); !isSignedIn(body) {
		t.Errorf("without the app\n%s", body)
	}
}

func mustAccount(s *testSite, name string) ledger.Account {
	s.Helper()
	a, err := s.Ledger.Accounts().Find(s.Context(), name)
	s.must(err)
	return a
}

// Wrong codes lock the second step, whatever the password.
func TestCodesCannotBeGuessed(t *testing.T) {
	s := newSite(t)
	v := s.member("ana", ledger.Operator)
	v.confirm()
	secret, _ := v.app()
	stranger, last := s.nobody(), 0
	for range 6 {
		stranger.signInBy("ana", passPhrase)
		last, _ = stranger.send("/sign-in/second", url.Values{"code": {"000000"}})
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the sixth code: %d", last)
	}
	if status, _ := stranger.send("/sign-in/second",
		url.Values{"code": {v.code(secret, 1)}}); status != http.StatusTooManyRequests {
		t.Errorf("the right one after them: %d", status)
	}
	acts, err := s.Ledger.AuditLog().List(t.Context(), ledger.AuditQuery{What: "sign-in-failed", Of: "ana"})
	if err != nil || len(acts) == 0 {
		t.Errorf("%+v, %v", acts, err)
	}
}

// A second step that waits is none any more once the password is another one.
func TestASecondStepEndsWithItsPassword(t *testing.T) {
	s := newSite(t)
	v := s.member("ana", ledger.Operator)
	v.confirm()
	secret, _ := v.app()
	thief := s.nobody()
	if _, body := thief.signInBy("ana", passPhrase); !strings.Contains(body, "Second step") {
		t.Fatal("no second step")
	}
	s.must(s.Ledger.Accounts().SetPassword(t.Context(), mustAccount(s, "ana").ID, "kettle-plinth-orchard"))
	if status, _ := thief.get("/sign-in/second"); status != http.StatusGone {
		t.Errorf("the page: %d", status)
	}
	if status, _ := thief.send("/sign-in/second", url.Values{"code": {v.code(secret, 1)}}); status != http.StatusGone {
		t.Errorf("the code: %d", status)
	}
}

// An open page is updated while its session has a role for it.
func TestWatchersNeedTheirRole(t *testing.T) {
	s := newSite(t)
	a, err := s.Ledger.Accounts().Add(t.Context(), "leo", []ledger.Role{ledger.Auditor})
	s.must(err)
	secret, err := s.Ledger.Accounts().BeginSession(t.Context(), a.ID, time.Hour, "")
	s.must(err)
	asks, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	s.must(err)
	watcher := func(may []ledger.Role) *request {
		return &request{site: s.Site, r: asks, secret: secret, asked: route{may: may}}
	}
	if !watcher(viewer).mayContinue() || !watcher(self).mayContinue() || watcher(operator).mayContinue() {
		t.Error("an auditor looks at what every role may look at")
	}
	s.must(s.Ledger.Accounts().Change(t.Context(), a.ID, nil, false))
	if watcher(viewer).mayContinue() {
		t.Error("without a role the watcher goes on")
	}
	s.must(s.Ledger.Accounts().EndSession(t.Context(), secret))
	if watcher(self).mayContinue() {
		t.Error("without a session the watcher goes on")
	}
}

// Where the firm wants a second factor an operator without one may add one, and
// do nothing else.
func TestRolesWaitForASecondFactor(t *testing.T) {
	s := newSite(t)
	op := s.member("op", ledger.Operator, ledger.Preparer)
	if status, body := op.post("/settings/sign-in", "second", "1"); status != http.StatusUnprocessableEntity ||
		!strings.Contains(body, "your own") {
		t.Errorf("an operator without one sets the rule: %d", status)
	}
	op.confirm()
	op.app()
	if status, body := op.post("/settings/sign-in", "second", "1"); status != http.StatusOK ||
		!strings.Contains(body, "second step") {
		t.Errorf("%d\n%s", status, body)
	}
	if status, _ := op.get("/fleet"); status != http.StatusOK {
		t.Errorf("an operator with one: %d", status)
	}

	v := s.member("leo", ledger.Approver, ledger.Operator)
	for _, r := range routes {
		if len(r.may) == 0 || r.upload {
			continue
		}
		status, body := 0, ""
		if r.method() == http.MethodGet {
			status, body = v.get(r.path())
		} else {
			status, body = v.post(r.path())
		}
		if status != http.StatusForbidden || !strings.Contains(body, "Add a second step") {
			t.Errorf("%s: %d", r.pattern, status)
		}
	}
	status, body := v.get("/security")
	if v.wants(body, "Add a second step to use your roles (approver, operator)"); status != http.StatusOK {
		t.Error(status)
	}
	v.confirm()
	v.app()
	if status, _ := v.get("/fleet"); status != http.StatusOK {
		t.Errorf("with a second factor: %d", status)
	}
	prep := s.member("prep", ledger.Preparer)
	if status, _ := prep.get("/fleet"); status != http.StatusOK {
		t.Errorf("a preparer: %d", status)
	}
}

// device is an authenticator at this site.
type device struct {
	*visitor
	site virtualwebauthn.RelyingParty
	auth virtualwebauthn.Authenticator
	key  virtualwebauthn.Credential
}

func (v *visitor) device(account string, o virtualwebauthn.AuthenticatorOptions) *device {
	o.UserHandle = []byte(account)
	d := &device{
		visitor: v,
		site:    virtualwebauthn.RelyingParty{Name: "Bulkfiling", ID: "localhost", Origin: v.url},
		auth:    virtualwebauthn.NewAuthenticatorWithOptions(o),
		key:     signintest.NewPasskey(),
	}
	d.auth.AddCredential(d.key)
	return d
}

func (d *device) register() (int, string) {
	d.Helper()
	status, options := d.post("/security/passkeys/challenge")
	if status != http.StatusOK {
		d.Fatalf("%d\n%s", status, options)
	}
	o, err := virtualwebauthn.ParseAttestationOptions(options)
	d.must(err)
	return d.post("/security/passkeys", "credential",
		virtualwebauthn.CreateAttestationResponse(d.site, d.auth, d.key, *o))
}

func (d *device) answer(v *visitor, path string) string {
	d.Helper()
	status, options := v.post(path)
	if status != http.StatusOK {
		d.Fatalf("%d\n%s", status, options)
	}
	o, err := virtualwebauthn.ParseAssertionOptions(options)
	d.must(err)
	d.key.Counter++
	return virtualwebauthn.CreateAssertionResponse(d.site, d.auth, d.key, *o)
}

// A passkey signs in alone, is a second factor, and a copy of it is refused.
func TestPasskeys(t *testing.T) {
	s := newSite(t)
	if _, body := s.nobody().get("/sign-in"); strings.Contains(body, "passkey\"") {
		t.Error("passkeys are offered under an address that has none")
	}
	s.url = strings.Replace(s.url, "127.0.0.1", "localhost", 1)
	v := s.member("ana", ledger.Operator)
	v.confirm()
	d := v.device(mustAccount(s, "ana").ID, virtualwebauthn.AuthenticatorOptions{})
	if status, body := d.register(); status != http.StatusOK || !strings.Contains(body, "Recovery codes") {
		t.Fatalf("%d\n%s", status, body)
	}
	s.must(s.Ledger.Accounts().SetSignInRules(t.Context(), ledger.SignInRules{SecondFactor: true}))

	alone := s.nobody()
	answer := d.answer(alone, "/sign-in/passkey/challenge")
	if status, body := alone.send("/sign-in/passkey",
		url.Values{"credential": {answer}, "to": {"/fleet"}}); status != http.StatusOK ||
		!strings.Contains(body, "Sign out") {
		t.Fatalf("%d\n%s", status, body)
	}
	if status, _ := s.nobody().send("/sign-in/passkey", url.Values{"credential": {answer}}); status != http.StatusGone {
		t.Errorf("the answer in another browser: %d", status)
	}
	if status, _ := alone.send("/sign-in/passkey", url.Values{"credential": {answer}}); status != http.StatusGone {
		t.Errorf("the answer again: %d", status)
	}

	second := s.nobody()
	if _, body := second.signInBy("ana", passPhrase); !strings.Contains(body, "Sign in with a passkey") {
		t.Errorf("the second step\n%s", body)
	}
	if status, body := second.send("/sign-in/second",
		url.Values{"credential": {d.answer(second, "/sign-in/second/challenge")}}); status != http.StatusOK ||
		!isSignedIn(body) {
		t.Errorf("as the second step: %d\n%s", status, body)
	}

	// A challenge of one kind is none of the other.
	crossed := s.nobody()
	crossed.signInBy("ana", passPhrase)
	if status, _ := crossed.send("/sign-in/passkey",
		url.Values{"credential": {d.answer(crossed, "/sign-in/second/challenge")}}); status != http.StatusGone {
		t.Errorf("an answer of the second step as a sign-in: %d", status)
	}

	// A copy lags behind.
	d.key.Counter = 0
	copied := s.nobody()
	if status, body := copied.send("/sign-in/passkey",
		url.Values{"credential": {d.answer(copied, "/sign-in/passkey/challenge")}}); status != http.StatusForbidden ||
		!strings.Contains(body, "a copy may exist") {
		t.Errorf("a copy: %d\n%s", status, body)
	}
	acts, err := s.Ledger.AuditLog().List(t.Context(), ledger.AuditQuery{What: "passkey-copied", Of: "ana"})
	if err != nil || len(acts) != 1 {
		t.Errorf("%+v, %v", acts, err)
	}
	d.key.Counter = 100

	// A disabled account stays out, and so does a passkey that was removed.
	a := mustAccount(s, "ana")
	boss := s.member("boss", ledger.Operator)
	s.must(s.Ledger.Accounts().Change(t.Context(), a.ID, a.Roles, true))
	late := s.nobody()
	if status, _ := late.send("/sign-in/passkey",
		url.Values{"credential": {d.answer(late, "/sign-in/passkey/challenge")}}); status != http.StatusForbidden {
		t.Errorf("a disabled account: %d", status)
	}
	s.must(s.Ledger.Accounts().Change(t.Context(), a.ID, a.Roles, false))
	s.must(s.Ledger.Accounts().ResetFactors(t.Context(), a.ID))
	if status, _ := late.send("/sign-in/passkey",
		url.Values{"credential": {d.answer(late, "/sign-in/passkey/challenge")}}); status != http.StatusUnauthorized {
		t.Errorf("a removed passkey: %d", status)
	}
	_ = boss
}

// Only the person who began to set up an app can finish it.
func TestAppOfSomebodyElse(t *testing.T) {
	s := newSite(t)
	ana, leo := s.member("ana", ledger.Operator), s.member("leo", ledger.Operator)
	ana.confirm()
	leo.confirm()
	_, body := ana.post("/security/app")
	flow := hidden(body, "flow")
	if status, _ := leo.post("/security/app/add", "flow", flow, "code", "000000"); status != http.StatusGone {
		t.Errorf("%d", status)
	}
	app, err := signin.NewApp("x")
	if err != nil || strings.Contains(body, app.Secret) {
		t.Error("two apps have one secret")
	}
	if status, _ := leo.post("/security/factors/F123/remove"); status != http.StatusNotFound {
		t.Errorf("a factor of nobody: %d", status)
	}
}
