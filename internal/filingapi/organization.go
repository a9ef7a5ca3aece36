package filingapi

import (
	"context"
	"net/http"
)

const organizationPath = "/organization"

// Organization is what is read of the caller's own record. Source: spec section 2, Organization.
type Organization struct {
	Name      string `json:"name"`
	Domain    string `json:"domain"`
	Subdomain string `json:"subdomain"`
	CreatedAt string `json:"createdAt"` // ISO 8601
}

// Organization reads the organization that the key belongs to. It costs nothing
// and changes nothing, so it also serves to ask whether the service answers.
func (c *Client) Organization(ctx context.Context) (Organization, error) {
	o := c.do(ctx, http.MethodGet, organizationPath, nil)
	var org *Organization
	if err := c.decodeInto("read organization", "", o, &org, func() bool { return org != nil }); err != nil {
		return Organization{}, err
	}
	return *org, nil
}
