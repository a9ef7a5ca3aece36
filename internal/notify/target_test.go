package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/bulkfiling/bulkfiling/internal/outbox"
)

// receiver is a webhook that keeps what it is sent.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
	status   int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusOK}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests, r.bodies = append(r.requests, req), append(r.bodies, string(body))
		w.WriteHeader(r.status)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.bodies)
}

// object is the JSON object that came last.
func (r *receiver) object(t *testing.T) (got map[string]string) {
	t.Helper()
	bodies := r.got()
	if err := json.Unmarshal([]byte(bodies[len(bodies)-1]), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// one parses a text that names one target.
func one(t *testing.T, text string) *Target {
	t.Helper()
	targets, err := ParseTargets(text)
	if err != nil || len(targets) != 1 {
		t.Fatalf("%v, %v", targets, err)
	}
	return targets[0]
}

var sample = outbox.Notification{
	Kind:    outbox.KindBatch,
	Batch:   "b7k2",
	Subject: "Bulkfiling: café has ended",
	Body:    "Batch b7k2: 3 placed.\nSpent: $1.00, <!channel> & more.",
}

// What a webhook is sent, by the form of its address.
func TestWebhooks(t *testing.T) {
	r := newReceiver(t)
	host := strings.TrimPrefix(r.URL, "http://")
	object := map[string]string{"title": sample.Subject, "message": sample.Body, "kind": "batch", "batch": "b7k2"}
	slack := map[string]string{"text": "Bulkfiling: café has ended\nBatch b7k2: 3 placed.\nSpent: $1.00, " +
		"&lt;!channel&gt; &amp; more."}
	for address, want := range map[string]struct {
		path, query, auth string
		body              map[string]string
	}{
		r.URL + "/hook?title=theirs&token=abc":  {"/hook", "title=theirs&token=abc", "", object},
		r.URL + "/?%40Authorization=Bearer+abc": {"/", "", "Bearer abc", object},
		"http://user:pass@" + host + "/":        {"/", "", "Basic dXNlcjpwYXNz", object},
		"slack+" + r.URL + "/services/T/B/x":    {"/services/T/B/x", "", "", slack},
	} {
		if err := one(t, address).Send(t.Context(), sample); err != nil {
			t.Fatal(err)
		}
		req := r.requests[len(r.requests)-1]
		if req.Method != http.MethodPost || req.Header.Get("Content-Type") != "application/json" ||
			req.URL.Path != want.path || req.URL.RawQuery != want.query ||
			req.Header.Get("Authorization") != want.auth {
			t.Errorf("%s: %s %s %v", address, req.Method, req.URL, req.Header)
		}
		if got := r.object(t); !maps.Equal(got, want.body) {
			t.Errorf("%s: got %v, want %v", address, got, want.body)
		}
	}
	// A redirected POST would arrive as a GET without its body: it is no success either.
	for _, status := range []int{http.StatusTeapot, http.StatusFound} {
		r.answer(status)
		if err := one(t, r.URL).Send(t.Context(), sample); err == nil ||
			!strings.Contains(err.Error(), fmt.Sprint("HTTP ", status)) {
			t.Errorf("%v", err)
		}
	}
}

// transport answers for hosts that are not there.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestSlacksOwnAddresses(t *testing.T) {
	before := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = before })
	const address = "https://hooks.slack.com/services/T00000000/B00000000/xxxxxxxxxxxxxxxxxxxxxxxx"
	var got map[string]string
	http.DefaultTransport = transport(func(r *http.Request) (*http.Response, error) {
		err := json.NewDecoder(r.Body).Decode(&got)
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, err
	})
	if err := one(t, address).Send(t.Context(), sample); err != nil || got["text"] == "" {
		t.Errorf("got %q, %v", got, err)
	}
}

// postbox is a mail server that keeps what it is sent.
type postbox struct {
	mu    sync.Mutex
	mails []letter
	users []string
}

type letter struct{ from, to, data string }

type session struct {
	box *postbox
	at  letter
}

func (b *postbox) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{box: b}, nil }
func (s *session) AuthMechanisms() []string                    { return []string{sasl.Plain} }
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if password != "p@ss,word" {
			return errors.New("no such user, or another password than " + password)
		}
		s.box.mu.Lock()
		defer s.box.mu.Unlock()
		s.box.users = append(s.box.users, user)
		return nil
	}), nil
}
func (s *session) Mail(from string, _ *smtp.MailOptions) error { s.at.from = from; return nil }
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if strings.HasPrefix(to, "nobody@") {
		return &smtp.SMTPError{Code: 550, Message: "no such mailbox"}
	}
	s.at.to = to
	return nil
}
func (s *session) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	s.at.data = string(data)
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	s.box.mails = append(s.box.mails, s.at)
	return err
}
func (s *session) Reset()        { s.at = letter{} }
func (s *session) Logout() error { return nil }

// newMailbox starts a mail server on loopback and returns its address. It speaks TLS from
// the first byte (smtps), after STARTTLS (smtp), or, as a relay on this machine, not at
// all ("").
func newMailbox(t *testing.T, scheme string) (*postbox, string) {
	t.Helper()
	box := &postbox{}
	server := smtp.NewServer(box)
	server.Domain, server.ErrorLog = "localhost", log.New(io.Discard, "", 0)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	if server.AllowInsecureAuth = scheme == ""; scheme != "" {
		certified := httptest.NewTLSServer(nil)
		certified.Close()
		server.TLSConfig = certified.TLS.Clone()
		server.TLSConfig.NextProtos = nil
	}
	if scheme == "smtps" {
		ln = tls.NewListener(ln, server.TLSConfig)
	}
	go server.Serve(ln)
	t.Cleanup(func() { server.Close() })
	return box, address
}

// A relay on this machine may have no TLS; what goes to it does not leave the machine.
func TestMailIsSentToEachRecipient(t *testing.T) {
	for _, scheme := range []string{"smtp", "smtps", ""} {
		t.Run(scheme, func(t *testing.T) {
			box, address := newMailbox(t, scheme)
			targets, err := ParseTargets(cmp.Or(scheme, "smtp") + "://teller:p%40ss%2Cword@" + address +
				"/?from=bulk+filing@x.test&skiptlsverify=yes&to=a@x.test,nobody@x.test,b+c@x.test")
			if err != nil || len(targets) != 3 {
				t.Fatalf("%v, %v", targets, err)
			}
			sendToAllButNobody(t, targets)
			if len(box.mails) != 2 || box.mails[0].to != "a@x.test" || box.mails[1].to != "b+c@x.test" ||
				!slices.Contains(box.users, "teller") {
				t.Fatalf("%+v for %v", box.mails, box.users)
			}
			checkMail(t, box.mails[0].data)
		})
	}
}

// sendToAllButNobody sends a message with a forged header. The server refuses
// the recipient nobody@x.test.
func sendToAllButNobody(t *testing.T, targets []*Target) {
	t.Helper()
	m := sample
	m.Subject += "\r\nBcc: evil@x.test"
	for _, target := range targets {
		err := target.Send(t.Context(), m)
		if refused := strings.Contains(target.String(), "nobody"); (err != nil) != refused {
			t.Errorf("%s: %v", target, err)
		} else if refused && !strings.Contains(err.Error(), "no such mailbox") {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// checkMail checks the headers and the body of the mail that was sent.
func checkMail(t *testing.T, data string) {
	t.Helper()
	got, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
	if err != nil || subject != sample.Subject+" Bcc: evil@x.test" || got.Header.Get("Bcc") != "" {
		t.Errorf("subject %q of %v, %v", subject, got.Header, err)
	}
	if from, err := got.Header.AddressList("From"); err != nil ||
		from[0].String() != `"Bulkfiling" <bulk+filing@x.test>` {
		t.Errorf("from %v, %v", from, err)
	}
	body, err := io.ReadAll(got.Body)
	if text := strings.TrimSpace(strings.ReplaceAll(string(body), "\r\n", "\n")); err != nil || text != sample.Body {
		t.Errorf("body %q, %v", text, err)
	}
}

// A target that does not answer is waited for no longer than the context says. A mail
// client renews its deadline at each step; together they stay within it.
func TestSilentTargetIsWaitedForNoLongerThanAllowed(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for address, within := range map[string]time.Duration{
		"http://" + silent.Addr().String():                                 50 * time.Millisecond,
		"smtp://" + silent.Addr().String() + "/?from=a@x.test&to=b@x.test": 3 * time.Second,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		if err := one(t, address).Send(ctx, sample); err == nil ||
			strings.HasPrefix(address, "smtp") && ctx.Err() != nil {
			t.Errorf("%s: %v, and the context says %v", address, err, ctx.Err())
		}
	}
}

// Whatever goes wrong, and wherever in its URL a secret stands: it is not said.
func TestSecretsOfATargetAreNeverSaid(t *testing.T) {
	const closed = "127.0.0.1:1"
	_, post := newMailbox(t, "smtp")
	r := newReceiver(t)
	r.answer(http.StatusForbidden)
	const a, b, c = "hushhush1", "hush/hush+2", "sh!"
	for _, text := range []string{
		"https://" + closed + "/" + a + "/?key=" + a,
		"https://user:" + a + "@" + closed + "/",
		r.URL + "/" + a + "?@Authorization=" + a,
		"slack+http://" + closed + "/services/" + a,
		"smtp://hushuser:" + a + "@" + post + "/?from=x@x.test&to=y@x.test&skiptlsverify=yes",
		"smtp://hushuser:hush%2Fhush%2B2@" + post + "/?from=x@x.test&to=y@x.test&skiptlsverify=yes",
		"smtp://x:" + c + "@" + post + "/?from=x@x.test&to=y@x.test&skiptlsverify=yes",
		"smtp://x:" + a + "@" + closed + "/?from=x@x.test&to=y@x.test&auth=" + a,
		"smtp://x:" + a + "@" + closed,
		"telegram://" + a + "@telegram", "ifttt://" + a + "/?x=1", "nosuch+https://" + a,
		a, "https://" + a + " " + a, "https://user:" + a + "#@x", "https://x/%zz" + a,
	} {
		said := ""
		targets, err := ParseTargets(text)
		if err != nil {
			said = err.Error()
		}
		for _, target := range targets {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			err := target.Send(ctx, sample)
			cancel()
			if err == nil {
				t.Errorf("%s worked", text)
			}
			said += fmt.Sprintf("%v %+v %#v %v", target, target, target, err)
		}
		if said == "" {
			t.Errorf("%s: nothing went wrong", text)
		}
		for _, secret := range []string{a, b, c, "hush"} {
			if strings.Contains(said, secret) {
				t.Errorf("%s: %s", text, said)
			}
		}
	}
}

func TestTargetsAreReadFromAList(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"https://a.test/x":     "https://a.test",
		" https://a.test/x,\n": "https://a.test",
		"https://a.test/x, https://b.test/y\nslack+https://c.test/z": "https://a.test " +
			"https://b.test slack+https://c.test",
		"https://a.test/x,https://a.test/x": "https://a.test",
		// once
		"https://a.test/x,https://a.test/y": "https://a.test " +
			"https://a.test",
		"smtp://m.test/?from=a@x&to=b@x,c@x,https://a.test/?u=1,2": "smtp://m.test " +
			"to b@x smtp://m.test to c@x https://a.test",
		"smtps://m.test/?from=a@x&to=b@x": "smtps://m.test to b@x",
	} {
		targets, err := ParseTargets(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		var names []string
		for _, target := range targets {
			names = append(names, target.String())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{
		"a.test", "mailto:a@b", "smtp://m.test/?from=a@x&to=b@x&colour=red", "//a.test", "nosuch://x",
		"smtp://m.test/?to=b@x", "smtp://m.test/?from=b@x", "https://", "https:///x", ", ,",
	} {
		if targets, err := ParseTargets(text); !errors.Is(err, ErrTarget) {
			t.Errorf("%q: %v, %v", text, targets, err)
		}
	}
	if _, err := ParseTargets("ntfy://ntfy.sh/topic"); !errors.Is(err, ErrTarget) ||
		!strings.Contains(err.Error(), "use https://") {
		t.Errorf("another scheme: %v", err)
	}
}

// The ledger keeps which target has what under a name that a password does not
// change, and that a guess at it cannot be tried on.
func TestNameOfATargetInTheLedger(t *testing.T) {
	ids := make(map[string]string)
	for _, text := range []string{"smtp://u:one@m.test/?from=a@x&to=b@x", "smtp://u:two@m.test/?from=a@x&to=b@x",
		"smtp://v:one@m.test/?from=a@x&to=b@x", "smtp://u:one@m.test/?from=a@x&to=c@x"} {
		ids[text] = one(t, text).id
	}
	if distinct := slices.Compact(slices.Sorted(maps.Values(ids))); len(distinct) != 3 {
		t.Errorf("%v", ids)
	}
}
