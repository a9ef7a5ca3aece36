//go:build !windows

package sheet

// isBusy returns false, because an open file can be replaced here. A program that has it open keeps
// the former content.
func isBusy(error) bool { return false }
