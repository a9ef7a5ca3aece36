package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"bulkfiling/internal/ledger"
)

// Message is what a target is given.
type Message struct {
	Kind    ledger.NotificationKind
	Batch   string // "" where it concerns everybody
	Subject string
	Body    string // plain text
}

// Target is where messages go: a webhook, a Slack channel, a mailbox, or any
// other service that github.com/nicholas-fedor/shoutrrr knows by its URL.
type Target struct {
	id   string // the same in every process; tells nothing of the secrets in its URL
	name string // what may be shown: the scheme and, where no secret stands in it, the host
	send func(Message) error
	hide *strings.Replacer // takes the URL's secrets out of what the library says
	busy chan struct{}     // holds one while a message is under way
}

// String names the target without its secrets.
func (t *Target) String() string { return t.name }

// GoString keeps the secrets out of %#v.
func (t *Target) GoString() string { return t.name }

// Errors by name.
var (
	// ErrTarget is returned for a text that names no target, or not well enough.
	ErrTarget = errors.New("not a target of notifications")
	// ErrBusy is returned while an earlier message to the same target is not
	// through: the library knows no end of its own to a wait for an answer.
	ErrBusy = errors.New("the message before it is still under way")
)

// Send sends a message, and waits for the answer no longer than the context
// allows. Its errors hold nothing of the target's URL but the host.
func (t *Target) Send(ctx context.Context, m Message) error {
	select {
	case t.busy <- struct{}{}:
	default:
		return ErrBusy
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-t.busy }()
		done <- t.send(m)
	}()
	select {
	case err := <-done:
		return t.redact(err)
	case <-ctx.Done():
		return fmt.Errorf("no answer: %w", ctx.Err())
	}
}

var anyURL = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"']+`)

// maxFailure bounds what a target's answer may add to a log.
const maxFailure = 300

// redact makes an error anew from its text, without URLs and without the parts
// of this one's: the library repeats them.
func (t *Target) redact(err error) error {
	if err == nil {
		return nil
	}
	text := anyURL.ReplaceAllString(err.Error(), "…")
	return errors.New(short(t.hide.Replace(text), maxFailure))
}

// beginning finds where URLs begin in a list: at its start, after a comma or a
// blank. The commas within a URL, as between two recipients, end none.
var beginning = regexp.MustCompile(`(?:^|[\s,])([A-Za-z][A-Za-z0-9+.-]*://)`)

// ParseTargets reads the URLs of targets, separated by commas or line ends:
//
//	https://host/path                     a JSON object by POST: title, message, kind, batch
//	https://hooks.slack.com/services/…    Slack, as is slack+https://host/path for what speaks like it
//	smtp://user:password@host:587/?from=A&to=B,C   smtps:// for TLS from the first byte
//
// and every other URL of the library. It returns ErrTarget, saying which target
// it is and nothing of its secrets.
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
			// Its text repeats the URL.
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

// form is how a scheme of ours, or the library's, is spoken.
type form struct {
	service string                                // the library's scheme; "" as it is
	query   map[string]string                     // the library's settings
	write   func(Message) (string, *types.Params) // text and parameters; nil for plainForm
}

var forms = map[string]form{
	"https": {service: "generic", query: map[string]string{"template": "json"}, write: jsonForm},
	"http": {
		service: "generic",
		query:   map[string]string{"template": "json", "disabletls": "yes"},
		write:   jsonForm,
	},
	"slack+https": {
		service: "generic",
		query:   map[string]string{"template": "json", "messagekey": "text"},
		write:   slackForm,
	},
	"slack+http": {
		service: "generic",
		query:   map[string]string{"template": "json", "messagekey": "text", "disabletls": "yes"},
		write:   slackForm,
	},
	"slack": {write: slackTitleForm},
	"smtp":  {write: mailForm},
	"smtps": {service: "smtp", query: map[string]string{"encryption": "ImplicitTLS"}, write: mailForm},
}

// slackHost takes Slack's own kind of JSON at https:// too.
const slackHost = "hooks.slack.com"

// settings are the library's names within the query of a generic webhook; as a
// webhook's own they are escaped.
var settings = []string{"contenttype", "disabletls", "messagekey", "method", "template", "title", "titlekey"}

// newTargets makes the targets of one URL: a mailbox each, so that one that is
// refused does not make the others be told twice.
func newTargets(u *url.URL) ([]*Target, error) {
	scheme := strings.ToLower(u.Scheme)
	if scheme == "https" && strings.EqualFold(u.Hostname(), slackHost) {
		scheme = "slack+https"
	}
	f := forms[scheme]
	if f.write == nil {
		f.write = plainForm
	}
	service, query := *u, u.Query()
	if f.service != "" {
		service.Scheme = f.service
	}
	switch {
	case service.Host == "" && f.service == "generic":
		return nil, errors.New("a webhook needs a host")
	case f.service == "generic":
		for _, name := range slices.Collect(maps.Keys(query)) {
			if slices.Contains(settings, name) {
				query["__"+name] = query[name]
				delete(query, name)
			}
		}
	case scheme == "smtps" && service.Port() == "":
		service.Host += ":465"
	}
	for name, value := range f.query {
		query.Set(name, value)
	}
	if strings.HasPrefix(scheme, "smtp") && !query.Has("fromname") {
		query.Set("fromname", "Bulkfiling")
	}
	var all []*Target
	for _, one := range eachRecipient(scheme, query) {
		service := service
		service.RawQuery = one.Encode()
		if _, err := open(&service); err != nil {
			return nil, errors.New(short(hidden(&service).Replace(anyURL.ReplaceAllString(err.Error(), "…")),
				maxFailure))
		}
		t := &Target{id: idOf(&service), name: nameOf(u), hide: hidden(&service), busy: make(chan struct{}, 1)}
		if len(one["to"]) > 0 && strings.HasPrefix(scheme, "smtp") {
			t.name += " to " + one.Get("to")
		}
		t.send = func(m Message) error {
			s, err := open(&service) // anew: some keep what a message gave them
			if err != nil {
				return err
			}
			text, params := f.write(m)
			return s.Send(text, params)
		}
		all = append(all, t)
	}
	return all, nil
}

// eachRecipient is a query per recipient of mail, and the query for the rest.
func eachRecipient(scheme string, query url.Values) []url.Values {
	if !strings.HasPrefix(scheme, "smtp") {
		return []url.Values{query}
	}
	var to []string
	for _, name := range slices.Sorted(maps.Keys(query)) {
		// A plus in an address is a blank by the time that it comes here.
		switch address := strings.ReplaceAll(strings.TrimSpace(query.Get(name)), " ", "+"); strings.ToLower(name) {
		case "from", "fromaddress":
			query.Set(name, address)
		case "to", "toaddresses":
			to = append(to, strings.FieldsFunc(address, func(r rune) bool { return r == ',' || r == ';' })...)
			delete(query, name)
		}
	}
	if len(to) == 0 {
		return []url.Values{query} // the library says what is missing
	}
	var all []url.Values
	for _, recipient := range to {
		one := maps.Clone(query)
		one.Set("to", strings.Trim(recipient, "+"))
		all = append(all, one)
	}
	return all
}

// open makes the library's service of a URL.
func open(u *url.URL) (types.Service, error) {
	scheme, _, custom := strings.Cut(u.Scheme, "+")
	s, err := new(router.ServiceRouter).NewService(scheme)
	if err != nil {
		return nil, errors.New("no service has this scheme")
	}
	if custom {
		c, ok := s.(types.CustomURLService)
		if !ok {
			return nil, errors.New("no service has this scheme")
		}
		if u, err = c.GetConfigURLFromCustom(u); err != nil {
			return nil, err
		}
	}
	if err := s.Initialize(u, nil); err != nil {
		return nil, err
	}
	return s, nil
}

// hostShown are the schemes whose host is one; elsewhere a token may stand there.
var hostShown = []string{"http", "https", "slack+http", "slack+https", "smtp", "smtps", "generic", "generic+http",
	"generic+https"}

func nameOf(u *url.URL) string {
	scheme := strings.ToLower(u.Scheme)
	if slices.Contains(hostShown, scheme) {
		return scheme + "://" + u.Host
	}
	return scheme
}

// idOf names a target by its URL. A password is left out: it may be weak enough
// to be guessed from a hash, and is not what tells two targets apart.
func idOf(u *url.URL) string {
	plain := *u
	if _, secret := u.User.Password(); secret {
		plain.User = url.User(u.User.Username())
	}
	sum := sha256.Sum256([]byte(plain.String()))
	return hex.EncodeToString(sum[:8])
}

var words = regexp.MustCompile(`[^/:,;&=@?\s-]{6,}`)

// hidden replaces whatever may be a secret of a URL, in the ways in which it
// may be written: its user and password, the longer words of its path and its
// query but for addresses, and the host where it may be a token.
func hidden(u *url.URL) *strings.Replacer {
	var secrets []string
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, password)
		if name := u.User.Username(); len(name) >= 4 {
			secrets = append(secrets, name)
		}
	}
	texts := []string{u.User.String(), u.Path, u.EscapedPath()}
	if !slices.Contains(hostShown, u.Scheme) {
		texts = append(texts, u.Host)
	}
	for name, values := range u.Query() {
		if name = strings.ToLower(name); name != "to" && name != "from" && name != "fromaddress" {
			texts = append(texts, values...)
		}
	}
	for _, text := range texts {
		secrets = append(secrets, words.FindAllString(text, -1)...)
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // the whole before its parts
	var pairs []string
	for _, secret := range secrets {
		if secret != "" {
			pairs = append(pairs, secret, "…", url.QueryEscape(secret), "…", url.PathEscape(secret), "…")
		}
	}
	return strings.NewReplacer(pairs...)
}

// jsonForm is the webhook's: a JSON object of texts.
func jsonForm(m Message) (string, *types.Params) {
	params := types.Params{"title": m.Subject, "kind": string(m.Kind)}
	if m.Batch != "" {
		params["batch"] = m.Batch
	}
	return m.Body, &params
}

// slackEscape keeps a name such as <!channel> from being a command.
var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func slackForm(m Message) (string, *types.Params) {
	return slackEscape.Replace(m.Subject + "\n" + m.Body), nil
}

func slackTitleForm(m Message) (string, *types.Params) {
	return slackEscape.Replace(m.Body), &types.Params{"title": slackEscape.Replace(m.Subject)}
}

// mailForm encodes the subject: the library writes it into the header as it is.
func mailForm(m Message) (string, *types.Params) {
	return m.Body + "\n", &types.Params{"title": mime.QEncoding.Encode("utf-8", oneLine(m.Subject))}
}

func plainForm(m Message) (string, *types.Params) { return m.Subject + "\n" + m.Body, nil }
