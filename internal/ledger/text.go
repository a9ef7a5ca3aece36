package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"reflect"
	"strings"
	"unicode/utf8"
)

// What the service says may be any bytes, and PostgreSQL stores no text with the
// byte 0 or that is not UTF-8: an answer could then never be recorded. Every text
// on its way to a database, to be stored or to be looked for, is therefore
// cleaned in one place, where statements get their arguments. SQLite's is too:
// both databases hold the same.

// storable is the text without what a database cannot store: a byte 0 goes, and
// what is no UTF-8, such as half a surrogate pair, becomes U+FFFD.
func storable(s string) string {
	if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
		return s
	}
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
}

// clean makes a statement's argument storable.
func clean(value *driver.NamedValue) {
	switch v := value.Value.(type) {
	case nil, int64, int, bool, []int64:
	case string:
		value.Value = storable(v)
	case []string:
		for i, s := range v {
			if c := storable(s); c != s {
				v = append([]string(nil), v...)
				for j := i; j < len(v); j++ {
					v[j] = storable(v[j])
				}
				value.Value = v
				return
			}
		}
	default:
		if r := reflect.ValueOf(v); r.Kind() == reflect.String {
			value.Value = storable(r.String())
		}
	}
}

// openClean opens a database whose connections clean what they are given.
func openClean(c driver.Connector) *sql.DB { return sql.OpenDB(cleaning{c}) }

type cleaning struct{ driver.Connector }

// Connect implements driver.Connector.
func (c cleaning) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return cleanConn{conn.(fullConn)}, nil
}

// fullConn is what the drivers of both databases can.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
}

type cleanConn struct{ fullConn }

// CheckNamedValue implements driver.NamedValueChecker.
func (c cleanConn) CheckNamedValue(value *driver.NamedValue) error {
	clean(value)
	if checker, ok := c.fullConn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(value)
	}
	return driver.ErrSkip // then the default
}

// IsValid implements driver.Validator.
func (c cleanConn) IsValid() bool {
	v, ok := c.fullConn.(driver.Validator)
	return !ok || v.IsValid()
}

// named connects to what a driver calls by a name.
type named struct {
	driver driver.Driver
	name   string
}

// Connect implements driver.Connector.
func (n named) Connect(context.Context) (driver.Conn, error) { return n.driver.Open(n.name) }

// Driver implements driver.Connector.
func (n named) Driver() driver.Driver { return n.driver }
