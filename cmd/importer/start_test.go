package main

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What the packages may allocate before main begins. The largest are the phone
// numbers' rules with 2.5 MB, and excelize, the columns and the test's own packages
// with one or two. A word list or a set of templates that is read in an init shows.
const (
	mostOfPackage = 4 << 20
	mostAtStart   = 10 << 20
)

// Every command, however short, waits for what packages do before main begins.
func TestStart(t *testing.T) {
	c := exec.Command(os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	c.Stderr = &trace
	must(t, c.Run())
	line := regexp.MustCompile(`^init (\S+) @.* (\d+) bytes, \d+ allocs$`)
	packages, all := 0, 0
	for s := bufio.NewScanner(strings.NewReader(trace.String())); s.Scan(); {
		m := line.FindStringSubmatch(s.Text())
		if m == nil {
			continue
		}
		bytes, err := strconv.Atoi(m[2])
		must(t, err)
		packages, all = packages+1, all+bytes
		if bytes > mostOfPackage {
			t.Errorf("package %s allocates %d bytes before main begins, at most %d are expected", m[1], bytes,
				mostOfPackage)
		}
	}
	if packages < 50 {
		t.Fatalf("%d packages in the trace:\n%s", packages, trace.String())
	}
	if all > mostAtStart {
		t.Errorf("the packages allocate %d bytes before main begins, at most %d are expected", all, mostAtStart)
	}
	t.Logf("%d packages allocate %d bytes", packages, all)
}
