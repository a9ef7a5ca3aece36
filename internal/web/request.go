package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// request is an HTTP request with its route and session.
type request struct {
	server *server
	// asked is the requested route.
	asked    route
	w        http.ResponseWriter
	r        *http.Request
	signedIn bool
	session  account.Session
	// secret is the secret of the session.
	secret string
	// once is the identifier of the submitted form. Its change is made once.
	once string
}

func (v *request) ctx() context.Context { return v.r.Context() }

func (v *request) who() string { return v.session.Account.Name }

func (v *request) may(r account.Role) bool { return v.signedIn && v.session.Account.May(r) }

// query returns a parameter of the address.
func (v *request) query(name string) string { return v.r.URL.Query().Get(name) }

// search returns a search text of the address.
func (v *request) search(name string) string {
	return shortened(strings.TrimSpace(v.query(name)), maxSearch)
}

const maxSearch = 200

// number returns a number of the address. If it has none, the result is otherwise.
func (v *request) number(name string, otherwise int) int {
	n, err := strconv.Atoi(v.query(name))
	if err != nil {
		return otherwise
	}
	return n
}

// form returns a field of the form.
func (v *request) form(name string) string { return v.r.PostForm.Get(name) }

// needsService reports whether no filing service is set up and the reader can set it up here.
func (v *request) needsService() bool {
	setup := v.server.Setup
	return setup != nil && setup.Service == "" && v.may(account.Operator)
}

// findBatch finds the batch of an address. Unlike the commands it rejects abbreviated IDs, because
// an abbreviation could match another batch later.
func (v *request) findBatch() (ledger.Batch, error) {
	id := v.r.PathValue("batch")
	b, err := v.server.Ledger.Batch(v.ctx(), id)
	if err == nil && b.ID != id {
		err = ledger.ErrNotFound
	}
	return b, err
}

// findAccount finds the account that a path names.
func (v *request) findAccount() (account.Account, error) {
	return v.server.accounts.Find(v.ctx(), v.r.PathValue("account"))
}

// withAudit returns a context for the change of a form. With it the change is made once, and
// recorded in the audit log.
func (v *request) withAudit(what, of, note string) context.Context {
	return audit.With(v.ctx(), v.act(v.once, what, of, note))
}

// act returns an audit event of the reader. An event with an ID is recorded once.
func (v *request) act(id, what, of, note string) audit.Event {
	return audit.Event{
		ID:   id,
		By:   v.who(),
		From: v.from(),
		What: what,
		Of:   of,
		Note: note,
	}
}

// record adds an audit event of the reader. Use it if the ledger is not changed otherwise.
func (v *request) record(id, what, of, note string) error {
	return v.server.audit.Record(v.ctx(), v.act(id, what, of, note))
}

// from returns the client's address.
func (v *request) from() string { return v.server.Proxies.ClientAddress(v.r) }

// page is the data of every template.
type page struct {
	Title string
	Nav   []navItem
	// Actions are the actions that the reader can take.
	Actions []action
	// Search is the text of the search field.
	Search  string
	Account account.Account
	Flash   *flashMessage
	// Mode is "test" or "live".
	Mode string
	// Version is empty if the reader is not signed in.
	Version string
	Data    any
	May     may
	// Setup reports whether the page warns that no filing service is set up.
	Setup bool
	// MiB is the maximum size of an upload.
	MiB int64
	// Uploads is the maximum size of an upload in bytes, or zero if the reader may not upload.
	Uploads int64
}

type navItem struct {
	Path, Name string
	Current    bool
}

// may has the permissions of the reader. Pages hide everything else.
type may struct{ Prepare, Approve, Operate, Audit bool }

// flashMessage is a message at the top of the next page. It is shown once. Kind is "ok", "note",
// "warn" or "bad".
type flashMessage struct{ Kind, Text string }

// show writes a page, or returns the error of its data.
func (v *request) show(err error, name, title string, data any) error {
	if err != nil {
		return err
	}
	return v.showStatus(http.StatusOK, name, title, data)
}

func (v *request) showStatus(status int, name, title string, data any) error {
	p := page{Title: title, Mode: v.server.Settings.Mode, Data: data, Flash: v.flashed(), MiB: v.server.MaxUpload >> 20}
	if v.signedIn {
		reader := v.session.Account
		p.Account = reader
		p.Version = v.server.Version
		p.May = may{
			Prepare: reader.May(account.Preparer),
			Approve: reader.May(account.Approver),
			Operate: reader.May(account.Operator),
			Audit:   slices.ContainsFunc(auditor, reader.May),
		}
		p.Setup = v.needsService() && v.r.URL.Path != "/setup"
		if p.May.Prepare {
			p.Uploads = v.server.MaxUpload
		}
		p.Nav = v.nav()
		if v.r.URL.Path == "/search" {
			p.Search = v.query("q")
		}
		var err error
		if p.Actions, err = v.server.overview.actions(v); err != nil {
			return err
		}
	}
	var body bytes.Buffer
	if err := templates()[name].ExecuteTemplate(&body, "base.html", p); err != nil {
		return fmt.Errorf("make the page %s: %w", name, err)
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = body.WriteTo(v.w) // the reader may have left
	return nil
}

// sections are the main pages of the navigation, with the prefixes of the paths that belong to
// them.
var sections = []struct {
	path, name string
	of         []string
}{
	{"/", "Home", []string{"/batches/", "/sheets/", "/uncertain", "/restore"}},
	{"/companies", "Companies", []string{"/companies/"}},
	{"/schedules", "Schedules", []string{"/schedules/"}},
	{"/balance", "Balance", []string{"/balance/"}},
	{"/charges", "Charges", nil},
	{"/settings", "Settings", []string{"/settings/", "/workers", "/audit"}},
}

// nav returns the sections for the navigation.
func (v *request) nav() (all []navItem) {
	if !v.session.Account.HasRole() {
		return nil
	}
	here := v.r.URL.Path
	for _, s := range sections {
		item := navItem{Path: s.path, Name: s.name, Current: here == s.path}
		for _, beginning := range s.of {
			item.Current = item.Current || strings.HasPrefix(here, beginning)
		}
		all = append(all, item)
	}
	return all
}

// These are the names of cookies. The message of the next page travels in a cookie. The page
// escapes it, and only the browser that has the cookie sees it.
const (
	sessionCookie = "session"
	flashCookie   = "said"
)

func (v *request) setCookie(name, value string, life time.Duration) {
	c := &http.Cookie{
		Name:     v.server.cookieName(name),
		Value:    value,
		Path:     "/",
		HttpOnly: true,
		Secure:   v.server.TLS,
		SameSite: http.SameSiteLaxMode,
		MaxAge:   int(life.Seconds()),
	}
	if life < 0 {
		c.MaxAge = -1
	}
	http.SetCookie(v.w, c)
}

// flash shows a message on the next page.
func (v *request) flash(kind, format string, args ...any) {
	message := kind + " " + shortened(fmt.Sprintf(format, args...), 1500)
	v.setCookie(flashCookie, base64.RawURLEncoding.EncodeToString([]byte(message)), time.Minute)
}

// done leads to a page with a success message, or returns the error of the change.
func (v *request) done(err error, path, format string, args ...any) error {
	if err != nil {
		return err
	}
	return v.leadTo(path, "ok", format, args...)
}

// leadTo redirects to a page that shows a message.
func (v *request) leadTo(path, kind, format string, args ...any) error {
	v.flash(kind, format, args...)
	return v.redirect(path)
}

// flashed returns the message of the previous page, or nil, and deletes it.
func (v *request) flashed() *flashMessage {
	cookie, err := v.r.Cookie(v.server.cookieName(flashCookie))
	if err != nil || cookie.Value == "" {
		return nil
	}
	v.setCookie(flashCookie, "", -1)
	message, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	kind, text, ok := strings.Cut(string(message), " ")
	if err != nil || !ok {
		return nil
	}
	return &flashMessage{kind, text}
}

// extendDeadline extends the deadline of the response. Look-ups at the filing service and downloads
// may take minutes.
func (v *request) extendDeadline() error {
	err := http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(15 * time.Minute))
	if err != nil {
		return fmt.Errorf("extend the deadline of the answer: %w", err)
	}
	return nil
}

// redirect sends the browser to another page of this site.
func (v *request) redirect(path string) error {
	// A redirect would make the script load the page, and the message would be lost.
	if v.byScript() {
		v.w.Header().Set("Location", path)
		v.w.WriteHeader(http.StatusCreated)
		return nil
	}
	http.Redirect(v.w, v.r, path, http.StatusSeeOther)
	return nil
}

// load returns a function that stores a result in a field of a page and returns the error of the
// result.
func load[T any](into *T) func(T, error) error {
	return func(found T, err error) error {
		*into = found
		return err
	}
}

// collect returns the elements of a sequence, or its first error.
func collect[T any](all iter.Seq2[T, error]) (found []T, err error) {
	for one, err := range all {
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, nil
}

// with returns the address of a page with the query of the request, changed by pairs of names and
// values. An empty value removes a name.
func (v *request) with(path string, pairs ...string) string {
	return changed(path, v.r.URL.Query(), pairs)
}

// address returns the address of a page. pairs are the names and values of its query. Empty values
// are omitted.
func address(path string, pairs ...string) string {
	return changed(path, make(url.Values), pairs)
}

func changed(path string, query url.Values, pairs []string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			query.Del(pairs[i])
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// firstOf returns the first n elements, and whether there are more.
func firstOf[T any](all []T, n int) (first []T, more bool) {
	return all[:min(len(all), n)], len(all) > n
}

// paged returns the page of a list that the address selects. The list must be short enough to load
// as a whole.
func paged[T any](v *request, all []T, size int) (pager, []T) {
	n := v.number("page", 0)
	last := max(0, (len(all)-1)/size)
	n = min(max(n, 0), last)
	path := func(n int) string { return v.with(v.r.URL.Path, "page", strconv.Itoa(n)) }
	from := n * size
	to := min(from+size, len(all))
	p := pager{From: min(from+1, to), To: to, Total: len(all)}
	if n > 0 {
		p.Newer = path(n - 1)
	}
	if n < last {
		p.Older = path(n + 1)
	}
	return p, all[from:to]
}

// keyset returns the page of a list that the address selects by a key, and the links to the first
// and the next page. all has one element more than the page if another page follows. name is the
// parameter for the key of the last element, and anchor the place of the list on its page.
func keyset[T any](v *request, name string, all []T, size int, key func(T) any, anchor string) (pager, []T) {
	shown, more := firstOf(all, size)
	seen := max(0, v.number("seen", 0)) // the number of elements before this page, for display
	p := pager{From: min(seen+1, seen+len(shown)), To: seen + len(shown)}
	if v.query(name) != "" {
		p.First = v.with(v.r.URL.Path, name, "", "seen", "") + anchor
	}
	if more {
		p.Older = v.with(v.r.URL.Path, name, fmt.Sprint(key(shown[size-1])), "seen", strconv.Itoa(p.To)) + anchor
	}
	return p, shown
}
