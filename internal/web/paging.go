package web

import "strconv"

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
