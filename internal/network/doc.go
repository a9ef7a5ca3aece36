// Package network has the rules of connections: TLS, public addresses, trusted proxies, and the
// security headers of every answer.
package network
