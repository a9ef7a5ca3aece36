package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts are the promises of the command, each in a file named for one.
// They run the command as its own process, in a folder of their own, against a
// sandbox of their own. With -update, the expected output is written again.
//
//	go test ./cmd/importer -run Script/funds
var update = flag.Bool("update", false, "write the expected output in testdata/script again")

func TestMain(m *testing.M) {
	// The scripts wait for their servers as much as they compute.
	_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	testscript.Main(m, map[string]func(){"importer": main})
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		Setup:              setup,
		RequireUniqueNames: true,
		UpdateScripts:      *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"age":       age,
			"bytes":     writeBytes,
			"deliver":   deliver,
			"edit":      editSheet,
			"exits":     exits,
			"fees":      sandboxFees,
			"helps":     helps,
			"interrupt": interrupt,
			"jsonlast":  jsonLast,
			"keep":      keep,
			"nostray":   noStray,
			"nowhere":   nowhere,
			"strew":     strewNumbers,
			"port":      port,
			"presses":   presses,
			"sample":    copySample,
			"sandbox":   sandboxControl,
			"policy":    policy,
			"second":    second,
			"settings":  writeSettingsFile,
			"sheet":     showSheet,
			"tell":      tell,
			"uncertain": uncertainRow,
			"xlsx":      writeXLSX,
		},
	})
}

// setup gives a script the environment of a person who has never used the
// program: it names no service, which only `sandbox start` does.
func setup(env *testscript.Env) error {
	env.Setenv("FILING_DATA_DIR", filepath.Join(env.WorkDir, "data"))
	env.Setenv("LEDGER", sandboxLedger(filepath.Join(env.WorkDir, "data")))
	env.Setenv("WORKER_CONCURRENCY", "4")
	env.Setenv("TZ", "UTC")
	env.Setenv("PERSON", currentUser())
	env.Setenv("NEXT_YEAR", strconv.Itoa(time.Now().Year()+1))
	for _, name := range []string{"FILING_BASE_URL", "FILING_API_KEY", "FILING_API_KEY_FILE", "FILING_WEBHOOK_SECRET",
		"FILING_WEBHOOK_SECRET_FILE", "FILING_LIVE", "FILING_REPEAT_AGENT", "FILING_FEES", "FILING_RATE",
		"FILING_NOTIFY", "DATABASE_URL", "REDIS_URL", "PUBLIC_URL"} {
		env.Setenv(name, "")
	}
	env.Values[serviceKey{}] = &service{}
	env.Defer(func() { env.Values[serviceKey{}].(*service).end(env) })
	return nil
}

// sandboxLedger is the folder of the ledger that the first sandbox's organization
// has in a data folder.
func sandboxLedger(data string) string {
	return filepath.Join(data, "accounts", "harbor-accounting-test")
}

// exits runs a command that has to end with an exit status:
//
//	exits 2 importer check roster.csv
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS command [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitStatus(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// helps wants a help text to be whole. A help text needs no process of its own.
func helps(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: helps command [argument...]")
	}
	var out bytes.Buffer
	root := newRootCommand(newGlobal(strings.NewReader(""), &out, io.Discard, ts.Getenv))
	root.SetArgs(append(args[1:], "--help"))
	ts.Check(root.ExecuteContext(context.Background()))
	text := out.String()
	for _, part := range []string{"Usage:\n  " + strings.Join(args, " "), "Examples:\n", "Flags:\n"} {
		if !strings.Contains(text, part) {
			ts.Fatalf("%s --help lacks %q", strings.Join(args, " "), part)
		}
	}
}

func exitStatus(ts *testscript.TestScript, err error) int {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode()
	}
	ts.Check(err)
	return 0
}

// interrupt runs a command, sends it the signal of a Ctrl-C as soon as the
// sandbox's records say so, and wants it to end with 130:
//
//	interrupt 'orders>=3' importer run roster.csv --yes
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupt WHEN command [argument...]")
	}
	cmd := scriptCommand(ts, args[1:])
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	ts.Check(cmd.Start())
	defer cmd.Process.Kill() // of no effect where it has ended
	serviceOf(ts).await(ts, args[:1])
	ts.Check(cmd.Process.Signal(os.Interrupt))
	if got := exitStatus(ts, cmd.Wait()); got != exitInterrupted {
		ts.Fatalf("exit status %d, want %d\n%s", got, exitInterrupted, ts.Stderr())
	}
}

// scriptCommand is a command in the folder and the environment of the script.
func scriptCommand(ts *testscript.TestScript, args []string) *exec.Cmd {
	path, err := exec.LookPath(args[0]) // testscript.Main put the command there
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"FILING_BASE_URL", "FILING_API_KEY", "FILING_DATA_DIR", "WORKER_CONCURRENCY",
		"TMPDIR", "PATH", "HOME", "XDG_CONFIG_HOME"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

// compare decides "key==value", "key<=value" and the like over facts that are
// text; whole numbers and amounts are compared as numbers.
func compare(claim string, fact func(key string) (string, bool)) (ok bool, got string) {
	for _, op := range []string{"==", "!=", "<=", ">="} {
		key, want, found := strings.Cut(claim, op)
		if !found {
			continue
		}
		got, known := fact(key)
		if !known {
			return false, "nothing of that name"
		}
		a, errA := strconv.ParseFloat(got, 64)
		b, errB := strconv.ParseFloat(want, 64)
		if errA != nil || errB != nil {
			return (got == want) == (op == "==") && op[0] != '<' && op[0] != '>', got
		}
		switch op {
		case "==":
			return a == b, got
		case "!=":
			return a != b, got
		case "<=":
			return a <= b, got
		default:
			return a >= b, got
		}
	}
	return false, "no comparison"
}

// patience bounds every wait of the scripts, on a machine that does much else, too.
const testTimeout = 2 * time.Minute
