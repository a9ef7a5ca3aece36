package filingapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// Prices reads the part of the price list that orders are billed by. Amounts are the decimal text
// of the answer, so that 103.75 never becomes a float. A missing amount is empty.
// Source: spec section 4, GET /organization/prices; section 2, Price.
func (c *Client) Prices(ctx context.Context) ([]filing.Price, error) {
	var list struct {
		Prices []struct {
			Type            string          `json:"type"`
			Name            string          `json:"name"`
			WholesaleAmount json.RawMessage `json:"wholesaleAmount"`
			Enabled         bool            `json:"enabled"`
		} `json:"prices"`
	}
	o := c.do(ctx, http.MethodGet, organizationPath+"/prices", nil)
	err := c.decodeInto("read prices", "", o, &list, func() bool { return list.Prices != nil })
	if err != nil {
		return nil, err
	}
	prices := make([]filing.Price, len(list.Prices))
	for i, p := range list.Prices {
		prices[i] = filing.Price{
			Type:            p.Type,
			Name:            p.Name,
			WholesaleAmount: decimal(p.WholesaleAmount),
			Enabled:         p.Enabled,
		}
	}
	return prices, nil
}

// decimal returns the text of a JSON number or of a string. Any other value is empty.
func decimal(raw json.RawMessage) string {
	var n json.Number
	if json.Unmarshal(raw, &n) != nil {
		return ""
	}
	return n.String()
}
