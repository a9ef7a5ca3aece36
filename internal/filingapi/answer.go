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

// statusKinds are the kinds of the statuses that have a specific meaning.
// Source: spec section 7 for 402 and 409. The others are an Assumption.
var statusKinds = map[int]filing.AnswerKind{
	http.StatusUnauthorized:       filing.KeyRefused,
	http.StatusPaymentRequired:    filing.NoFunds,
	http.StatusForbidden:          filing.KeyRefused,
	http.StatusTooManyRequests:    filing.Busy,
	http.StatusServiceUnavailable: filing.Busy,
}

// kind returns the kind of an outcome by its status. The caller that reads a 2xx detects that it is
// unreadable. The caller that knows the order detects that a 409 names one of its products.
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
		return filing.Unreadable // 1xx or 3xx, because redirects are not followed
	}
}

// boughtKind is kind for a request that buys or creates. The service itself sends a 503 with
// Retry-After, before it processes the request. A 503 without it may come from a gateway although
// the service made the order.
func (o outcome) boughtKind() filing.AnswerKind {
	if o.err == nil && o.status == http.StatusServiceUnavailable && o.header.Get("Retry-After") == "" {
		return filing.ServerError
	}
	return o.kind()
}

// message describes the outcome with the filing service's message, the status line or a description
// of the network error. The text of the network error is the detail.
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

// unreadable returns the message of a 2xx whose body is invalid. lacks names the missing part if
// err is nil.
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

// errorText finds the message in an error body under message, error, error.message or
// errors[].message. Assumption: the spec shows only that there is a message.
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

// maxMessage is in runes, so that a message fits in a cell.
const maxMessage = 400

// passShape matches the user name and password in an address, such as a proxy's.
var passShape = regexp.MustCompile(`://[^/?#\s"]*@`)

// clean makes foreign text safe for ledgers, logs and cells. It removes control characters, the
// key, anything that looks like an SSN and the password of an address, and limits the length.
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

// retryAfter returns the Retry-After header, which has seconds or a date. It is zero if the header
// is missing or invalid.
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
