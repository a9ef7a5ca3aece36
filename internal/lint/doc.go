// Package lint has the tests of the repository as a whole: imports and documents.
package lint
