package filingapi

import (
	"context"
	"encoding/json"
	"net/http"
)

// Endpoint is where the service delivers its events.
type Endpoint struct {
	ID     string // empty where the service tells none
	URL    string
	Secret string // signs the deliveries; the service tells it this once
	// Answer is the whole answer to the registration, on one line.
	Answer json.RawMessage
}

// The fields of an endpoint that are looked for, folded, the likelier first.
// Assumption: only that the secret is in the answer is shown.
var (
	endpointIDNames     = []string{"id", "endpointid", "webhookendpointid", "webhookid"}
	endpointSecretNames = []string{"signingsecret", "secret", "webhooksecret", "endpointsecret", "signingkey",
		"secretkey"}
)

// CreateEndpoint registers url for events of the types. The answer is the only
// one that ever holds the signing secret: an error that is ErrUncertain may have
// left an endpoint behind with an unknown secret, and the service shows no
// way to list or delete it. An endpoint without a secret in its answer is
// returned as it is, without an error: it is there.
// Source: spec section 4, POST /webhook-endpoints.
func (c *Client) CreateEndpoint(ctx context.Context, url string, eventTypes []string) (Endpoint, error) {
	body := struct {
		URL        string   `json:"url"`
		EventTypes []string `json:"eventTypes"`
	}{url, eventTypes}
	var object map[string]any
	o := c.do(ctx, http.MethodPost, "/webhook-endpoints", body)
	err := c.decodeInto("register the endpoint", url, o, &object, func() bool { return object != nil })
	if err != nil {
		return Endpoint{}, err
	}
	answer := o.parse()
	return Endpoint{
			ID:     findText(answer, endpointIDNames...),
			URL:    url,
			Secret: findText(answer, endpointSecretNames...),
			Answer: c.line(o),
		},
		nil
}
