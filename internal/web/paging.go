package web

import (
	"net/url"
	"strconv"
)

// load returns a function that stores a result in a field of a page and returns the error with it.
func load[T any](into *T) func(T, error) error {
	return func(found T, err error) error {
		*into = found
		return err
	}
}

// address returns the address of a page. pairs are the names and values of its query; empty values
// are left out.
func address(path string, pairs ...string) string {
	query := make(url.Values)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// firstOf returns the first n of all, and whether there are more.
func firstOf[T any](all []T, n int) (first []T, more bool) {
	return all[:min(len(all), n)], len(all) > n
}

// paged cuts the page that the address asks for out of a list that is short
// enough to be read whole.
func paged[T any](v *request, all []T, size int) (pager, []T) {
	n, _ := strconv.Atoi(v.r.URL.Query().Get("page"))
	last := max(0, (len(all)-1)/size)
	n = min(max(n, 0), last)
	path := func(n int) string {
		ask := v.r.URL.Query()
		ask.Set("page", strconv.Itoa(n))
		return v.r.URL.Path + "?" + ask.Encode()
	}
	from := n * size
	to := min(from+size, len(all))
	p := pager{From: min(from+1, to), To: to, Total: len(all)}
	if n > 0 {
		p.Newer = path(n - 1)
	}
	if n < last {
		p.Older = path(n + 1)
	}
	return p, all[from:to]
}
