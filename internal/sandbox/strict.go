package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// This file reads request bodies. encoding/json is more lenient than a test of a client needs: it
// folds the case of keys, keeps the last of two equal keys, drops unknown ones and accepts null for
// anything. So a body is first parsed into a tree, and every field is then read by its exact name
// and type. Any field that is not read is a problem.

// maxDepth bounds the nesting. The spec nests no deeper than six.
const maxDepth = 12

// problem is one error in a request.
type problem struct {
	rule    string
	message string
	// hidden marks a problem that depends on records that no endpoint shows to the client.
	hidden bool
}

type problems []problem

func (p *problems) add(rule, format string, args ...any) {
	*p = append(*p, problem{rule: rule, message: fmt.Sprintf(format, args...)})
}

// addHidden adds a problem that no client can foresee.
func (p *problems) addHidden(rule, message string) {
	*p = append(*p, problem{rule: rule, message: message, hidden: true})
}

// parseBody returns the top object of a JSON body. The error is a problem of the JSON itself.
func parseBody(body []byte, found *problems) (*object, error) {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return nil, fmt.Errorf("the request has no body")
	case !utf8.Valid(body):
		return nil, fmt.Errorf("the body is not UTF-8")
	// Valid also finds text after the first value.
	case !json.Valid(body):
		return nil, fmt.Errorf("the body is not one JSON value")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	v, err := parseValue(dec, 0)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the body is %s, not an object", kindOf(v))
	}
	return &object{fields: m, found: found}, nil
}

func parseValue(dec *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the body nests deeper than %d", maxDepth)
	}
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		m := make(map[string]any)
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			// json.Valid has checked that a key is a string.
			name := key.(string)
			if _, twice := m[name]; twice {
				return nil, fmt.Errorf("the key %q is given twice", name)
			}
			if m[name], err = parseValue(dec, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := dec.Token()
		return m, err
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := parseValue(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	}
	return tok, nil
}

// kinds are the types of JSON values.
var kinds = map[string]string{
	"<nil>": "null", "bool": "a boolean", "string": "a string", "json.Number": "a number", "[]interface {}": "an array",
	"map[string]interface {}": "an object",
}

func kindOf(v any) string { return kinds[fmt.Sprintf("%T", v)] }

// object is one JSON object of a request. Its readers record problems and return the zero value, so
// that one answer lists all problems of a request.
type object struct {
	// path is empty for the top. Otherwise it ends in ".".
	path string
	// rule is the rule under which a problem of shape is filed.
	rule   string
	fields map[string]any
	read   []string
	found  *problems
}

func (o *object) fail(name, format string, args ...any) {
	rule := o.rule
	if rule == "" {
		rule = "2 shape"
	}
	o.found.add(rule, "%s%s %s", o.path, name, fmt.Sprintf(format, args...))
}

// failAs files a problem under another rule than the object's own.
func (o *object) failAs(rule, name, format string, args ...any) {
	o.found.add(rule, "%s%s %s", o.path, name, fmt.Sprintf(format, args...))
}

func (o *object) has(name string) bool {
	_, ok := o.fields[name]
	return ok
}

func field[T any](o *object, name, want string, required bool) (v T, ok bool) {
	o.read = append(o.read, name)
	raw, given := o.fields[name]
	if !given {
		if required {
			o.fail(name, "is required")
		}
		return v, false
	}
	if v, ok = raw.(T); !ok {
		o.fail(name, "must be %s, not %s", want, kindOf(raw))
	}
	return v, ok
}

// text reads a required string that is not blank.
func (o *object) text(name string) string {
	v, ok := field[string](o, name, "a string", true)
	if ok && strings.TrimSpace(v) == "" {
		o.fail(name, "must not be empty")
	}
	return v
}

// maybeText reads an optional string.
func (o *object) maybeText(name string) (string, bool) {
	return field[string](o, name, "a string", false)
}

func (o *object) flag(name string) bool {
	v, _ := field[bool](o, name, "a boolean", true)
	return v
}

func (o *object) maybeFlag(name string) (v, ok bool) {
	return field[bool](o, name, "a boolean", false)
}

// count reads a required whole number, at least zero.
func (o *object) count(name string) int64 {
	v, ok := field[json.Number](o, name, "an integer", true)
	if !ok {
		return 0
	}
	n, err := v.Int64()
	if err != nil || n < 0 {
		o.fail(name, "must be a whole number of at least 0, not %s", v)
	}
	return n
}

// share reads a required number above 0 and up to 1.
func (o *object) share(name string) float64 {
	v, ok := field[json.Number](o, name, "a number", true)
	if !ok {
		return 0
	}
	f, err := v.Float64()
	if err != nil || f <= 0 || f > 1 {
		o.fail(name, "must be above 0 and at most 1, not %s", v)
	}
	return f
}

// maybeDollars reads an optional amount in dollars and returns cents. It must
// be exact to the cent.
func (o *object) maybeDollars(name string) (int64, bool) {
	v, ok := field[json.Number](o, name, "a number", false)
	if !ok {
		return 0, false
	}
	n, err := parseDollars(v.String())
	if err != nil {
		o.fail(name, "%s", err)
		return 0, false
	}
	return n, true
}

func parseDollars(s string) (int64, error) {
	// 1e999999999 would cost a gigabyte.
	if len(s) > 20 {
		return 0, fmt.Errorf("is not a sensible amount")
	}
	if _, exp, ok := strings.Cut(strings.ToLower(s), "e"); ok && len(exp) > 2 {
		return 0, fmt.Errorf("is not a sensible amount")
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, fmt.Errorf("is not an amount")
	}
	r.Mul(r, big.NewRat(100, 1))
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, fmt.Errorf("must be whole cents, not %s", s)
	}
	return r.Num().Int64(), nil
}

func (o *object) child(name string, required bool) *object {
	m, ok := field[map[string]any](o, name, "an object", required)
	if !ok {
		return nil
	}
	return &object{path: o.path + name + ".", rule: o.rule, fields: m, found: o.found}
}

// list reads an optional array.
func (o *object) list(name string) ([]any, bool) {
	return field[[]any](o, name, "an array", false)
}

// texts reads an optional array of strings that are not blank.
func (o *object) texts(name string) ([]string, bool) {
	list, ok := o.list(name)
	if !ok {
		return nil, false
	}
	texts := make([]string, 0, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok || strings.TrimSpace(s) == "" {
			o.fail(fmt.Sprintf("%s[%d]", name, i), "must be a string that is not empty")
			continue
		}
		texts = append(texts, s)
	}
	return texts, true
}

// objects reads an optional array of objects.
func (o *object) objects(name string) ([]*object, bool) {
	list, ok := o.list(name)
	if !ok {
		return nil, false
	}
	objects := make([]*object, 0, len(list))
	for i, v := range list {
		at := fmt.Sprintf("%s[%d]", name, i)
		m, ok := v.(map[string]any)
		if !ok {
			o.fail(at, "must be an object, not %s", kindOf(v))
			continue
		}
		objects = append(objects, &object{path: o.path + at + ".", rule: o.rule, fields: m, found: o.found})
	}
	return objects, true
}

func (o *object) oneOf(name, value string, allowed []string) {
	if value != "" && !slices.Contains(allowed, value) {
		o.fail(name, "must be one of %s, not %q", strings.Join(allowed, ", "), value)
	}
}

func (o *object) matches(name, value string, shape *regexp.Regexp, want string) {
	if value != "" && !shape.MatchString(value) {
		o.fail(name, "must be %s, not %q", want, value)
	}
}

func (o *object) isDate(name, value string) {
	if _, err := time.Parse(time.DateOnly, value); value != "" && err != nil {
		o.fail(name, "must be a date as YYYY-MM-DD, not %q", value)
	}
}

// done records every field that was not read as a problem.
func (o *object) done() {
	unknown := make([]string, 0)
	for name := range o.fields {
		if !slices.Contains(o.read, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		o.fail(name, "is not a field of this request")
	}
}

var (
	userID    = regexp.MustCompile(`^user_[A-Za-z0-9_-]+$`)
	companyID = regexp.MustCompile(`^comp_[A-Za-z0-9_-]+$`)
	slugShape = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	e164      = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)
	tenDigits = regexp.MustCompile(`^[0-9]{10}$`)
	usPhone   = regexp.MustCompile(`^\+1[0-9]{10}$`)
	nineDigit = regexp.MustCompile(`^[0-9]{9}$`)
	year      = regexp.MustCompile(`^[0-9]{4}$`)
	emailLike = regexp.MustCompile(`^[^@\s/]+@[^@\s/]+\.[^@\s/.]+$`)
	country   = regexp.MustCompile(`^[A-Z]{2}$`)
	einShape  = regexp.MustCompile(`^[0-9]{2}-?[0-9]{7}$`)
)

var stateCodes = strings.Fields(`AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV
	NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY PR VI GU AS MP`)

func (o *object) isState(name, value string) {
	if value != "" && !slices.Contains(stateCodes, value) {
		o.fail(name, "must be a two-letter state code, not %q", value)
	}
}
