package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// The errors of HMAC.Verify. Any other error means that the signature could not be verified.
var (
	// ErrSignature means that a delivery is not signed, or not with a known secret.
	ErrSignature = errors.New("the signature is missing or wrong")
	// ErrNoSecret means that no secret is known to verify a signed delivery.
	ErrNoSecret = errors.New("no signing secret is known: register an endpoint with importer webhooks create --url " +
		"https://HOST" + Path + ", or set FILING_WEBHOOK_SECRET")
)

// SignatureHeader is the header with the signature of a delivery.
// Source: spec section 5, rule 5.
const SignatureHeader = "Service-Signature"

// HMAC accepts deliveries with the hex HMAC-SHA256 of their raw body under one of several secrets.
// The digits may be in either case, with or without the prefix "sha256=".
// Assumption: the spec does not show the algorithm.
type HMAC struct {
	read func(context.Context) ([]string, error)

	// mu is held while the secrets are read, so that parallel deliveries share one reading.
	mu      sync.Mutex
	secrets []string
	err     error
	// asOf is when the last reading began.
	asOf time.Time
}

// secretsAge is how long a removed secret may still be accepted.
const secretsAge = 2 * time.Second

// readTime limits one reading of the secrets.
const readTime = 5 * time.Second

// NewHMAC returns a verifier with the secrets that read returns. It accepts a secret as soon as
// read returns it. If read fails, it may still return some secrets. Verify then neither accepts nor
// refuses a delivery that was signed with another secret.
func NewHMAC(read func(context.Context) ([]string, error)) *HMAC { return &HMAC{read: read} }

// Verify returns ErrSignature, ErrNoSecret, or the error of reading the secrets.
func (v *HMAC) Verify(ctx context.Context, h http.Header, body []byte) error {
	arrived := time.Now()
	given, err := hex.DecodeString(strings.TrimPrefix(strings.TrimSpace(h.Get(SignatureHeader)), "sha256="))
	if err != nil || len(given) != sha256.Size {
		return ErrSignature
	}
	if known, _ := v.since(ctx, arrived.Add(-secretsAge)); signed(body, given, known) {
		return nil
	}
	// A delivery is refused only with secrets that were read after it arrived, because its secret
	// may have been added just before.
	secrets, err := v.since(ctx, arrived)
	switch {
	case signed(body, given, secrets):
		return nil
	case err != nil:
		return fmt.Errorf("read the signing secrets: %w", err)
	case len(secrets) == 0:
		return ErrNoSecret
	default:
		return ErrSignature
	}
}

// since returns secrets that were read at a time or later.
func (v *HMAC) since(ctx context.Context, t time.Time) ([]string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asOf.IsZero() || v.asOf.Before(t) {
		// Other deliveries wait for this reading, so it does not end with its own request.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTime)
		defer cancel()
		v.asOf = time.Now()
		v.secrets, v.err = v.read(ctx)
		// Anyone can sign with an empty secret.
		v.secrets = slices.DeleteFunc(slices.Clone(v.secrets), func(s string) bool { return s == "" })
	}
	return v.secrets, v.err
}

func signed(body, signature []byte, secrets []string) bool {
	ok := false
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		ok = hmac.Equal(mac.Sum(nil), signature) || ok
	}
	return ok
}

// secretLister lists the signing secrets of the registered endpoints.
type secretLister interface {
	Secrets(ctx context.Context) ([]string, error)
}

// Secrets returns a function that reads the secrets of the endpoints and the secrets that given
// returns. given may be nil.
func Secrets(endpoints secretLister, given func() ([]string, error)) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		secrets, err := endpoints.Secrets(ctx)
		if given == nil {
			return secrets, err
		}
		more, errGiven := given()
		return slices.Concat(secrets, more), errors.Join(err, errGiven)
	}
}
