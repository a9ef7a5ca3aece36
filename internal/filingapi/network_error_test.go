package filingapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"syscall"
	"testing"
	"time"
)

// Each kind of error is told in plain words by its type, however deep it is
// wrapped; an unknown one speaks for itself.
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
		{"time-out of ours", timeoutError(time.Second), "no connection to the service came about in time",
			"no answer came in time", "the rest of its answer did not come in time"},
		{"deadline", context.DeadlineExceeded, "no connection to the service came about in time",
			"no answer came in time", "the rest of its answer did not come in time"},
		{"time-out of the network", op("read", os.ErrDeadlineExceeded),
			"no connection to the service came about in time", "no answer came in time",
			"the rest of its answer did not come in time"},
		{"called off", context.Canceled, "it was called off", "it was called off before an answer came",
			"it was called off before the rest of its answer came"},
		{"name not found", op("dial", &net.DNSError{Err: "no such host", Name: "api.example.com", IsNotFound: true}),
			"the name of the service is not found in the network", "", ""},
		{"refused", op("dial", syscall.ECONNREFUSED), "the address of the service takes no connections", "", ""},
		{"no route", op("dial", syscall.EHOSTUNREACH), "the address of the service cannot be reached", "", ""},
		{"certificate", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
			"the certificate of the service is not one to trust", "", ""},
		{"no TLS", tls.RecordHeaderError{Msg: "no TLS"}, "no secure connection (TLS) to the service came about",
			"the secure connection (TLS) failed before an answer came",
			"the secure connection (TLS) failed within its answer"},
		{"alert", &net.OpError{Op: "remote error", Err: errors.New("tls: bad record MAC")},
			"no secure connection (TLS) to the service came about",
			"the secure connection (TLS) failed before an answer came",
			"the secure connection (TLS) failed within its answer"},
		{"reset", op("read", syscall.ECONNRESET), "the connection broke before anything was sent",
			"the connection broke before an answer came", "the connection broke within its answer"},
		{"broken pipe", op("write", syscall.EPIPE), "the connection broke before anything was sent",
			"the connection broke before an answer came", "the connection broke within its answer"},
		{"closed early", io.EOF, "the connection was closed before anything was sent",
			"the connection was closed before an answer came", "its answer was cut off"},
		{"cut off", io.ErrUnexpectedEOF, "the connection was closed before anything was sent",
			"the connection was closed where an answer had just begun", "its answer was cut off"},
		{"no HTTP", textproto.ProtocolError("malformed MIME header"), "", "what came for an answer is not understood",
			"its answer is not understood"},
		{"no JSON", json.Unmarshal([]byte("<"), new(any)), "", "what came for an answer is not understood",
			"its answer is not understood"},
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
