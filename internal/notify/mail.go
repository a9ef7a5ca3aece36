package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/bulkfiling/bulkfiling/internal/network"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
)

// mailbox is one recipient, with the connection to the mail server.
type mailbox struct {
	host     string
	from     string
	to       string
	password string
	options  []mail.Option
}

// relayAuth are the ways to sign in at a relay on this machine, which may have no TLS. The password
// does not leave the machine. To any other host a password is sent only over TLS.
var relayAuth = []mail.SMTPAuthType{
	mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1, mail.SMTPAuthPlainNoEnc, mail.SMTPAuthLoginNoEnc,
}

// newMailboxes returns a target for each recipient of an smtp:// or smtps:// URL.
func newMailboxes(scheme string, u *url.URL) ([]*Target, error) {
	query := u.Query()
	to := recipients(query.Get("to"))
	box := mailbox{host: u.Hostname(), from: address(query.Get("from"))}
	box.password, _ = u.User.Password()
	for name := range query {
		if !slices.Contains([]string{"from", "to", "skiptlsverify"}, name) {
			return nil, fmt.Errorf("unknown setting: %s", name)
		}
	}
	switch {
	case box.host == "":
		return nil, errors.New("a mail server needs a host")
	case box.from == "":
		return nil, errors.New("the sender is missing: from=ADDRESS")
	case len(to) == 0:
		return nil, errors.New("the recipient is missing: to=ADDRESS")
	}
	var err error
	if box.options, err = mailOptions(scheme, u); err != nil {
		return nil, err
	}
	all := make([]*Target, len(to))
	for i, recipient := range to {
		all[i] = box.target(u, recipient)
	}
	return all, nil
}

// target returns the target of one recipient at the mail server of a URL.
func (b mailbox) target(u *url.URL, recipient string) *Target {
	b.to = recipient
	one := *u
	one.RawQuery = url.Values{"from": {b.from}, "to": {recipient}}.Encode()
	return &Target{
		id:     idOf(&one),
		name:   nameOf(u) + " to " + recipient,
		send:   b.send,
		mailTo: func(other string) *Target { return b.target(u, other) },
	}
}

// address restores an address from a query, which has a blank in place of a plus.
func address(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), " ", "+") }

func recipients(list string) []string {
	var all []string
	for _, one := range strings.FieldsFunc(address(list), func(r rune) bool { return r == ',' || r == ';' }) {
		all = append(all, strings.Trim(one, "+"))
	}
	return all
}

// mailOptions returns the options of a connection to a mail server. smtps uses TLS from the first
// byte, and smtp as soon as the server offers it.
func mailOptions(scheme string, u *url.URL) ([]mail.Option, error) {
	number, err := strconv.Atoi(cmp.Or(u.Port(), map[string]string{"smtp": "25", "smtps": "465"}[scheme]))
	if err != nil {
		return nil, errors.New("the port must be a number")
	}
	options := []mail.Option{
		mail.WithPort(number),
		mail.WithHELO("localhost"),
		mail.WithTLSConfig(&tls.Config{
			ServerName:         u.Hostname(),
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: u.Query().Get("skiptlsverify") == "yes", //nolint:gosec // the operator asks for it
		}),
	}
	if scheme == "smtps" || number == 465 {
		options = append(options, mail.WithSSL())
	} else {
		options = append(options, mail.WithTLSPolicy(mail.TLSOpportunistic))
	}
	if user := u.User.Username(); user != "" {
		password, _ := u.User.Password()
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(user),
			mail.WithPassword(password))
		if network.IsLoopback(u.Hostname()) {
			options = append(options, mail.WithOpportunisticSMTPAuth(relayAuth...))
		}
	}
	return options, nil
}

const (
	// mailTimeout is the timeout of each step with a mail server.
	mailTimeout = 10 * time.Second
	// mailSteps counts the steps: the connection, the greeting with its sign-in, and the message.
	mailSteps = 3
	// maxFailure is the number of characters that a server's answer may add to a log.
	maxFailure = 300
)

// send sends a message to the mailbox.
func (b *mailbox) send(ctx context.Context, m outbox.Notification) error {
	err := b.deliver(ctx, m)
	if err == nil {
		return nil
	}
	said := err.Error()
	// A server may repeat the password.
	if b.password != "" {
		said = strings.ReplaceAll(said, b.password, "…")
	}
	return errors.New(short(said, maxFailure))
}

func (b *mailbox) deliver(ctx context.Context, m outbox.Notification) error {
	letter := mail.NewMsg()
	if err := letter.FromFormat("Bulkfiling", b.from); err != nil {
		return errors.New("the sender is not an email address")
	}
	if err := letter.To(b.to); err != nil {
		return errors.New("the recipient is not an email address")
	}
	letter.Subject(oneLine(m.Subject))
	letter.SetBodyString(mail.TypeTextPlain, m.Body+"\n")
	timeout := mailTimeout
	// The client renews its deadline at each step.
	if end, ok := ctx.Deadline(); ok {
		timeout = max(min(timeout, time.Until(end)/mailSteps), time.Millisecond)
	}
	client, err := mail.NewClient(b.host, append(slices.Clone(b.options), mail.WithTimeout(timeout))...)
	if err != nil {
		return err
	}
	return client.DialAndSendWithContext(ctx, letter)
}
