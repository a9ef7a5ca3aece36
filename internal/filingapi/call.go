package filingapi

import (
	"bytes"
	"context"
	"encoding/json"
)

// Call sends a request to any endpoint once and returns the body of the answer. A status other than
// 2xx is an error, but Call returns its body too. The body is nil if it is not JSON. Use PlaceOrder
// and CreateCompany to buy orders and companies.
func (c *Client) Call(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	o := c.do(ctx, method, path, body)
	return c.line(o), c.errorOf(method, path, o)
}

// line returns the body of an answer as JSON on one line, without the key. It is nil if the body is
// not JSON.
func (c *Client) line(o outcome) json.RawMessage {
	var line bytes.Buffer
	if o.err != nil || o.bodyErr != nil || json.Compact(&line, o.body) != nil {
		return nil
	}
	return bytes.ReplaceAll(line.Bytes(), []byte(c.key), []byte("[key]"))
}
