package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// typedLine is a line that a person types.
type typedLine struct {
	ask    string
	hidden bool // it is not shown
}

// askLines asks at the terminal for lines, one after the other. The terminal is in
// raw mode before the first question appears, so that Ctrl-C at any moment restores
// it, and what is pasted is never shown; in that mode Ctrl-C is read as a key.
func (a *app) askLines(ctx context.Context, lines ...typedLine) ([]string, error) {
	fd := int(a.in.(*os.File).Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	defer term.Restore(fd, before)
	terminal := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{a.in, a.err}, "")
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		_ = terminal.SetSize(width, height) // it only redraws
	}
	answers := make([]string, len(lines))
	for i, line := range lines {
		answers[i], err = readTyped(ctx, func() (string, error) {
			if line.hidden {
				return terminal.ReadPassword(line.ask)
			}
			terminal.SetPrompt(line.ask)
			return terminal.ReadLine()
		})
		switch {
		case ctx.Err() != nil || errors.Is(err, io.EOF):
			fmt.Fprint(a.err, "\r\n")
			return nil, &status{code: exitInterrupted, err: errInterrupted}
		case err != nil:
			return nil, err
		}
	}
	return answers, nil
}
