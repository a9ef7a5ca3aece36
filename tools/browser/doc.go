// Package browser proves the page from outside: the real commands, a real
// Chromium, and, for the second deployment, a real PostgreSQL and Redis. It
// imports none of the product's packages.
package browser
