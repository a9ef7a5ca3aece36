package network

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
)

// compressible are the types of answers to compress. Workbooks, archives and PDFs are already
// compressed.
var compressible = []string{"text/html", "text/css", "text/javascript", "text/plain", "text/csv",
	"application/json", "application/javascript", "image/svg+xml"}

// minCompressed is the size in bytes from which an answer is compressed. A smaller answer fits into
// one or two packets without compression.
const minCompressed = 1024

// Compress compresses the answers of next for browsers that accept it.
//
// The length of a compressed page can reveal a secret in it to an attacker who makes the browser
// request the page many times with guesses in it (BREACH). Such guesses do not reach a page of this
// server. A request from another site comes without the session cookie unless it navigates the
// whole window, and then the other site cannot observe the length. Valuable secrets (one-time
// links) are only in the answer to a form of the same site, which is sent once. The identifier of a
// form differs on every page. Random padding also makes lengths useless.
func Compress(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.ContentTypes(compressible),
		gzhttp.EnableZstd(false), gzhttp.RandomJitter(32, 0, false))
	if err != nil {
		panic(err) // the options are constants
	}
	return wrap(next)
}
