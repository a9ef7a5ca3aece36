package sandbox

import (
	"net/http"
	"time"
)

// Organization is the calling organization. Source: spec section 2.
type Organization struct {
	Name, Domain, Subdomain                                        string
	LogoURL, IconURL, WebsiteURL                                   string
	PrimaryColor, PrimaryTextColor, SurfaceColor, SurfaceTextColor string
	ReplyToEmail                                                   string
	BilledUsers                                                    string
	InvoicedEnabled, ShowPrices, SignupDisabled, SupportChat       bool
	SignupKeys                                                     []string
	DocumentUploadedEmail, FilingStatusEmail                       bool
	AnnualReportReminderEmail, PaymentCompletedEmail               bool
	CreatedAt                                                      time.Time

	// BillingOnboarded allows BilledUsers to be set. It is not part of any answer.
	BillingOnboarded bool
}

func newOrganization(now time.Time) Organization {
	return Organization{
		Name: "Harbor Accounting", Domain: "harbor.example", Subdomain: "harbor",
		WebsiteURL: "https://harbor.example", ReplyToEmail: "filings@harbor.example",
		PrimaryColor: "#14532d", PrimaryTextColor: "#ffffff", SurfaceColor: "#f8fafc", SurfaceTextColor: "#0f172a",
		ShowPrices: true, BilledUsers: "admin", CreatedAt: now,
	}
}

// texts and switches name the fields of an organization as the service writes them.
func (o *Organization) texts() map[string]*string {
	return map[string]*string{
		"name": &o.Name, "domain": &o.Domain, "subdomain": &o.Subdomain,
		"logoUrl": &o.LogoURL, "iconUrl": &o.IconURL, "websiteUrl": &o.WebsiteURL,
		"primaryColor": &o.PrimaryColor, "primaryTextColor": &o.PrimaryTextColor,
		"surfaceColor": &o.SurfaceColor, "surfaceTextColor": &o.SurfaceTextColor,
		"replyToEmail": &o.ReplyToEmail, "billedUsers": &o.BilledUsers,
	}
}

func (o *Organization) switches() map[string]*bool {
	return map[string]*bool{
		"invoicedEnabled": &o.InvoicedEnabled, "showPrices": &o.ShowPrices,
		"signupDisabled": &o.SignupDisabled, "supportChatEnabled": &o.SupportChat,
	}
}

func (o *Organization) notifications() map[string]*bool {
	return map[string]*bool{
		"documentUploadedEmail": &o.DocumentUploadedEmail, "filingStatusEmail": &o.FilingStatusEmail,
		"annualReportReminderEmail": &o.AnnualReportReminderEmail, "paymentCompletedEmail": &o.PaymentCompletedEmail,
	}
}

func (o *Organization) answer() map[string]any {
	a := map[string]any{"createdAt": stamp(o.CreatedAt)}
	for name, v := range o.texts() {
		a[name] = *v
	}
	for name, v := range o.switches() {
		a[name] = *v
	}
	mails := map[string]bool{}
	for name, v := range o.notifications() {
		mails[name] = *v
	}
	a["notifications"] = mails
	keys := o.SignupKeys
	if keys == nil {
		keys = []string{}
	}
	a["signupKeys"] = keys
	return a
}

func (s *Service) getOrganization(*call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.organization.answer(), nil
}

// patchOrganization changes the fields given. Source: spec section 4, PATCH /organization.
func (s *Service) patchOrganization(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.organization
	for name, v := range next.texts() {
		if given, ok := c.body.maybeText(name); ok {
			*v = given
		}
	}
	for name, v := range next.switches() {
		if given, ok := c.body.maybeFlag(name); ok {
			*v = given
		}
	}
	if keys, ok := c.body.texts("signupKeys"); ok {
		next.SignupKeys = keys
	}
	if mails := c.body.child("notifications", false); mails != nil {
		for name, v := range next.notifications() {
			if given, ok := mails.maybeFlag(name); ok {
				*v = given
			}
		}
		mails.done()
	}
	if err := s.finish(c); err != nil {
		return nil, err
	}
	if c.body.has("billedUsers") && !next.BillingOnboarded {
		r := forbidden(http.StatusBadRequest, "4 organization", "billedUsers requires billing to be onboarded")
		r.problems[0].hidden = true
		return nil, r
	}
	s.organization = next
	return next.answer(), nil
}
