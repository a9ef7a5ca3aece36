package main

import (
	"io"
	"slices"
	"testing"
)

// On macOS other users see the arguments of a command: the sign-in link is not among them.
func TestOpenCommand(t *testing.T) {
	const link = "http://127.0.0.1:8080/enter?link=secret"
	windows := openCommand("windows", link)
	if want := []string{"rundll32", "url.dll,FileProtocolHandler", link}; !slices.Equal(windows.Args, want) {
		t.Errorf("Windows: %q", windows.Args)
	}
	mac := openCommand("darwin", link)
	typed, err := io.ReadAll(mac.Stdin)
	if err != nil || !slices.Equal(mac.Args, []string{"osascript", "-"}) ||
		string(typed) != "open location \""+link+"\"\n" {
		t.Errorf("macOS: %q with %q, %v", mac.Args, typed, err)
	}
}
