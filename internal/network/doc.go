// Package network decides what the product connects to, whom it believes, and
// what each of its servers says beside its answers: TLS, addresses that are
// public, proxies that are trusted, security headers.
package network
