package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
)

// TestInvite checks that the link of a start is printed to a terminal alone, that each start ends the
// link of the one before, and that a log says how to make a link.
func TestInvite(t *testing.T) {
	l := ledgertest.Open(t, ledger.Config{})
	f := &front{scheme: "http", addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}}
	p := &page{front: f, ledger: openLedger{l, config.Environment{}}, local: true}
	invite := func(terminal bool) (text, address string) {
		t.Helper()
		text, address, err := p.invite(t.Context(), terminal)
		must(t, err)
		return text, address
	}
	valid := func(address string) bool {
		_, secret, _ := strings.Cut(address, "link=")
		_, err := l.Accounts().FindSignInLink(context.Background(), secret)
		if err != nil && !errors.Is(err, account.ErrSignInLink) {
			t.Fatal(err)
		}
		return err == nil
	}
	text, address := invite(false)
	if strings.Contains(text+address, "link=") || !strings.Contains(text, "importer accounts link") {
		t.Errorf("without a terminal: %s, %s", text, address)
	}
	text, first := invite(true)
	if !strings.HasSuffix(text, first) || !valid(first) {
		t.Errorf("at a terminal: %s, %s", text, first)
	}
	if _, second := invite(true); valid(first) || !valid(second) {
		t.Error("the link of an earlier start is valid still")
	}
}
