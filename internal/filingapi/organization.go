package filingapi

import (
	"context"
	"net/http"
)

const organizationPath = "/organization"

// Organization is the caller's own record. Source: spec section 2, Organization.
type Organization struct {
	Name        string `json:"name"`
	Domain      string `json:"domain"`
	Subdomain   string `json:"subdomain"`
	BilledUsers string `json:"billedUsers"`
	CreatedAt   string `json:"createdAt"`
}

// Organization reads the organization that the key belongs to. It costs nothing
// and changes nothing, and so it also serves to ask whether the service is there.
func (c *Client) Organization(ctx context.Context) (Organization, error) {
	var org *Organization
	o := c.do(ctx, http.MethodGet, organizationPath, nil)
	err := c.read("read organization", "", o, &org, func() bool { return org != nil })
	if err != nil {
		return Organization{}, err
	}
	return *org, nil
}
