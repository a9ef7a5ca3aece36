package network

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
)

// compressible are the kinds of answers that get smaller. Workbooks, archives and
// PDFs are compressed already.
var compressible = []string{"text/html", "text/css", "text/javascript", "text/plain", "text/csv",
	"application/json", "application/javascript", "image/svg+xml"}

// minCompressed is the size from which an answer is compressed: a smaller one fits
// into a packet or two as it is.
const minCompressed = 1024

// Compress compresses the answers of next for browsers that accept it.
//
// The length of a compressed page can tell a secret in it to an attacker who makes
// the browser ask for the page many times with guesses in it (BREACH). Here the
// guesses have no way in: a page that another site has the browser load comes
// without the session's cookie unless the whole window goes there, and then the
// other site sees no length. Secrets that are worth it (one-time links) stand only
// in the answer to a form of the same site, which is made once, and the identifier of a
// form is another on every page. A random padding makes lengths useless all the same.
func Compress(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.MinSize(minCompressed),
		gzhttp.ContentTypes(compressible),
		gzhttp.EnableZstd(false),
		gzhttp.RandomJitter(32, 0, false),
	)
	if err != nil {
		panic(err) // the options are constants
	}
	return wrap(next)
}
