package web

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/bulkfiling/bulkfiling/internal/audit"
)

// auditPage is a page of the audit log.
type auditPage struct {
	Acts         []audit.Event
	By, What, Of string
	// Events are the choices of the filter.
	Events []auditEvent
	Older  string
}

const actsOnPage = 100

func (h *accountHandler) audit(v *request) error {
	ask := v.r.URL.Query()
	p := auditPage{By: ask.Get("by"), What: ask.Get("what"), Of: ask.Get("of"), Events: auditEvents}
	before, _ := strconv.ParseInt(ask.Get("before"), 10, 64)
	var err error
	p.Acts, err = h.log.List(v.ctx(), audit.Query{
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
	return v.show(nil, "audit.html", "Audit log", p)
}

// auditEvent is a kind of entry in the audit log. The ledger stores its code.
type auditEvent struct{ Code, Name string }

// auditEvents are the kinds of entries in the audit log, sorted by name.
var auditEvents = slices.SortedFunc(slices.Values([]auditEvent{
	{"account-add", "Added an account"},
	{"account-email", "Changed an email address"},
	{"account-disable", "Disabled an account"},
	{"account-enable", "Enabled an account"},
	{"account-link", "Made a one-time link"},
	{"account-link-revoke", "Revoked a one-time link"},
	{"account-roles", "Changed roles"},
	{"approve", "Approved a batch"},
	{"approve-costs", "Approved changed costs"},
	{"ask", "Checked for funds"},
	{"cancel", "Canceled a batch"},
	{"companies", "Changed the company of a row"},
	{"correct", "Corrected an upload"},
	{"dashboard", "Opened a dashboard link"},
	{"denied", "Permission denied"},
	{"deposit", "Recorded a deposit"},
	{"adjust", "Recorded an adjustment"},
	{"end-restored", "Resumed sending after a restore"},
	{"restore", "Restored the ledger from a backup"},
	{"restored", "Began the check of a restored ledger"},
	{"mark-uncertain", "Made rows uncertain after a restore"},
	{"download", "Downloaded data"},
	{"delete-upload", "Deleted an upload"},
	{"passkey-add", "Added a passkey"},
	{"passkey-remove", "Removed a passkey"},
	{"firm-zone", "Changed the time zone"},
	{"mapping-drop", "Deleted a column mapping"},
	{"notify-test", "Sent a test notification"},
	{"passkey-copied", "Refused a passkey that may be copied"},
	{"pause", "Paused a batch"},
	{"policy", "Changed the approval policy"},
	{"provider-link", "Linked a company account"},
	{"provider-unlink", "Unlinked a company account"},
	{"change-mapping", "Changed a column mapping"},
	{"renewal", "Recorded a subscription renewal"},
	{"reject", "Rejected a batch"},
	{"reject-costs", "Rejected changed costs"},
	{"resolve", "Resolved an uncertain row"},
	{"resume", "Resumed a batch"},
	{"retry", "Sent rows again"},
	{"dismiss", "Dismissed rows that need attention"},
	{"run", "Ran a spreadsheet by command"},
	{"season-add", "Added a schedule"},
	{"season-pause", "Paused a schedule"},
	{"season-remove", "Deleted a schedule"},
	{"season-resume", "Resumed a schedule"},
	{"season-run", "Ran a schedule by hand"},
	{"season-update", "Changed a company list"},
	{"setup", "Set up the filing service"},
	{"send-back", "Sent a batch back"},
	{"session-end", "Ended sessions"},
	{"sign-in", "Signed in"},
	{"sign-in-failed", "Failed to sign in"},
	{"sign-out", "Signed out"},
	{"submit", "Submitted a batch"},
	{"subscription", "Recorded a subscription status"},
	{"upload", "Uploaded a spreadsheet"},
	{"webhook-add", "Added a webhook endpoint"},
	{"webhook-create", "Registered a webhook endpoint"},
	{"webhook-remove", "Removed a webhook endpoint"},
}), func(a, b auditEvent) int { return cmp.Compare(a.Name, b.Name) })

// eventName returns the name of an audit event for readers. A code without a name is returned
// unchanged.
func eventName(code string) string {
	at := slices.IndexFunc(auditEvents, func(e auditEvent) bool { return e.Code == code })
	if at < 0 {
		return code
	}
	return auditEvents[at].Name
}
