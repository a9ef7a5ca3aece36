package importer

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var july = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestQuick(t *testing.T) {
	path := write(t, "a.csv", "Delaware 2026,,,,\n\nCompany ID,Legal Name,User Email,Filing State,Filing Year,RA Zip,RA Street,Nonsense,Legl Nme\ncomp_1,Acme LLC,a@b.co,DE,2026\ncomp_1,Acme LLC,a@b.co,DE,2026\ncomp_2,Acme LLC,a@bco,Delaware,26,2134,Main\nTotal\n")
	im, err := Open(path, Options{Now: july})
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	err = im.Each(context.Background(), func(r *Row) error {
		t.Logf("%d %s %q", r.Number, r.Result, r.Message)
		return nil
	})
	t.Log(err, im.Notes())
}
