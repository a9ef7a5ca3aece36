package web

import (
	"cmp"
	"slices"
)

// auditEvent is a kind of entry in the audit log. The ledger stores its code.
type auditEvent struct{ Code, Name string }

// auditEvents are the kinds by their names, in the order of the alphabet.
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

// eventName returns an audit event in a reader's words; a code without a name is
// returned as it is.
func eventName(code string) string {
	at := slices.IndexFunc(auditEvents, func(e auditEvent) bool { return e.Code == code })
	if at < 0 {
		return code
	}
	return auditEvents[at].Name
}
