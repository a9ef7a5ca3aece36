//go:build unix

package browser

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver of schemas
	"github.com/redis/go-redis/v9"
)

// patience bounds every wait. A wait ends when its condition is true, so patience passes
// only if something hangs.
const patience = 2 * time.Minute

// chromium is the path of the browser, empty if none is installed.
var chromium string

// builds is the folder of the commands that the tests start.
var builds string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && chromium == "" {
			chromium = path
		}
	}
	var err error
	if builds, err = os.MkdirTemp("", "bulkfiling-browser-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(builds)
	return m.Run()
}

// commands build the commands from the checkout around us, each when it is first used.
var commands = map[string]func() (path string, err error){
	"importer": sync.OnceValues(func() (string, error) { return buildCommand("importer") }),
	"worker":   sync.OnceValues(func() (string, error) { return buildCommand("worker") }),
}

// buildCommand builds a command without debug information, which halves the time of
// the linker.
func buildCommand(name string) (string, error) {
	path := filepath.Join(builds, name)
	build := exec.Command("go", "build", "-ldflags=-w", "-o", path, "./cmd/"+name)
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}

// command returns the path of a command.
func command(t *testing.T, name string) string {
	t.Helper()
	path, err := commands[name]()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// skipWithout skips a test whose requirement is missing; on CI it fails instead.
func skipWithout(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: on CI this test must run", what)
	}
	t.Skipf("%s is missing", what)
}

// newBrowser starts a Chromium that goes with the test. It can reach nothing but
// this machine.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	if chromium == "" {
		skipWithout(t, "Chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
		chromedp.UserDataDir(t.TempDir()))
	ctx, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, end = chromedp.NewContext(ctx)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", chromium, err)
	}
	return ctx
}

// schema creates an empty schema on the PostgreSQL of TEST_DATABASE_URL, dropped
// after the test.
func schema(t *testing.T) string {
	t.Helper()
	server := os.Getenv("TEST_DATABASE_URL")
	if server == "" {
		skipWithout(t, "TEST_DATABASE_URL")
	}
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	name := "browser" + strings.ToLower(rand.Text())
	if _, err := db.ExecContext(t.Context(), "CREATE SCHEMA "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.Background(), "DROP SCHEMA "+name+" CASCADE"); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// keyspace takes an empty database of the Redis of TEST_REDIS_URL, and leaves it
// empty.
func keyspace(t *testing.T) string {
	t.Helper()
	server := os.Getenv("TEST_REDIS_URL")
	if server == "" {
		skipWithout(t, "TEST_REDIS_URL")
	}
	options, err := redis.ParseURL(server)
	if err != nil {
		t.Fatal(err)
	}
	for options.DB = 15; options.DB > 0; options.DB-- {
		client := redis.NewClient(options)
		keys, err := client.DBSize(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		if keys > 0 { // another test's
			client.Close()
			continue
		}
		t.Cleanup(func() {
			if err := client.FlushDB(context.Background()).Err(); err != nil {
				t.Error(err)
			}
			client.Close()
		})
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = fmt.Sprintf("/%d", options.DB)
		return u.String()
	}
	t.Fatal("every database of the Redis of TEST_REDIS_URL holds something")
	return ""
}
