package network

import "net/http"

// policy allows a page to load only resources of this server, and to run no inline script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; object-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// headers are the headers of every answer. A handler may replace one.
var headers = map[string]string{
	"Content-Security-Policy":           policy,
	"X-Content-Type-Options":            "nosniff",
	"X-Frame-Options":                   "DENY",
	"Referrer-Policy":                   "same-origin",
	"Cross-Origin-Opener-Policy":        "same-origin",
	"Cross-Origin-Resource-Policy":      "same-origin",
	"X-Permitted-Cross-Domain-Policies": "none",
	"Permissions-Policy":                "camera=(), microphone=(), geolocation=()",
	"Cache-Control":                     "no-store",
}

// transportSecurity requires TLS for a year at this name and every name below it. A name below it
// that is not encrypted could set cookies for this one.
const transportSecurity = "max-age=31536000; includeSubDomains"

// WithHeaders adds the security headers to every answer, including errors and unknown paths. It
// must be the outermost handler. encrypted reports whether clients reach the server over TLS,
// either directly or through a proxy.
func WithHeaders(next http.Handler, encrypted bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, value := range headers {
			h.Set(name, value)
		}
		if encrypted {
			h.Set("Strict-Transport-Security", transportSecurity)
		}
		next.ServeHTTP(w, r)
	})
}
