package sheet

import (
	"errors"
	"fmt"
	"strings"
)

// FormatError describes why a file, a sheet or a cell could not be read, with a remedy. Fields that
// do not apply are empty.
type FormatError struct {
	// File is the name of the file without folders.
	File  string
	Sheet string
	// Cell is the address of the cell, such as "C5".
	Cell string
	// Reason is a clause without a full stop: "the file is protected with a password".
	Reason string
	// Remedy is a sentence without a full stop.
	Remedy string
	// Cause is the technical cause, or nil.
	Cause error
}

// refused returns the error for content that cannot be read.
func refused(reason, remedy string) *FormatError { return &FormatError{Reason: reason, Remedy: remedy} }

// Error returns a sentence with the reason, followed by the remedy.
func (e *FormatError) Error() string {
	var place []string
	if e.File != "" {
		place = append(place, e.File)
	}
	if e.Sheet != "" {
		place = append(place, fmt.Sprintf("sheet %q", e.Sheet))
	}
	if e.Cell != "" {
		place = append(place, "cell "+e.Cell)
	}
	text := e.Reason + "."
	if what, ok := strings.CutPrefix(text, "this is "); ok && len(place) == 1 {
		text = place[0] + " is " + what
	} else if len(place) > 0 {
		text = strings.Join(place, ", ") + ": " + text
	}
	if e.Remedy != "" {
		text += " " + e.Remedy + "."
	}
	return text
}

// Unwrap returns the technical cause, if any.
func (e *FormatError) Unwrap() error { return e.Cause }

// locate adds the location to a FormatError, or wraps any other error in one.
func locate(err error, at FormatError) error {
	var found *FormatError
	if !errors.As(err, &found) {
		return fmt.Errorf("read %s: %w", at.File, err)
	}
	e := *found
	if e.File == "" {
		e.File = at.File
	}
	if e.Sheet == "" {
		e.Sheet = at.Sheet
	}
	if e.Cell == "" {
		e.Cell = at.Cell
	}
	return &e
}

// Remedies that several errors share.
const (
	remedySaveAs = "Open it in Excel or LibreOffice and save it as .xlsx or as CSV UTF-8"
	remedyRepair = "Open it in Excel or LibreOffice, let it repair the file, and save it again as .xlsx"
	remedySplit  = "Split it into several files"
)

func damaged(reason string, cause error) *FormatError {
	return &FormatError{Reason: "the file is damaged: " + reason, Remedy: remedyRepair, Cause: cause}
}

func byteCount(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.4g GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.4g MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.4g KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
