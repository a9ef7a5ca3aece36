package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/outbox"
)

// slackHost also accepts Slack's JSON at https://.
const slackHost = "hooks.slack.com"

// newWebhook returns a target that receives JSON by POST. A query parameter that begins with an @
// is a header: ?@Authorization=Bearer+…
func newWebhook(scheme string, u *url.URL) ([]*Target, error) {
	if u.Hostname() == "" {
		return nil, errors.New("a webhook needs a host")
	}
	transport, slack := strings.CutPrefix(scheme, "slack+")
	payload := webhookPayload
	if slack || (scheme == "https" && strings.EqualFold(u.Hostname(), slackHost)) {
		payload = slackPayload
	}
	address, query, header := *u, u.Query(), make(http.Header)
	for name, values := range u.Query() {
		if key, ok := strings.CutPrefix(name, "@"); ok {
			header.Set(key, values[0])
			delete(query, name)
		}
	}
	if u.User != nil {
		r := http.Request{Header: header}
		password, _ := u.User.Password()
		r.SetBasicAuth(u.User.Username(), password)
	}
	address.Scheme, address.User, address.RawQuery, address.Fragment = transport, nil, query.Encode(), ""
	return []*Target{{
		id:   idOf(u),
		name: nameOf(u),
		send: func(ctx context.Context, m outbox.Notification) error { return post(ctx, &address, header, payload(m)) },
	}}, nil
}

// webhookPayload returns a JSON object of strings.
func webhookPayload(m outbox.Notification) map[string]string {
	payload := map[string]string{"title": m.Subject, "message": m.Body, "kind": string(m.Kind)}
	if m.Batch != "" {
		payload["batch"] = m.Batch
	}
	return payload
}

// slackEscape keeps a name such as <!channel> from being a command.
var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func slackPayload(m outbox.Notification) map[string]string {
	return map[string]string{"text": slackEscape.Replace(m.Subject + "\n" + m.Body)}
}

// maxAnswer bounds how much of an answer is read to reuse the connection.
const maxAnswer = 64 << 10

// post sends a payload as JSON. It uses the transport directly. The errors of a client repeat the
// URL, and a client turns a redirected POST into a GET without a body.
func post(ctx context.Context, address *url.URL, header http.Header, payload map[string]string) error {
	body, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("write the message: %w", err)
	}
	req := (&http.Request{
		Method:        http.MethodPost,
		URL:           address,
		Host:          address.Host,
		Header:        header.Clone(),
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
	}).WithContext(ctx)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
	switch {
	case res.StatusCode < http.StatusMultipleChoices:
		return nil
	case res.StatusCode < http.StatusBadRequest:
		return fmt.Errorf("answered with HTTP %d, a redirect: use the address that it leads to", res.StatusCode)
	}
	return fmt.Errorf("answered with HTTP %d", res.StatusCode)
}
