package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/bulkfiling/bulkfiling/internal/network"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

// mailbox is one recipient, and how to reach the mail server.
type mailbox struct {
	host     string
	from     string
	fromName string
	to       string
	password string
	options  []mail.Option
}

// mailAuth are the ways to sign in at a mail server, as the setting auth names
// them. By default the best one that the server offers is used.
var mailAuth = map[string]mail.SMTPAuthType{
	"": mail.SMTPAuthAutoDiscover, "unknown": mail.SMTPAuthAutoDiscover, "none": mail.SMTPAuthNoAuth,
	"plain": mail.SMTPAuthPlain, "login": mail.SMTPAuthLogin, "crammd5": mail.SMTPAuthCramMD5,
	"oauth2": mail.SMTPAuthXOAUTH2,
}

// relayAuth are the ways to sign in at a relay on this machine, which may have no
// TLS: nothing leaves the machine. To any other host a password goes by TLS only.
var relayAuth = []mail.SMTPAuthType{
	mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1, mail.SMTPAuthPlainNoEnc, mail.SMTPAuthLoginNoEnc,
}

// newMailboxes makes a target for each recipient of an smtp:// or smtps:// URL.
func newMailboxes(scheme string, u *url.URL) ([]*Target, error) {
	s := mailSettings{values: make(map[string]string)}
	for name, values := range u.Query() {
		s.values[strings.ToLower(name)] = values[0]
	}
	to := slices.Concat(recipients(s.take("to")), recipients(s.take("toaddresses")))
	box := mailbox{
		host:     u.Hostname(),
		from:     address(s.take("from", "fromaddress")),
		fromName: s.takeOr("Bulkfiling", "fromname"),
	}
	options, err := s.options(scheme, u)
	switch {
	case err != nil:
		return nil, err
	case box.host == "":
		return nil, errors.New("a mail server needs a host")
	case box.from == "":
		return nil, errors.New("the sender is missing: from=ADDRESS")
	case len(to) == 0:
		return nil, errors.New("the recipient is missing: to=ADDRESS")
	}
	if password, ok := u.User.Password(); ok || u.User.Username() != "" {
		box.password = password
	}
	box.options = options
	all := make([]*Target, len(to))
	for i, recipient := range to {
		all[i] = box.target(u, recipient)
	}
	return all, nil
}

// target makes the target of one recipient at the mail server of a URL.
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

// address undoes what a query makes of an address: a plus is a blank by then.
func address(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), " ", "+") }

func recipients(list string) []string {
	var all []string
	for _, one := range strings.FieldsFunc(address(list), func(r rune) bool { return r == ',' || r == ';' }) {
		all = append(all, strings.Trim(one, "+"))
	}
	return all
}

// mailSettings are the parameters of a mail server's URL that are not read yet.
type mailSettings struct{ values map[string]string }

// take reads a setting by any of its names.
func (s mailSettings) take(names ...string) string {
	value := ""
	for _, name := range names {
		if v, ok := s.values[name]; ok {
			value = v
			delete(s.values, name)
		}
	}
	return value
}

func (s mailSettings) takeOr(otherwise string, names ...string) string {
	if v := s.take(names...); v != "" {
		return v
	}
	return otherwise
}

// flag reads a setting that is yes or no.
func (s mailSettings) flag(otherwise bool, names ...string) (bool, error) {
	switch strings.ToLower(s.take(names...)) {
	case "":
		return otherwise, nil
	case "yes", "true", "1", "on":
		return true, nil
	case "no", "false", "0", "off":
		return false, nil
	}
	return false, fmt.Errorf("%s must be yes or no", names[0])
}

// options reads how to reach the mail server, and refuses what it does not know.
func (s mailSettings) options(scheme string, u *url.URL) ([]mail.Option, error) {
	startTLS, err1 := s.flag(true, "usestarttls", "starttls")
	required, err2 := s.flag(false, "requirestarttls")
	unverified, err3 := s.flag(false, "skiptlsverify")
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"smtp": "25", "smtps": "465"}[scheme]
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, errors.New("the port must be a number")
	}
	options := []mail.Option{
		mail.WithPort(number),
		mail.WithHELO(s.takeOr("localhost", "clienthost")),
		mail.WithTLSConfig(&tls.Config{
			ServerName:         u.Hostname(),
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: unverified, //nolint:gosec // the operator asks for it
		}),
	}
	switch encryption := strings.ToLower(s.take("encryption")); {
	case scheme == "smtps", encryption == "implicittls", (encryption == "" || encryption == "auto") && number == 465:
		options = append(options, mail.WithSSL())
	case encryption == "none" || !startTLS:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	case encryption != "" && encryption != "auto" && encryption != "explicittls":
		return nil, errors.New("encryption must be Auto, None, ExplicitTLS, or ImplicitTLS")
	case required:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSOpportunistic))
	}
	auth, known := mailAuth[strings.ToLower(s.take("auth"))]
	if !known {
		return nil, errors.New("auth must be Plain, Login, CRAMMD5, OAuth2, or None")
	}
	if user := u.User.Username(); user != "" {
		password, _ := u.User.Password()
		options = append(options, mail.WithSMTPAuth(auth), mail.WithUsername(user), mail.WithPassword(password))
		if auth == mail.SMTPAuthAutoDiscover && network.IsLoopback(u.Hostname()) {
			options = append(options, mail.WithOpportunisticSMTPAuth(relayAuth...))
		}
	}
	s.take("subject", "title", "usehtml", "timeout") // given by each message, or by Send
	if len(s.values) > 0 {
		return nil, fmt.Errorf("unknown settings: %s", text.List(slices.Sorted(maps.Keys(s.values))))
	}
	return options, nil
}

const (
	mailTimeout = 10 * time.Second // for each step with a mail server
	mailSteps   = 3                // the connection, the greeting with its sign-in, the message
	maxFailure  = 300              // characters that a server's answer may add to a log
)

// send sends a message to the mailbox.
func (b *mailbox) send(ctx context.Context, m Message) error {
	err := b.deliver(ctx, m)
	if err == nil {
		return nil
	}
	said := err.Error()
	if b.password != "" { // a server may repeat it
		said = strings.ReplaceAll(said, b.password, "…")
	}
	return errors.New(short(said, maxFailure))
}

func (b *mailbox) deliver(ctx context.Context, m Message) error {
	letter := mail.NewMsg()
	if err := letter.FromFormat(b.fromName, b.from); err != nil {
		return errors.New("the sender is not an email address")
	}
	if err := letter.To(b.to); err != nil {
		return errors.New("the recipient is not an email address")
	}
	letter.Subject(oneLine(m.Subject))
	letter.SetBodyString(mail.TypeTextPlain, m.Body+"\n")
	timeout := mailTimeout
	if end, ok := ctx.Deadline(); ok { // the client renews its deadline at each step
		timeout = max(min(timeout, time.Until(end)/mailSteps), time.Millisecond)
	}
	client, err := mail.NewClient(b.host, append(slices.Clone(b.options), mail.WithTimeout(timeout))...)
	if err != nil {
		return err
	}
	return client.DialAndSendWithContext(ctx, letter)
}
