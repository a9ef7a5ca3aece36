package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// The key is rotated by one command, what is sealed opens before and after, and
// audit verify says what is left to do.
func TestRotateSealKey(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"FILING_DATA_DIR": dir}
	command := func(args ...string) string {
		t.Helper()
		var out, told strings.Builder
		a := newApp(strings.NewReader(""), &out, &told, func(name string) string { return env[name] })
		c := a.command()
		c.SetArgs(args)
		if err := c.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%s: %v\n%s%s", args, err, out.String(), told.String())
		}
		return out.String() + told.String()
	}
	command("deposit", "100")
	keys, err := filepath.Glob(filepath.Join(dir, "accounts", "*", "sealing.key"))
	if err != nil || len(keys) != 0 {
		t.Fatal(keys, err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "accounts", "*", "ledger.db"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	folder := filepath.Dir(found[0])
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.CreateBatch(t.Context(), ledger.Batch{ID: "a", Product: filing.EIN}); err != nil {
		t.Fatal(err)
	}
	request := &filing.Request{Product: filing.EIN}
	request.Order.EIN = &filing.EINItem{ResponsiblePartySSN: "527317107"}
	if err := l.AddRows(t.Context(), "a",
		[]ledger.Row{{Number: 2, Result: filing.Ready, Request: request}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "sealing.key")
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if said := command("audit", "verify", "--json"); !strings.Contains(said, `{"noKey":0,"oldKey":0,"sealed":1}`) {
		t.Error(said)
	}
	if said := command("audit", "rotate-seal-key", "--yes"); !strings.Contains(said,
		"1 value was sealed with the current key.") {
		t.Error(said)
	}
	both, err := os.ReadFile(file)
	if lines := strings.Fields(string(both)); err != nil || len(lines) != 2 ||
		lines[1] != strings.TrimSpace(string(old)) {
		t.Errorf("%d keys, %v", len(lines), err)
	}
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(file, past, past); err != nil {
		t.Fatal(err)
	}
	if said := command("audit", "rotate-seal-key", "--drop-old", "--yes"); !strings.Contains(said,
		"1 older key was removed.") {
		t.Error(said)
	}
	if said := command("audit", "verify"); strings.Contains(said, "older key") ||
		strings.Contains(said, "cannot be opened") {
		t.Error(said)
	}
	if err := os.WriteFile(file, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := command("audit", "verify"); !strings.Contains(said,
		"1 sealed value cannot be opened with the keys of this machine.") {
		t.Error(said)
	}
	env["FILING_SEAL_KEY"] = string(both)
	if said := command("audit", "verify"); strings.Contains(said, "cannot be opened") {
		t.Error(said)
	}
	if said := command("audit", "rotate-seal-key", "--yes"); !strings.Contains(said,
		"add a new key (openssl rand -hex 32) after the current one") {
		t.Error(said)
	}
	if said := command("audit"); !strings.Contains(said, "seal-key-rotate") ||
		!strings.Contains(said, "seal-key-drop") {
		t.Error(said)
	}
}
