//go:build unix

package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver of schemas
)

// patience bounds every wait. A wait ends when its condition is true, so patience passes
// only if something hangs.
const patience = 2 * time.Minute

// chromium is the path of the browser, empty if none is installed.
var chromium string

// builds is the folder of the command that the tests start.
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

// importer builds the command from the checkout around us when it is first used, without
// debug information, which halves the time of the linker. It returns its path.
var importer = sync.OnceValues(func() (string, error) {
	path := filepath.Join(builds, "importer")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", path, "./cmd/importer")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build importer: %w\n%s", err, out)
	}
	return path, nil
})

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
