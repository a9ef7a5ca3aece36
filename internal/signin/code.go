package signin

import (
	"bytes"
	"crypto/subtle"
	"fmt"
	"image/png"
	"net/url"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"
)

// Codes are those of RFC 6238 with SHA-1, 6 digits and 30 seconds: the only ones
// that every authenticator app has.
const (
	codeStep   = 30 // seconds
	codeDigits = 6
	product    = "Bulkfiling"
)

// App is the key that an authenticator app and this server share.
type App struct {
	Secret string // base32
	URL    string // otpauth://…
}

// NewApp makes the key of an authenticator app, which shows it under the name of
// the account.
func NewApp(account string) (App, error) {
	key, err := totp.Generate(totp.GenerateOpts{
		Issuer:      product,
		AccountName: strings.ReplaceAll(account, ":", " "),
		SecretSize:  20,
	})
	if err != nil {
		return App{}, fmt.Errorf("make the key of an authenticator app: %w", err)
	}
	return App{Secret: key.Secret(), URL: key.URL()}, nil
}

// QR draws the key for a camera, as a PNG.
func (a App) QR() ([]byte, error) {
	key, err := otp.NewKeyFromURL(a.URL)
	if err != nil {
		return nil, fmt.Errorf("draw the key of an authenticator app: %w", err)
	}
	picture, err := key.Image(240, 240)
	if err != nil {
		return nil, fmt.Errorf("draw the key of an authenticator app: %w", err)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return nil, fmt.Errorf("draw the key of an authenticator app: %w", err)
	}
	return b.Bytes(), nil
}

// Readable is the secret in groups of four, for people who type it.
func (a App) Readable() string {
	var b strings.Builder
	for i, r := range a.Secret {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// MatchCode reports which time step a code belongs to: the present one, the one
// before or the one after it, for clocks are off and people type slowly. A step
// that is not after the given one was used before, and does not match.
func MatchCode(now time.Time) func(secret, code string, after int64) (step int64, ok bool) {
	return func(secret, code string, after int64) (int64, bool) {
		code = strings.ReplaceAll(code, " ", "")
		found := int64(0)
		present := now.Unix() / codeStep
		for _, step := range []int64{present - 1, present, present + 1} {
			want, err := totp.GenerateCodeCustom(secret, time.Unix(step*codeStep, 0),
				totp.ValidateOpts{Period: codeStep, Digits: codeDigits})
			if err == nil && step > after && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
				found = step
			}
		}
		return found, found != 0
	}
}

// AppOf is the key of an authenticator app by its address.
func AppOf(address string) App {
	u, err := url.Parse(address)
	if err != nil {
		return App{}
	}
	return App{Secret: u.Query().Get("secret"), URL: address}
}
