package store

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// IsDown reports whether an error of the database may pass without a person, because the database
// restarts, is unreachable, or has no room for another connection. Source: PostgreSQL's table of
// error codes, by class.
func IsDown(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && len(refused.Code) == 5 {
		switch refused.Code[:2] {
		// The classes are connection, resources (too many clients) and operator (startup,
		// shutdown).
		case "08", "53", "57":
			return true
		}
		return false
	}
	var connect *pgconn.ConnectError
	network, isNetwork := errors.AsType[net.Error](err)
	// An Errno of a file has the methods of a net.Error.
	if _, ofFile := network.(syscall.Errno); ofFile {
		isNetwork = false
	}
	return errors.As(err, &connect) || isNetwork || pgconn.SafeToRetry(err) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// IsOfDatabase reports whether an error comes from the database and not from another connection.
func IsOfDatabase(err error) bool {
	var refused *pgconn.PgError
	var connect *pgconn.ConnectError
	return errors.As(err, &refused) || errors.As(err, &connect)
}

// DownText describes an error for which IsDown reports true, in a few words for a person and
// without codes.
func DownText(err error) string {
	var refused *pgconn.PgError
	var network *net.OpError
	switch {
	case errors.As(err, &refused):
		return refused.Message
	case errors.As(err, &network):
		return network.Error()
	}
	return "the connection was lost"
}
