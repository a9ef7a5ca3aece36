// Package browser proves the page from outside: the real commands, a real
// Chromium, and, for the second arrangement, a real PostgreSQL and Redis. What
// it holds is in its tests; it knows nothing of the product's packages.
package browser
