package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"reflect"
	"strings"
	"unicode/utf8"
)

// A response of the service may have any bytes, but PostgreSQL cannot store a text with the byte 0
// or with invalid UTF-8, so an answer could never be recorded. Every text that is stored or looked
// up is therefore cleaned in one place, where statements get their arguments. This applies to
// SQLite as well, so that both databases store the same text.

// Storable returns the text without the parts that a database cannot store. It removes the byte 0
// and replaces invalid UTF-8, such as half of a surrogate pair, with U+FFFD.
func Storable(s string) string {
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
		value.Value = Storable(v)
	case []string:
		for i, s := range v {
			if c := Storable(s); c != s {
				v = append([]string(nil), v...)
				for j := i; j < len(v); j++ {
					v[j] = Storable(v[j])
				}
				value.Value = v
				return
			}
		}
	default:
		if r := reflect.ValueOf(v); r.Kind() == reflect.String {
			value.Value = Storable(r.String())
		}
	}
}

// openClean opens a database whose connections clean their arguments.
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

// fullConn is the set of interfaces that the drivers of both databases implement.
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
	// ErrSkip selects the default conversion.
	return driver.ErrSkip
}

// IsValid implements driver.Validator.
func (c cleanConn) IsValid() bool {
	v, ok := c.fullConn.(driver.Validator)
	return !ok || v.IsValid()
}

// named is a driver.Connector for a driver and the name of a data source.
type named struct {
	driver driver.Driver
	name   string
}

// Connect implements driver.Connector.
func (n named) Connect(context.Context) (driver.Conn, error) { return n.driver.Open(n.name) }

// Driver implements driver.Connector.
func (n named) Driver() driver.Driver { return n.driver }
