package filingapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

const pricesPath = organizationPath + "/prices"

// Price is a line of the organization's price list, whole. Amounts are the
// decimal text that stood in the answer, so that 103.75 is never a float; one
// that is missing is empty. Source: spec section 2, Price.
type Price struct {
	filing.Price
	Description   string
	DefaultAmount string // the default retail price
	RetailAmount  string // the organization's own; empty where none is set
}

// priceWire is a price as it is encoded.
type priceWire struct {
	Type            string          `json:"type"`
	Name            string          `json:"name"`
	Description     string          `json:"description"`
	DefaultAmount   json.RawMessage `json:"defaultAmount"` // as written: no float comes near it
	RetailAmount    json.RawMessage `json:"retailAmount"`
	WholesaleAmount json.RawMessage `json:"wholesaleAmount"`
	Enabled         bool            `json:"enabled"`
}

func (p priceWire) price() Price {
	return Price{
		Price: filing.Price{
			Type:            p.Type,
			Name:            p.Name,
			WholesaleAmount: decimal(p.WholesaleAmount),
			Enabled:         p.Enabled,
		},
		Description:   p.Description,
		DefaultAmount: decimal(p.DefaultAmount),
		RetailAmount:  decimal(p.RetailAmount),
	}
}

// PriceList reads the organization's price list.
// Source: spec section 4, GET /organization/prices.
func (c *Client) PriceList(ctx context.Context) ([]Price, error) {
	var list struct {
		Prices []priceWire `json:"prices"`
	}
	o := c.do(ctx, http.MethodGet, pricesPath, nil)
	err := c.decodeInto("read prices", "", o, &list, func() bool { return list.Prices != nil })
	if err != nil {
		return nil, err
	}
	prices := make([]Price, len(list.Prices))
	for i, p := range list.Prices {
		prices[i] = p.price()
	}
	return prices, nil
}

// Prices reads the part of the price list that orders are billed by.
func (c *Client) Prices(ctx context.Context) ([]filing.Price, error) {
	list, err := c.PriceList(ctx)
	if err != nil {
		return nil, err
	}
	prices := make([]filing.Price, len(list))
	for i, p := range list {
		prices[i] = p.Price
	}
	return prices, nil
}

// PriceChange is what SetPrice sends: the fields that are given.
type PriceChange struct {
	RetailAmount json.Number `json:"retailAmount,omitempty"` // decimal dollars
	Enabled      *bool       `json:"enabled,omitempty"`      // false: for formation tiers alone
}

// SetPrice sets the retail price of a type of the price list, or puts a
// formation tier on sale and takes it off. A FloorError says that the price is
// below what the organization pays itself.
//
// Source: spec section 4, Set price rules. Assumption: the path is not shown
// (Config.SetPricePath), nor is the answer: any 2xx is success.
func (c *Client) SetPrice(ctx context.Context, priceType string, change PriceChange) error {
	const op = "set the price of"
	id, err := segment(priceType)
	if err == nil && change == (PriceChange{}) {
		err = errors.New("nothing to change")
	}
	if err != nil {
		return &Error{
			Op:      op,
			ID:      priceType,
			Message: err.Error(),
			kind:    ErrRefused,
			cause:   err,
		}
	}
	path := strings.ReplaceAll(c.setPricePath, typePlace, id)
	return c.errorOf(op, priceType, c.do(ctx, http.MethodPut, path, change))
}

// typePlace is replaced by a price's type in the path of set price.
const typePlace = "{type}"

// defaultSetPricePath is the place of a line of the list. Assumption: the path
// is not shown.
const defaultSetPricePath = pricesPath + "/" + typePlace

func checkSetPricePath(path string) (string, error) {
	if path == "" {
		return defaultSetPricePath, nil
	}
	u, err := url.Parse(strings.ReplaceAll(path, typePlace, "ein"))
	if err != nil || !strings.HasPrefix(path, "/") || u.Host != "" || u.RawQuery != "" || u.Fragment != "" ||
		!strings.Contains(path, typePlace) {
		return "", fmt.Errorf("FILING_SET_PRICE_PATH is a path below /v1 that holds %s, such as %s; not %q", typePlace,
			defaultSetPricePath, path)
	}
	return path, nil
}

// decimal is a JSON number's text, also where it is a string; anything else is
// empty.
func decimal(raw json.RawMessage) string {
	var n json.Number
	if json.Unmarshal(raw, &n) != nil {
		return ""
	}
	return n.String()
}
