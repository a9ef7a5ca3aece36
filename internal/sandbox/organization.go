package sandbox

import (
	"maps"
	"net/http"
	"time"
)

// organization is the calling organization.
type organization struct {
	*core
	record map[string]any
}

// newOrganization returns the record of the calling organization, as the service writes it. Its
// billing is not onboarded.
// Source: spec section 2.
func newOrganization(now time.Time) map[string]any {
	return map[string]any{
		"name": "Harbor Accounting", "domain": "harbor.example", "subdomain": "harbor",
		"logoUrl": "", "iconUrl": "", "websiteUrl": "https://harbor.example",
		"primaryColor": "#14532d", "primaryTextColor": "#ffffff",
		"surfaceColor": "#f8fafc", "surfaceTextColor": "#0f172a",
		"replyToEmail": "filings@harbor.example", "billedUsers": "admin",
		"invoicedEnabled": false, "showPrices": true, "signupDisabled": false, "supportChatEnabled": false,
		"signupKeys": []string{},
		"notifications": map[string]any{
			"documentUploadedEmail": false, "filingStatusEmail": false,
			"annualReportReminderEmail": false, "paymentCompletedEmail": false,
		},
		"createdAt": stamp(now),
	}
}

func (o *organization) getOrganization(*call) (any, error) {
	// The record is replaced and never changed.
	return o.record, nil
}

// patchOrganization changes the given fields.
// Source: spec section 4, PATCH /organization.
func (o *organization) patchOrganization(c *call) (any, error) {
	next := c.body.change(o.record)
	if err := o.finish(c); err != nil {
		return nil, err
	}
	if c.body.has("billedUsers") {
		r := forbidden(http.StatusBadRequest, "4 organization", "billedUsers requires billing to be onboarded")
		r.problems[0].hidden = true
		return nil, r
	}
	o.record = next
	return next, nil
}

// change returns a copy of a record with the given fields. Each must have the type of the existing
// one.
func (o *object) change(record map[string]any) map[string]any {
	next := maps.Clone(record)
	for name, old := range record {
		if !o.has(name) {
			continue
		}
		switch old := old.(type) {
		case string:
			next[name], _ = o.maybeText(name)
		case bool:
			next[name], _ = o.maybeFlag(name)
		case []string:
			next[name], _ = o.texts(name)
		case map[string]any:
			if child := o.child(name, false); child != nil {
				next[name] = child.change(old)
				child.done()
			}
		}
	}
	return next
}
