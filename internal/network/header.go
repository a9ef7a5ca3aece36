package network

import "net/http"

// policy lets a page load nothing but what its server has, and run nothing that
// stands in it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; object-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// headers are those of every answer; the handlers behind may replace one.
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

// transportSecurity keeps browsers on TLS for a year, at every name below this
// one, too: a name below it that is not encrypted could set cookies for it.
const transportSecurity = "max-age=31536000; includeSubDomains"

// WithHeaders adds the security headers to every answer, including errors and
// unknown paths. It is the outermost handler. encrypted says that people reach the
// server over TLS, its own or a proxy's.
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
