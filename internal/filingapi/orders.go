package filingapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// PlaceOrder sends an order once. Every outcome is an answer, from which filing.Fold computes the
// state of the row.
//
// The context should not be canceled by Ctrl-C, because an order canceled after it was written is
// uncertain. The client's timeout ends the wait.
//
// Source: spec section 4, POST /orders.
func (c *Client) PlaceOrder(ctx context.Context, order *filing.Order) filing.Answer {
	return c.once(ctx, c.breaker.orders, func() filing.Answer {
		return c.orderAnswer(c.do(ctx, http.MethodPost, "/orders", order), order)
	})
}

// orderAnswer returns the answer to an order.
func (c *Client) orderAnswer(o outcome, order *filing.Order) filing.Answer {
	a := filing.Answer{Kind: o.boughtKind(), Status: o.status}
	switch a.Kind {
	case filing.Accepted:
		return c.readAccepted(o, a, order)
	case filing.Busy:
		a.RetryAfter = o.retryAfter()
	case filing.Refused:
		if o.status == http.StatusConflict && o.bodyErr != nil {
			// Nothing was ordered, but the name of the existing item was cut off. The order is sent
			// again as if it had never been sent.
			why, detail := c.describe(o.bodyErr, withinAnswer)
			a.Kind, a.Message, a.Detail = filing.NotSent, c.clean(
				"the filing service refused it ("+statusLine(o.status)+
					"), but "+why), detail
			return a
		}
		if has, ordered, ok := c.conflict(o, order); ok {
			a.Kind, a.Has, a.Ordered = filing.HasItem, has, ordered
		}
	}
	a.Message, a.Detail = c.message(o)
	return a
}

// readAccepted reads the items of a 2xx. One order ID proves that the order exists. Without an ID,
// or with another company than the order's, the outcome is unknown.
// Source: spec section 2, Create-order response. Assumption: the spec does not show that the listed
// items are all that was made.
func (c *Client) readAccepted(o outcome, a filing.Answer, order *filing.Order) filing.Answer {
	var made struct {
		CompanyID string        `json:"companyId"`
		Items     []filing.Item `json:"items"`
	}
	err := o.decode(&made)
	for _, item := range made.Items {
		if err != nil || item.OrderID == "" {
			continue
		}
		if want := order.CompanyID; want != "" && made.CompanyID != "" && made.CompanyID != want {
			a.Kind = filing.Unreadable
			a.Message = c.clean(
				fmt.Sprintf("the filing service answered for the company %s (%s), but the order was for %s",
					made.CompanyID, strings.Join(orderIDs(made.Items), ", "), want))
			return a
		}
		a.CompanyID, a.Items = made.CompanyID, made.Items
		return a
	}
	a.Kind = filing.Unreadable
	a.Message, a.Detail = c.unreadable(o, err, "order ids")
	return a
}

func orderIDs(items []filing.Item) []string {
	var ids []string
	for _, item := range items {
		if item.OrderID != "" {
			ids = append(ids, item.OrderID)
		}
	}
	return ids
}

// conflict returns the product of the order that a 409 names as existing. It ignores a product that
// is not in the order.
func (c *Client) conflict(o outcome, order *filing.Order) (has filing.Product, ordered, ok bool) {
	if o.status != http.StatusConflict {
		return "", false, false
	}
	text, _ := c.message(o)
	has, ordered, ok = filing.ConflictOf(text)
	return has, ordered, ok && slices.Contains(order.Products(), has)
}
