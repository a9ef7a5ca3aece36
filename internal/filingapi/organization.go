package filingapi

import (
	"context"
	"net/http"
)

const organizationPath = "/organization"

// Organization has the fields that are read of the caller's organization.
// Source: spec section 2, Organization.
type Organization struct {
	Name      string `json:"name"`
	Domain    string `json:"domain"`
	Subdomain string `json:"subdomain"`
	// CreatedAt is in ISO 8601.
	CreatedAt string `json:"createdAt"`
}

// Organization reads the organization that the key belongs to. The request costs nothing and
// changes nothing, so it also serves as a health check.
func (c *Client) Organization(ctx context.Context) (Organization, error) {
	o := c.do(ctx, http.MethodGet, organizationPath, nil)
	var org *Organization
	if err := c.decodeInto("read organization", "", o, &org, func() bool { return org != nil }); err != nil {
		return Organization{}, err
	}
	return *org, nil
}
