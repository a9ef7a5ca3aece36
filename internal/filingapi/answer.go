package filingapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/bulkfiling/bulkfiling/internal/filing"
)

// statusKinds gives the statuses that have a meaning of their own.
// Source: spec section 7 for 402 and 409; the rest is an Assumption.
var statusKinds = map[int]filing.AnswerKind{
	http.StatusUnauthorized:       filing.KeyRefused,
	http.StatusPaymentRequired:    filing.NoFunds,
	http.StatusForbidden:          filing.KeyRefused,
	http.StatusTooManyRequests:    filing.Busy,
	http.StatusServiceUnavailable: filing.Busy,
}

// kind decides what kind of answer an outcome is. The caller that reads a 2xx
// finds out that it cannot be read, and the caller that knows the order that a 409
// names one of its products.
func (o outcome) kind() filing.AnswerKind {
	if o.err != nil {
		if o.written {
			return filing.NoAnswer
		}
		return filing.NotSent
	}
	if kind, ok := statusKinds[o.status]; ok {
		return kind
	}
	switch o.status / 100 {
	case 2:
		return filing.Accepted
	case 4:
		return filing.Refused
	case 5:
		return filing.ServerError
	default:
		return filing.Unreadable // 1xx, 3xx: no redirect is followed
	}
}

// boughtKind is kind for a request that buys or creates. A 503 with Retry-After
// is the service's own, before it looked at the request; one without it may be a
// gateway's, and the order may have been made behind it.
func (o outcome) boughtKind() filing.AnswerKind {
	if o.err == nil && o.status == http.StatusServiceUnavailable && o.header.Get("Retry-After") == "" {
		return filing.ServerError
	}
	return o.kind()
}

// message is the outcome in words: the filing service's, else those of its status
// line, else a description of the network's failure, with its own text as the
// detail.
func (c *Client) message(o outcome) (text, detail string) {
	switch {
	case o.err != nil && o.written:
		return c.describe(o.err, afterSent)
	case o.err != nil:
		return c.describe(o.err, beforeSent)
	}
	var body any
	if o.bodyErr == nil && json.Unmarshal(o.body, &body) == nil {
		if text := c.clean(errorText(body)); text != "" {
			return text, ""
		}
	}
	return statusLine(o.status), ""
}

// unreadable is the message of a 2xx whose body is not what it must be; err may be
// nil.
func (c *Client) unreadable(o outcome, err error, lacks string) (text, detail string) {
	text = "the filing service answered " + statusLine(o.status)
	if err == nil {
		return text + " without " + lacks, ""
	}
	why, detail := c.describe(err, withinAnswer)
	if detail == "" {
		why = "its answer cannot be read: " + why
	}
	return c.clean(text + ", but " + why), detail
}

func statusLine(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// errorText finds the message in an error body: message, error, error.message or
// errors[].message. Assumption: only that there is a message is shown.
func errorText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var texts []string
		for _, e := range v {
			if text := errorText(e); text != "" {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "; ")
	case map[string]any:
		for _, key := range []string{"message", "error", "errors"} {
			if text := errorText(v[key]); text != "" {
				return text
			}
		}
	}
	return ""
}

const maxMessage = 400 // runes; a cell that a person reads

// passShape is a name and password in an address, such as a proxy's.
var passShape = regexp.MustCompile(`://[^/?#\s"]*@`)

// clean makes foreign text safe for ledgers, logs and cells: no control characters,
// no key, nothing of the shape of an SSN, no password of an address, and a limit.
func (c *Client) clean(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar
	}), " ")
	text = strings.ReplaceAll(text, c.key, "[key]")
	text = filing.HideSSNs(text)
	text = passShape.ReplaceAllString(text, "://[password]@")
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage-1]) + "…"
	}
	return text
}

const maxRetryAfter = time.Hour

// retryAfter reads the header in either form, seconds or a date; 0 where it is
// missing or invalid.
func (o outcome) retryAfter() time.Duration {
	text := strings.TrimSpace(o.header.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(time.Until(at), 0), maxRetryAfter)
}
