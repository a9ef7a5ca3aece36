package ledger

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// IsDown reports whether an error of the database may pass without a person: it
// restarts, is out of reach, or has no room for another connection. Source:
// PostgreSQL's table of error codes, by class.
func IsDown(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && len(refused.Code) == 5 {
		switch refused.Code[:2] {
		case "08", "53", "57": // connection, resources (too many clients), operator (starts up, shuts down)
			return true
		}
		return false
	}
	var connect *pgconn.ConnectError
	network, isNetwork := errors.AsType[net.Error](err)
	if _, ofFile := network.(syscall.Errno); ofFile { // it has the methods of a net.Error
		isNetwork = false
	}
	return errors.As(err, &connect) || isNetwork || pgconn.SafeToRetry(err) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// IsOfDatabase reports whether an error is the database's own, not one of another
// connection.
func IsOfDatabase(err error) bool {
	var refused *pgconn.PgError
	var connect *pgconn.ConnectError
	return errors.As(err, &refused) || errors.As(err, &connect)
}

// DownText is an error for which IsDown reports true, in a few words for a person,
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
