// Package secret has the type of values that no output may show.
package secret

import "log/slog"

// redacted stands for a value in every output.
const redacted = "REDACTED"

// Value is a key, a password, or another text that logs, errors and JSON never
// show. Only Reveal returns it.
type Value string

// Reveal returns the secret itself.
func (v Value) Reveal() string { return string(v) }

// String keeps the secret out of text; an empty value is empty.
func (v Value) String() string {
	if v == "" {
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
