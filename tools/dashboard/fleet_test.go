//go:build unix

package dashboard

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of schemas
	"github.com/redis/go-redis/v9"
)

// patience bounds everything that is waited for.
const patience = time.Minute

// skipWithout skips a test whose requirement is missing; on CI it fails instead.
func skipWithout(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: on CI this test must run", what)
	}
	t.Skipf("%s is missing", what)
}

// servers returns an empty schema of the PostgreSQL of TEST_DATABASE_URL and an empty
// database of the Redis of TEST_REDIS_URL, both emptied after the test.
func servers(t *testing.T) (postgres, queue string) {
	t.Helper()
	for _, name := range []string{"TEST_DATABASE_URL", "TEST_REDIS_URL"} {
		if os.Getenv(name) == "" {
			skipWithout(t, name)
		}
	}
	db, err := sql.Open("pgx", os.Getenv("TEST_DATABASE_URL"))
	if err != nil {
		t.Fatal(err)
	}
	schema := "dashboard" + strings.ToLower(rand.Text())
	if _, err := db.ExecContext(t.Context(), "CREATE SCHEMA "+schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.Background(), "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	options, err := redis.ParseURL(os.Getenv("TEST_REDIS_URL"))
	if err != nil {
		t.Fatal(err)
	}
	for options.DB = 15; options.DB > 0; options.DB-- {
		client := redis.NewClient(options)
		if keys, err := client.DBSize(t.Context()).Result(); err != nil || keys > 0 { // another test's
			client.Close()
			continue
		}
		t.Cleanup(func() { _ = client.FlushDB(context.Background()).Err(); client.Close() })
		return with(t, os.Getenv("TEST_DATABASE_URL"), func(u *url.URL) {
				q := u.Query()
				q.Set("search_path", schema)
				u.RawQuery = q.Encode()
			}), with(t, os.Getenv("TEST_REDIS_URL"), func(u *url.URL) {
				u.Path = "/" + strconv.Itoa(options.DB)
			})
	}
	t.Fatal("no database of the Redis of TEST_REDIS_URL is empty")
	return "", ""
}

func with(t *testing.T, address string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	for range 1000 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+mathrand.IntN(22_000)))
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("no address is free")
	return ""
}

// fleet is a sandbox and two workers on real servers.
type fleet struct {
	commands string // the folder of the commands, built from the checkout around us
	env      []string
	workers  []string // their addresses
}

// startFleet starts a fleet that has an order of many companies to place.
func startFleet(t *testing.T, companies int) *fleet {
	t.Helper()
	postgres, queue := servers(t)
	f := &fleet{commands: t.TempDir()}
	build := exec.Command("go", "build", "-o", f.commands, "./cmd/importer", "./cmd/worker")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the commands: %v\n%s", err, out)
	}
	sandbox := freeAddress(t)
	f.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir(), "USER=morgan",
		"FILING_BASE_URL=http://" + sandbox + "/v1", "FILING_API_KEY=sk_test_dashboard", "WORKER_CONCURRENCY=4",
		"FILING_SEAL_KEY=" + strings.Repeat("5eed", 16), "DATABASE_URL=" + postgres, "REDIS_URL=" + queue}
	f.start(t, "importer", "sandbox", "--listen", sandbox, "--balance", "100000", "--latency", "120ms", "--jitter",
		"200ms")
	await(t, "http://"+sandbox+"/")
	sheet := filepath.Join(t.TempDir(), "companies.csv")
	text := "Company ID,Legal Name,User Email,User Name,User Phone,Filing State,Order Registered Agent\n"
	for i := range companies {
		text += fmt.Sprintf("comp_d%d,Harbor %d LLC,paul@harbor.example,Paul Esham,302-555-0170,DE,yes\n", i, i)
	}
	if err := os.WriteFile(sheet, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f.run(t, "deposit", "100000")
	for range 2 {
		address := freeAddress(t)
		f.start(t, "worker", "--listen", address)
		f.workers = append(f.workers, address)
	}
	for _, address := range f.workers {
		await(t, "http://"+address+"/readyz")
	}
	f.run(t, "submit", sheet, "--yes")
	return f
}

func (f *fleet) command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(filepath.Join(f.commands, name), args...)
	c.Env, c.Dir = append(f.env, "FILING_DATA_DIR="+t.TempDir()), t.TempDir()
	return c
}

// start starts a command that runs until the end of the test.
func (f *fleet) start(t *testing.T, name string, args ...string) {
	t.Helper()
	c := f.command(t, name, args...)
	var printed bytes.Buffer
	c.Stdout, c.Stderr = &printed, &printed
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%s printed:\n%s", name, printed.String()[max(0, printed.Len()-3000):])
		}
	})
}

// run runs a command that comes to an end.
func (f *fleet) run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := f.command(t, "importer", args...).CombinedOutput(); err != nil {
		t.Fatalf("importer %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func await(t *testing.T, address string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, err := get(address); err == nil {
			return
		}
	}
	t.Fatalf("%s does not answer", address)
}

func get(address string) ([]byte, error) {
	response, err := http.Get(address)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s", response.Status)
	}
	return text, err
}
