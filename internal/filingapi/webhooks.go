package filingapi

import (
	"context"
	"encoding/json"
	"net/http"
)

// Endpoint is an address to which the service delivers its events.
type Endpoint struct {
	// ID is empty if the service does not return one.
	ID  string
	URL string
	// Secret signs the deliveries. The service returns it only once.
	Secret string
	// Answer is the whole answer to the registration, on one line.
	Answer json.RawMessage
}

// The possible fields of an endpoint, folded and sorted by likelihood.
// Assumption: the spec shows only that the answer has the secret.
var (
	endpointIDNames     = []string{"id", "endpointid", "webhookendpointid", "webhookid"}
	endpointSecretNames = []string{"signingsecret", "secret", "webhooksecret", "endpointsecret", "signingkey",
		"secretkey"}
)

// CreateEndpoint registers url for events of the types. Its answer is the only one with the signing
// secret. An error that is ErrUncertain may leave an endpoint with an unknown secret, and the
// service shows no way to list or delete it. CreateEndpoint returns an endpoint without a secret,
// and no error, if the answer has none, because the endpoint exists.
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
