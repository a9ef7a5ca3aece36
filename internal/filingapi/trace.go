package filingapi

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
)

// routeOf is the template of a request's path. The path may hold an email or a name.
func routeOf(path string) string {
	first, rest, deeper := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case !deeper, path == pricesPath, path == magicLinkPath:
		return path
	case strings.HasPrefix(path, pricesPath+"/"):
		return pricesPath + "/{type}"
	case strings.Contains(rest, "/"):
		return "/" + first + "/…"
	}
	return "/" + first + "/{id}"
}

// errorClass names the class of the error of an outcome, for traces; "" for none. The
// error itself may name an address.
func (o outcome) errorClass() string {
	err := o.err
	if err == nil {
		err = o.bodyErr
	}
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "canceled"
	case isA[*net.DNSError](err):
		return "dns"
	case isTimeout(err):
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED), failedToDial(err):
		return "unreachable"
	case isTLS(err):
		return "tls"
	case isBroken(err), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection"
	}
	return "answer"
}
