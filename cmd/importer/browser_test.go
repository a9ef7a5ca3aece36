package main

import (
	"io"
	"slices"
	"testing"
)

// Each system opens the browser with its own command. On macOS and Linux other users
// see its arguments: the sign-in link is not among them.
func TestOpenCommand(t *testing.T) {
	const link = "http://127.0.0.1:8080/enter?link=secret"
	for _, c := range []struct {
		goos, address string
		args          []string
		stdin         string
		file          bool
	}{
		{"windows", link, []string{"rundll32", "url.dll,FileProtocolHandler", link}, "", false},
		{"darwin", link, []string{"osascript", "-"}, "open location \"" + link + "\"\n", false},
		{"linux", "/home/ana/sign-in.html", []string{"xdg-open", "/home/ana/sign-in.html"}, "", true},
		{"freebsd", "/home/ana/sign-in.html", []string{"xdg-open", "/home/ana/sign-in.html"}, "", true},
	} {
		cmd := openCommand(c.goos, c.address)
		var stdin []byte
		if cmd.Stdin != nil {
			var err error
			if stdin, err = io.ReadAll(cmd.Stdin); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(cmd.Args, c.args) || string(stdin) != c.stdin || showsArguments(c.goos) != c.file {
			t.Errorf("%s: %q with %q, a file: %t", c.goos, cmd.Args, stdin, showsArguments(c.goos))
		}
	}
}
