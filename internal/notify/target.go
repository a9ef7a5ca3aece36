package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/outbox"
)

// Target is a destination of notifications: a webhook, a Slack channel, or a mailbox.
type Target struct {
	// id is the same in every process. It reveals no secret of the URL.
	id string
	// name is the public name: the scheme and, unless it contains a secret, the host.
	name string
	send func(context.Context, outbox.Notification) error
	// mailTo returns the same mail server for another mailbox. It is nil unless the target is a
	// mailbox.
	mailTo func(recipient string) *Target
}

// String returns the name of the target without its secrets.
func (t *Target) String() string { return t.name }

// GoString keeps the secrets out of %#v.
func (t *Target) GoString() string { return t.name }

// ErrTarget is returned for a text that does not describe a target completely.
var ErrTarget = errors.New("not a target of notifications")

// Send sends a message. It waits for the answer no longer than the context allows. Its errors
// contain no part of the target's URL except the host.
func (t *Target) Send(ctx context.Context, m outbox.Notification) error { return t.send(ctx, m) }

// beginning finds the starts of URLs in a list: at its start, after a comma or a blank. A comma
// within a URL, as between two recipients, does not end it.
var beginning = regexp.MustCompile(`(?:^|[\s,])([A-Za-z][A-Za-z0-9+.-]*://)`)

// ParseTargets parses the URLs of targets, separated by commas or line ends:
//
//	https://host/path                     a JSON object by POST: title, message, kind, batch
//	https://hooks.slack.com/services/…    Slack, as is slack+https://host/path for a compatible service
//	smtp://user:password@host:587/?from=A&to=B,C   smtps:// for TLS from the first byte
//
// An smtp:// URL with skiptlsverify=yes accepts any certificate.
//
// It returns ErrTarget, which names the target without its secrets.
func ParseTargets(text string) ([]*Target, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	at := beginning.FindAllStringSubmatchIndex(text, -1)
	if len(at) == 0 || at[0][2] != 0 {
		return nil, fmt.Errorf("%w: the first one does not begin with a scheme such as https:// or smtp://", ErrTarget)
	}
	var all []*Target
	for i, begin := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][2]
		}
		u, err := url.Parse(strings.Trim(text[begin[2]:end], ", \t\r\n"))
		if err != nil {
			// The text of this error repeats the URL.
			return nil, fmt.Errorf(
				"%w: number %d cannot be read as a URL; encode what is special in its password (@ is %%40)",
				ErrTarget, i+1)
		}
		targets, err := newTargets(u)
		if err != nil {
			return nil, fmt.Errorf("%w: number %d, %s: %w", ErrTarget, i+1, nameOf(u), err)
		}
		for _, t := range targets {
			if !slices.ContainsFunc(all, func(o *Target) bool { return o.id == t.id }) {
				all = append(all, t)
			}
		}
	}
	return all, nil
}

// newTargets returns the targets of one URL. Each mailbox is a separate target, so that the others
// do not receive a message twice if one is refused.
func newTargets(u *url.URL) ([]*Target, error) {
	switch scheme := strings.ToLower(u.Scheme); scheme {
	case "https", "http", "slack+https", "slack+http":
		return newWebhook(scheme, u)
	case "smtp", "smtps":
		return newMailboxes(scheme, u)
	}
	return nil, errors.New("this scheme is not supported: use https://, http://, slack+https://, " +
		"slack+http://, smtp://, or smtps://")
}

// nameOf names a target by its scheme and its host. For other schemes it omits the host, which may
// be a token.
func nameOf(u *url.URL) string {
	switch scheme := strings.ToLower(u.Scheme); scheme {
	case "https", "http", "slack+https", "slack+http", "smtp", "smtps":
		return scheme + "://" + u.Host
	default:
		return scheme
	}
}

// idOf identifies a target by its URL without the password. A weak password could be guessed from a
// hash, and a password does not distinguish two targets.
func idOf(u *url.URL) string {
	plain := *u
	if _, secret := u.User.Password(); secret {
		plain.User = url.User(u.User.Username())
	}
	sum := sha256.Sum256([]byte(plain.String()))
	return hex.EncodeToString(sum[:8])
}

// mailServer returns the first mail server among targets, or nil.
func mailServer(targets []*Target) *Target {
	for _, t := range targets {
		if t.mailTo != nil {
			return t
		}
	}
	return nil
}
