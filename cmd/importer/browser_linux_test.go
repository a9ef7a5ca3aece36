package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// On a desktop the browser opens at a link that signs in, for a start at a terminal
// and for a double click. The link is in no argument, which other users could see.
func TestBrowserOpens(t *testing.T) {
	if exists("/.dockerenv") || exists("/run/.containerenv") {
		t.Skip("in a container no browser is opened")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	serve := []string{"serve", "--listen", "127.0.0.1:0"}
	for name, c := range map[string]struct {
		args     []string
		env      string
		terminal bool
		opens    bool
	}{
		"double click":           {nil, "DISPLAY=:0", false, true},
		"terminal":               {serve, "WAYLAND_DISPLAY=wayland-0", true, true},
		"terminal, told not to":  {append(serve[:3:3], "--no-browser"), "DISPLAY=:0", true, false},
		"terminal, no display":   {serve, "LANG=C", true, false},
		"service, its log read":  {serve, "DISPLAY=:0", false, false},
		"terminal on CI":         {serve, "DISPLAY=:0\nCI=1", true, false},
		"terminal of a far user": {serve, "DISPLAY=:0\nSSH_CONNECTION=a 1 b 2", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, bin := t.TempDir(), t.TempDir()
			opened := filepath.Join(home, "opened")
			writeOpener(t, bin, opened)
			cmd := &exec.Cmd{
				Path: self,
				Args: append([]string{"importer"}, c.args...),
				Env:  append(strings.Split(c.env, "\n"), "HOME="+home, "PATH="+bin+":"+os.Getenv("PATH")),
			}
			started := newStep("The page", "")
			said := &asked{steps: []step{started}}
			if c.terminal {
				cmd.Stdout = terminalTo(t, said)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill() }() // it may have ended
			switch {
			case c.opens:
				followOpened(t, opened)
			case c.terminal:
				<-started.seen
			default:
				awaitLink(t, home)
			}
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v\n%s", err, said.text())
			}
			if _, err := os.Stat(opened); (err == nil) != c.opens {
				t.Errorf("opened: %v", err)
			}
			if exists(filepath.Join(home, openedFile)) {
				t.Error("the link stays in its file")
			}
		})
	}
}

// awaitLink waits until serve has written its link, which it does before it would
// open a browser.
func awaitLink(t *testing.T, home string) {
	t.Helper()
	pattern := filepath.Join(home, ".local", "share", "bulkfiling", "accounts", "*", linkFile)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return
		}
	}
	t.Fatal("serve has not started")
}

// writeOpener writes a command that keeps what it is to open, and its argument above.
func writeOpener(t *testing.T, bin, opened string) {
	t.Helper()
	part := opened + ".part"
	script := "#!/bin/sh\necho \"$1\" > " + part + "\ncat \"$1\" >> " + part + "\nmv " + part + " " + opened + "\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// terminalTo is a terminal whose output goes to w.
func terminalTo(t *testing.T, w io.Writer) *os.File {
	t.Helper()
	keyboard, terminal, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close(); terminal.Close() })
	go func() { _, _ = io.Copy(w, keyboard) }()
	return terminal
}

// followOpened opens the link in what a browser was opened with.
func followOpened(t *testing.T, opened string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		content, err := os.ReadFile(opened)
		if err != nil {
			continue
		}
		argument, _, _ := strings.Cut(string(content), "\n")
		link := regexp.MustCompile(`http://[^"]+/enter\?link=[^"]+`).FindString(string(content))
		if link == "" || strings.Contains(argument, "link=") {
			t.Fatalf("opened: %s", content)
		}
		answer, err := http.Get(link)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", answer, err)
		}
		answer.Body.Close()
		return
	}
	t.Fatal("no browser was opened")
}
