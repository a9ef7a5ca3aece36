package filingapi

import (
	"bytes"
	"context"
	"encoding/json"
)

type bodyKey struct{}

// KeepBody returns a context under which a call also copies the whole body of a
// good answer, with the fields that a typed value leaves out. Of several calls the
// last one counts. The body is JSON on one line.
func KeepBody(ctx context.Context, body *json.RawMessage) context.Context {
	return context.WithValue(ctx, bodyKey{}, body)
}

// keepBody copies the body of a good answer to the caller that asked for it.
func (c *Client) keepBody(ctx context.Context, o outcome) {
	body, asked := ctx.Value(bodyKey{}).(*json.RawMessage)
	if !asked || o.status/100 != 2 {
		return
	}
	if line := c.line(o); line != nil {
		*body = line
	}
}

// line is the body of an answer as JSON on one line, without the key. It is nil if the
// body is not JSON.
func (c *Client) line(o outcome) json.RawMessage {
	var line bytes.Buffer
	if o.err != nil || o.bodyErr != nil || json.Compact(&line, o.body) != nil {
		return nil
	}
	return bytes.ReplaceAll(line.Bytes(), []byte(c.key), []byte("[key]"))
}
