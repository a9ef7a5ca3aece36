// Package documents saves the documents of filings into a folder, under the names
// of the clients, each once.
//
// A folder holds one folder per client, one file per document, and
// manifest.csv, which says what each file is. The same command again goes on
// where it ended: a file appears under its name only when it is whole, a broken
// download goes on from its last byte, and what is there is not fetched again.
package documents
