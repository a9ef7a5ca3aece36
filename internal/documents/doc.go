// Package documents saves the documents of filings into a folder, under the names
// of the companies, each once.
//
// A folder holds one folder per company, one file per document, and
// manifest.csv, which describes each file. Running the same command again
// resumes: a file appears under its name only when it is complete, and files in the
// manifest are not fetched again.
package documents
