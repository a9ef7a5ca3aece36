// Package secret has a type for values that no output may show.
package secret

import "log/slog"

// redacted replaces a value in every output.
const redacted = "REDACTED"

// Value is a key, a password or another text that logs, errors and JSON never show. Only Reveal
// returns it. The zero Value is empty.
//
// A function returns the text, because fmt and slog call no methods on an unexported field and
// would print its content.
type Value struct{ reveal func() string }

// New returns a secret with the text.
func New(text string) Value {
	if text == "" {
		return Value{}
	}
	return Value{func() string { return text }}
}

// IsEmpty reports whether there is no secret.
func (v Value) IsEmpty() bool { return v.reveal == nil }

// Reveal returns the secret itself.
func (v Value) Reveal() string {
	if v.IsEmpty() {
		return ""
	}
	return v.reveal()
}

// String keeps the secret out of text. It is empty if the value is empty.
func (v Value) String() string {
	if v.IsEmpty() {
		return ""
	}
	return redacted
}

// GoString keeps the secret out of %#v.
func (v Value) GoString() string { return v.String() }

// LogValue keeps the secret out of logs.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// MarshalText keeps the secret out of JSON.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }
