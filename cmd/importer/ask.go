package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// askLine asks at the terminal for a line, which is not shown if it is hidden. The
// terminal is in raw mode before the question appears, so that Ctrl-C at any moment
// restores it, and what is pasted is never shown; in that mode Ctrl-C is read as a key.
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
		_ = terminal.SetSize(width, height) // it only redraws
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
