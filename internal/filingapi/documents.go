package filingapi

import (
	"context"
	"time"
)

// Download is where a document can be had for the next hour. The link needs no
// key: anyone with the link can read the document. Source: spec section 8 for the hour.
type Download struct {
	URL       string
	Name      string    // of the file; empty where the filing service does not say
	Type      string    // the document's; empty where the filing service does not say
	ExpiresAt time.Time // zero where the filing service does not say
}

// The fields of a download that are looked for, folded, the likelier first.
// Assumption: none of them is shown.
var (
	downloadNames = []string{"downloadurl", "downloadlink", "url", "signedurl", "presignedurl", "fileurl", "link",
		"href"}
	fileNames   = []string{"filename", "name", "title"}
	typeNames   = []string{"documenttype", "type", "kind"}
	expiryNames = []string{"expiresat", "urlexpiresat", "expires", "expiry", "expiration"}
)

// Document asks for a fresh download link of a document (doc_<id>). Each call
// makes a new one. Source: spec section 4, GET /documents/{documentId}.
func (c *Client) Document(ctx context.Context, id string) (Download, error) {
	var answer any
	var d Download
	err := c.get(ctx, "look up document", "/documents/", id, &answer, func() bool {
		d.URL = findLink(answer, downloadNames)
		return d.URL != ""
	})
	if err != nil {
		return Download{}, err
	}
	d.Name, d.Type = findText(answer, fileNames...), findText(answer, typeNames...)
	d.ExpiresAt, _ = time.Parse(time.RFC3339, findText(answer, expiryNames...)) // what cannot be read is not told
	return d, nil
}
