package filingapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

// Errors that TestEveryOutcomeOfAnOrder does not make are told in plain words by their
// types, however deep they are wrapped; an unknown one speaks for itself.
func TestMishaps(t *testing.T) {
	c := &Client{key: "sk_test_words"}
	op := func(op string, err error) error {
		return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, err)}
	}
	for _, tc := range []struct {
		name                 string
		err                  error
		unsent, sent, within string // "" where the error speaks for itself
	}{
		{"time-out of the network", op("read", os.ErrDeadlineExceeded),
			"the connection to the filing service timed out", "no answer came in time",
			"the rest of its answer did not come in time"},
		{"called off", context.Canceled, "the request was canceled", "the request was canceled before an answer came",
			"the request was canceled before the rest of its answer came"},
		{"name not found", op("dial", &net.DNSError{Err: "no such host", Name: "api.example.com", IsNotFound: true}),
			"the host name of the filing service was not found", "", ""},
		{"no route", op("dial", syscall.EHOSTUNREACH), "the filing service cannot be reached", "", ""},
		{"alert", &net.OpError{Op: "remote error", Err: errors.New("tls: bad record MAC")},
			"no secure connection (TLS) to the filing service could be made",
			"the secure connection (TLS) failed before an answer came",
			"the secure connection (TLS) failed within its answer"},
		{"broken pipe", op("write", syscall.EPIPE), "the connection broke before anything was sent",
			"the connection broke before an answer came", "the connection broke within its answer"},
		{"unknown", errors.New("something else"), "", "", ""},
	} {
		err := fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w", tc.err)
		for _, moment := range []struct {
			name string
			at   func(networkError) string
			want string
		}{{"unsent", beforeSent, tc.unsent}, {"sent", afterSent, tc.sent}, {"within", withinAnswer, tc.within}} {
			want, wantDetail := moment.want, err.Error()
			if want == "" {
				want, wantDetail = err.Error(), ""
			}
			if text, detail := c.describe(err, moment.at); text != want || detail != wantDetail {
				t.Errorf("%s, %s:\n%q [%q]\nwant\n%q [%q]", tc.name, moment.name, text, detail, want, wantDetail)
			}
		}
	}
}

// What the network says is passed on without secrets: neither the key nor a
// password of a proxy's address.
func TestWordsHideSecrets(t *testing.T) {
	c := &Client{key: "sk_test_words"}
	text, _ := c.describe(
		errors.New(`invalid proxy address "http://ana:s3cr@t@proxy.example.com:3128/a@b": sk_test_words`), beforeSent)
	if want := `invalid proxy address "http://[password]@proxy.example.com:3128/a@b": [key]`; text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
}
