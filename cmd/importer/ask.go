package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// askLine asks for a line at the terminal. The line is not shown if hidden is set. The terminal is
// in raw mode before the question appears, so that Ctrl-C always restores it and pasted text is
// never shown. In raw mode Ctrl-C is read as a key.
func (a *app) askLine(ctx context.Context, question string, hidden bool) (string, error) {
	fd := int(a.in.(*os.File).Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer term.Restore(fd, before)
	terminal := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{a.in, a.err}, question)
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		// The size only affects redrawing.
		_ = terminal.SetSize(width, height)
	}
	answer, err := readTyped(ctx, func() (string, error) {
		if hidden {
			return terminal.ReadPassword(question)
		}
		return terminal.ReadLine()
	})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		fmt.Fprint(a.err, "\r\n")
		return "", &status{code: exitInterrupted, err: errInterrupted}
	}
	return answer, err
}
