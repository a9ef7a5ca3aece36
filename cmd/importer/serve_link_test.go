package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// The link of a start is printed to a terminal alone. Elsewhere it is in a file
// that only its user can read, also if another file was there. Each start ends the
// link of the one before, and its own end removes the file.
func TestTheLinkOfAStart(t *testing.T) {
	dir := t.TempDir()
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	data := filepath.Join(dir, "data")
	env, err := config.Read(func(name string) string { return map[string]string{"FILING_DATA_DIR": data}[name] })
	if err != nil {
		t.Fatal(err)
	}
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	p := &page{env: env, front: &front{scheme: "http", addr: addr}, ledger: openLedger{l, env}, local: true}
	invite := func(seen bool) invitation {
		t.Helper()
		in, err := p.invite(t.Context(), seen)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	valid := func(in invitation) bool {
		_, secret, _ := strings.Cut(in.link, "link=")
		_, err := l.Accounts().FindSignInLink(context.Background(), secret)
		if err != nil && !errors.Is(err, ledger.ErrSignInLink) {
			t.Fatal(err)
		}
		return err == nil
	}
	seen := invite(true)
	if seen.file != "" || !strings.Contains(seen.text, seen.link) || !valid(seen) {
		t.Errorf("at a terminal: %+v", seen)
	}
	file := filepath.Join(data, linkFile)
	if err := errors.Join(os.MkdirAll(data, 0o700), os.WriteFile(file, []byte("older\n"), 0o666),
		os.Chmod(file, 0o666)); err != nil {
		t.Fatal(err)
	}
	first := invite(false)
	if first.file != file || strings.Contains(first.text, "link=") || !strings.Contains(first.text, file) ||
		valid(seen) {
		t.Errorf("without a terminal: %+v", first)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != first.link+"\n" {
		t.Errorf("%s, %v", content, err)
	}
	second := invite(false)
	if valid(first) || !valid(second) {
		t.Error("the link of an earlier start is valid still")
	}
	if err := first.removeFile(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the file of the later start is gone: %v", err)
	}
	for range 2 {
		if err := second.removeFile(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file stays")
	}
}
