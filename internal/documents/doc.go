// Package documents saves the documents of filings to a folder, by company and only once.
//
// A folder has one folder per company, one file per document, and manifest.csv, which describes
// each file. A repeated command resumes the download. A file gets its final name only when it is
// complete, and files in the manifest are not downloaded again.
package documents
