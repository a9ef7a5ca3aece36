// Package resolve settles uncertain rows by what a person has found out. It leads
// to where a person looks, holds what was found to the row and to what the
// service told, one row or a whole sheet of decisions at a time, and records it.
package resolve
