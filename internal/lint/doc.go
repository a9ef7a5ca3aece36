// Package lint has the tests of the repository as a whole: imports, documents, quoted log
// messages and selected tests.
package lint
