package filingapi

import (
	"context"
	"time"
)

// Download is a link to a document that is valid for one hour. The link needs no key, so anyone who
// has it can read the document. Source: spec section 8 for the hour.
type Download struct {
	URL string
	// Name is the file name, empty if unknown.
	Name string
	// Type is the document type, empty if unknown.
	Type string
	// ExpiresAt is zero if unknown.
	ExpiresAt time.Time
}

// The possible fields of a download, folded and sorted by likelihood.
// Assumption: the spec shows no field.
var (
	downloadNames = []string{"downloadurl", "downloadlink", "url", "signedurl", "presignedurl", "fileurl", "link",
		"href"}
	fileNames   = []string{"filename", "name", "title"}
	typeNames   = []string{"documenttype", "type", "kind"}
	expiryNames = []string{"expiresat", "urlexpiresat", "expires", "expiry", "expiration"}
)

// Document requests a new download link of a document (doc_<id>). Each call creates one.
// Source: spec section 4, GET /documents/{documentId}.
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
	d.ExpiresAt, _ = time.Parse(time.RFC3339, findText(answer, expiryNames...)) // zero if it cannot be read
	return d, nil
}
