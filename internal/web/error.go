package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/schedule"
	"github.com/bulkfiling/bulkfiling/internal/sheet"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// httpError is an error with a status and a text for the reader.
type httpError struct {
	Status int
	Title  string
	// Text is the advice to the reader.
	Text string
}

func (t *httpError) Error() string { return t.Title + ": " + t.Text }

// badRequest returns an error about invalid input.
func badRequest(format string, args ...any) error {
	return &httpError{http.StatusUnprocessableEntity, "Invalid input", fmt.Sprintf(format, args...)}
}

// These errors reject a request before it is served.
var (
	errSignIn = &httpError{http.StatusUnauthorized, "You are not signed in",
		"Nothing was changed. Sign in, then try again."}
	errRole = &httpError{
		http.StatusForbidden, "Permission denied",
		"Nothing was changed. Your roles do not allow this. An operator can change your roles under Settings.",
	}
	errForm = &httpError{http.StatusForbidden, "The form is incomplete",
		"Nothing was changed. The form did not arrive complete. Go back, refresh the page, and try again."}
	errUploadedTwice = &httpError{http.StatusConflict, "This file was already uploaded",
		"The file arrived twice and counts once. It is in the list of uploads."}
	errOrigin = &httpError{http.StatusForbidden, "The request came from another site",
		"Nothing was changed. If people reach this server through a proxy, start importer serve with --public-url."}
	errHost = &httpError{http.StatusMisdirectedRequest, "Unknown host",
		"Use the address that importer serve printed, or start importer serve with --public-url."}
	errNoPage = &httpError{
		http.StatusNotFound, "Page not found", "The page may have been removed. Go to the list of batches.",
	}
)

var (
	invalidInput   = httpError{Status: http.StatusUnprocessableEntity, Title: "Invalid input"}
	nothingChanged = httpError{Status: http.StatusUnprocessableEntity, Title: "Nothing was changed"}
	noAnswer       = httpError{http.StatusBadGateway, "The filing service does not respond",
		"Nothing was changed or downloaded. Try again in a minute."}
)

// known maps errors of other packages to answers that a reader can act on. An answer without a text
// uses the text of the error.
var known = []struct {
	err    error
	answer httpError
}{
	{ledger.ErrNotFound, httpError{http.StatusNotFound, "Not found",
		"Nothing was changed. The item does not exist, or no longer exists. Go to the list of batches."}},
	{ledger.ErrStale, httpError{http.StatusConflict, "Someone else made a change",
		"Your change was not saved, and nothing was ordered. Every saved change is kept. Go back, refresh the page, " +
			"and review it before you try again."}},
	{sheet.ErrBusy, httpError{http.StatusServiceUnavailable, "The server is busy",
		"Nothing was changed. Other spreadsheets are being read now. Wait half a minute, then try again."}},
	{approval.ErrChanged, httpError{http.StatusConflict, "The rows or the cost changed",
		"Nothing was sent and nothing was approved. Go back, refresh the page, and review the rows and the cost."}},
	{approval.ErrNoApprovalNeeded, httpError{http.StatusConflict, "Nothing here waits for approval",
		"Nothing was changed. Someone may have approved or rejected it meanwhile. Go back, and refresh the page."}},
	{approval.ErrApproveBatchFirst, httpError{http.StatusConflict, "This batch itself waits for approval",
		"Approve or reject the batch first. Nothing was changed."}},
	{approval.ErrNotOpen, httpError{http.StatusConflict, "This batch is not submitted yet",
		"It cannot be approved. Nothing was sent."}},
	{approval.ErrNoComment, httpError{http.StatusUnprocessableEntity, "The comment is missing or too long",
		"Enter a comment of at most 1,000 characters that tells the preparer what to change. Nothing was changed."}},
	{approval.ErrSentAlready, httpError{http.StatusConflict, "Orders of this batch were already sent",
		"It cannot be sent back. Reject it to cancel the rows that were not sent."}},
	{approval.ErrCorrected, httpError{http.StatusConflict, "Corrections of this batch were uploaded",
		"Its draft does not have them, so it cannot be sent back. Approve it, or reject it. Nothing was changed."}},
	{approval.ErrNoDraft, httpError{http.StatusConflict, "This batch has no draft to send back",
		"A schedule or a command made it. Reject it instead. Nothing was changed."}},
	{ledger.ErrUnchecked, httpError{http.StatusConflict, "Some rows need checking",
		"Some rows in this batch may have been ordered before the restore. Nothing was changed. " +
			"An operator has to check them first: importer resolve restored."}},
	{approval.ErrSecondPerson, httpError{http.StatusForbidden, "A second person must approve this batch",
		"Nothing was sent."}},
	{account.ErrManaged, httpError{http.StatusConflict, "The sign-in provider manages this account",
		"Nothing was changed. The roles come from the groups at the sign-in provider. Change the groups there."}},
	{store.ErrSealed, httpError{http.StatusConflict, "This data cannot be decrypted here",
		"It was sealed under another key. FILING_SEAL_KEY, or the key file of the data folder, is not the one that " +
			"it was sealed with."}},
	{schedule.ErrNoSharedKey, httpError{http.StatusConflict, "Company lists need a shared key",
		"The database is shared by several machines, and only this one could open the list again. An operator has " +
			"to set FILING_SEAL_KEY to the same value on every machine. Nothing was kept."}},
	{account.ErrSignInLink, httpError{http.StatusGone, "This link no longer works",
		"A link works once and expires. Ask for a new one on the sign-in page, or ask an operator. On your own " +
			"computer, start importer serve again to get a new link."}},
	{account.ErrFlow, *errFlow},
	{account.ErrIdentity, httpError{http.StatusConflict, "This company account is linked to another account",
		"Nothing was changed. Sign in to that account. A company account stays with the first account that it was " +
			"linked to."}},
	{ledger.ErrOrderTaken, httpError{Status: http.StatusConflict, Title: "This order belongs to another row"}},
	{report.ErrNoNextYear, httpError{Status: http.StatusConflict, Title: "No spreadsheet for next year"}},
	{account.ErrAccount, nothingChanged},
	{account.ErrLastOperator, nothingChanged},
	{approval.ErrPolicy, nothingChanged},
	{account.ErrPasskeys, nothingChanged},
	{account.ErrPasskeyTaken, nothingChanged},
	{schedule.ErrSchedule, invalidInput},
	{schedule.ErrCompanyList, invalidInput},
	{filingapi.ErrKeyRefused, httpError{http.StatusBadGateway, "The filing service rejects the API key",
		"Nothing was sent. An operator must correct FILING_API_KEY."}},
	{filingapi.ErrBusy, noAnswer},
	{filingapi.ErrUnavailable, noAnswer},
}

// showError answers a request with the page of an error. A script gets the error as JSON.
func (s *server) showError(v *request, err error) {
	if errors.Is(err, context.Canceled) && v.r.Context().Err() != nil {
		// The client has disconnected.
		return
	}
	if errors.Is(err, audit.ErrDone) {
		if !v.byScript() {
			v.flash("note", "This was already done. The form arrived twice and counted once.")
			_ = v.redirect(v.back())
			return
		}
		err = errUploadedTwice
	}
	t := new(httpError)
	if errors.As(err, &t) {
		s.recordDenied(v, t)
	} else {
		t = s.explain(v, err)
	}
	if errors.Is(err, sheet.ErrBusy) {
		v.w.Header().Set("Retry-After", "30")
	}
	switch {
	case t == errSignIn && v.isForPage():
		err = v.redirect("/sign-in?to=" + url.QueryEscape(v.r.URL.RequestURI()))
	case v.asked.json || v.byScript():
		err = v.sendJSON(t.Status, jsonError{t.Title, t.Text, v.signInPath(t)})
	default:
		shown := struct {
			*httpError
			// Back is the address of the page that had the form.
			Back string
		}{t, ""}
		if v.r.Method == http.MethodPost && v.signedIn {
			shown.Back = v.back()
		}
		err = v.showStatus(t.Status, "error.html", t.Title, shown)
	}
	if err != nil {
		s.Log.Error("answer failed", "err", err)
		http.Error(v.w, t.Error(), t.Status)
	}
}

// jsonError is the answer to a failed request of a script.
type jsonError struct {
	Title string `json:"title"`
	Text  string `json:"text"`
	// SignIn is the address of the sign-in page. Set only if the session has ended.
	SignIn string `json:"signIn,omitempty"`
}

// signInPath returns the address of the sign-in page, which leads back to the page of the script.
// It returns "" for errors other than errSignIn.
func (v *request) signInPath(t *httpError) string {
	if t != errSignIn {
		return ""
	}
	if from, err := url.Parse(v.r.Referer()); err == nil && from.Host == v.r.Host {
		return "/sign-in?to=" + url.QueryEscape(local(from.RequestURI()))
	}
	return "/sign-in"
}

// sendJSON answers with JSON.
func (v *request) sendJSON(status int, body any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	v.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	v.w.Header().Set("Cache-Control", "no-store")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(content) // the reader may have left
	return nil
}

// isForPage reports whether a browser requests a page to show.
func (v *request) isForPage() bool {
	return v.r.Method == http.MethodGet && strings.Contains(v.r.Header.Get("Accept"), "text/html")
}

func (s *server) explain(v *request, err error) *httpError {
	for _, k := range known {
		if errors.Is(err, k.err) {
			if k.answer.Status == http.StatusForbidden {
				s.recordDenial(v, k.err.Error())
			}
			t := k.answer
			if t.Text == "" {
				t.Text = sentence(err.Error())
			}
			if why, ok := errors.AsType[*approval.SecondError](err); ok {
				t.Text = why.ToYou() + " " + t.Text
			}
			return &t
		}
	}
	name := rand.Text()[:8]
	s.Log.Error("request failed", "page", v.r.Method+" "+v.r.URL.Path, "reference", name, "err", err)
	return &httpError{http.StatusInternalServerError, "Something went wrong",
		"The server made an error. Check whether your change was made before you try again. If the error comes back, " +
			"tell an operator that the server log has it as " + name + "."}
}

// back returns the address of the page that had the form. If that address answers only POST, it
// returns the nearest page above.
func (v *request) back() string {
	from, err := url.Parse(v.r.Referer())
	if err != nil || from.Path == "" || from.Host != v.r.Host {
		return "/"
	}
	if v.server.hasPage(from.Path) {
		return local(from.RequestURI())
	}
	for at := path.Dir(from.Path); len(at) > 1; at = path.Dir(at) {
		if v.server.hasPage(at) {
			return local((&url.URL{Path: at}).RequestURI())
		}
	}
	return "/"
}

// hasPage reports whether a path is the address of a page.
func (s *server) hasPage(at string) bool {
	_, pattern := s.mux.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: at}})
	return strings.HasPrefix(pattern, http.MethodGet+" ")
}

// local returns a path if it stays on this site, and "/" otherwise. Browsers read a backslash as a
// slash, and ignore tabs and line breaks at any position.
func local(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsRune(path, '\\') ||
		strings.ContainsFunc(path, unicode.IsControl) {
		return "/"
	}
	return path
}
