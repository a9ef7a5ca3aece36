package filingapi

import (
	"context"
	"errors"
	"net/http"
)

const organizationPath = "/organization"

// Organization is the caller's own record. Source: spec section 2, Organization.
type Organization struct {
	Name               string        `json:"name"`
	Domain             string        `json:"domain"`
	Subdomain          string        `json:"subdomain"`
	LogoURL            string        `json:"logoUrl"`
	IconURL            string        `json:"iconUrl"`
	WebsiteURL         string        `json:"websiteUrl"`
	PrimaryColor       string        `json:"primaryColor"`
	PrimaryTextColor   string        `json:"primaryTextColor"`
	SurfaceColor       string        `json:"surfaceColor"`
	SurfaceTextColor   string        `json:"surfaceTextColor"`
	ReplyToEmail       string        `json:"replyToEmail"`
	BilledUsers        string        `json:"billedUsers"` // admin; other values are not shown
	InvoicedEnabled    bool          `json:"invoicedEnabled"`
	ShowPrices         bool          `json:"showPrices"`
	SignupDisabled     bool          `json:"signupDisabled"`
	SupportChatEnabled bool          `json:"supportChatEnabled"`
	SignupKeys         []string      `json:"signupKeys"`
	Notifications      Notifications `json:"notifications"`
	CreatedAt          string        `json:"createdAt"` // ISO 8601
}

// Notifications are the emails that users get.
type Notifications struct {
	DocumentUploadedEmail     bool `json:"documentUploadedEmail"`
	FilingStatusEmail         bool `json:"filingStatusEmail"`
	AnnualReportReminderEmail bool `json:"annualReportReminderEmail"`
	PaymentCompletedEmail     bool `json:"paymentCompletedEmail"`
}

// Organization reads the organization that the key belongs to. It costs nothing
// and changes nothing, so it also serves to ask whether the service answers.
func (c *Client) Organization(ctx context.Context) (Organization, error) {
	return c.organization("read organization", c.do(ctx, http.MethodGet, organizationPath, nil))
}

// OrganizationChange has the fields of an organization that change: those that are
// not nil.
type OrganizationChange struct {
	Name               *string              `json:"name,omitempty"`
	Domain             *string              `json:"domain,omitempty"`
	Subdomain          *string              `json:"subdomain,omitempty"`
	LogoURL            *string              `json:"logoUrl,omitempty"`
	IconURL            *string              `json:"iconUrl,omitempty"`
	WebsiteURL         *string              `json:"websiteUrl,omitempty"`
	PrimaryColor       *string              `json:"primaryColor,omitempty"`
	PrimaryTextColor   *string              `json:"primaryTextColor,omitempty"`
	SurfaceColor       *string              `json:"surfaceColor,omitempty"`
	SurfaceTextColor   *string              `json:"surfaceTextColor,omitempty"`
	ReplyToEmail       *string              `json:"replyToEmail,omitempty"`
	BilledUsers        *string              `json:"billedUsers,omitempty"` // once billing is onboarded
	InvoicedEnabled    *bool                `json:"invoicedEnabled,omitempty"`
	ShowPrices         *bool                `json:"showPrices,omitempty"`
	SignupDisabled     *bool                `json:"signupDisabled,omitempty"`
	SupportChatEnabled *bool                `json:"supportChatEnabled,omitempty"`
	SignupKeys         *[]string            `json:"signupKeys,omitempty"`
	Notifications      *NotificationsChange `json:"notifications,omitempty"`
}

// NotificationsChange has the notifications that change: those that are not nil.
type NotificationsChange struct {
	DocumentUploadedEmail     *bool `json:"documentUploadedEmail,omitempty"`
	FilingStatusEmail         *bool `json:"filingStatusEmail,omitempty"`
	AnnualReportReminderEmail *bool `json:"annualReportReminderEmail,omitempty"`
	PaymentCompletedEmail     *bool `json:"paymentCompletedEmail,omitempty"`
}

// UpdateOrganization changes the fields that are given, and no other. It may be
// sent again. Source: spec section 4, PATCH /organization.
func (c *Client) UpdateOrganization(ctx context.Context, change OrganizationChange) (Organization, error) {
	const op = "update organization"
	if change == (OrganizationChange{}) {
		err := errors.New("nothing to change")
		return Organization{}, &Error{Op: op, Message: err.Error(), kind: ErrRefused, cause: err}
	}
	return c.organization(op, c.do(ctx, http.MethodPatch, organizationPath, change))
}

func (c *Client) organization(op string, o outcome) (Organization, error) {
	var org *Organization
	if err := c.decodeInto(op, "", o, &org, func() bool { return org != nil }); err != nil {
		return Organization{}, err
	}
	return *org, nil
}
