package lint

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// module is the prefix of the packages' import paths.
const module = "github.com/bulkfiling/bulkfiling/"

// imports lists the packages of this module that each package may import. A
// package that is not listed may not exist.
var imports = map[string]string{
	"internal/outbox":            `audit filing money store`,
	"internal/account":           `audit outbox store`,
	"internal/audit":             `filing store`,
	"internal/store":             `network`,
	"internal/logs":              ``,
	"internal/cache":             ``,
	"internal/folder":            ``,
	"internal/retry":             ``,
	"internal/secret":            ``,
	"internal/text":              ``,
	"internal/money":             ``,
	"internal/filing":            `money`,
	"internal/sheet":             ``,
	"internal/lint":              ``,
	"internal/nettest":           ``,
	"internal/sheettest":         ``,
	"internal/goldentest":        ``,
	"internal/filingapi":         `filing network`,
	"internal/balance":           `filing money season`,
	"internal/ledger":            `account audit balance filing money outbox store`,
	"internal/approval":          `account audit filing ledger money outbox store`,
	"internal/ledgertest":        `approval ledger store`,
	"internal/backup":            `ledger outbox store`,
	"internal/pricing":           `approval balance filing filingapi ledger money season sheet`,
	"internal/importer":          `filing ledger season sheet`,
	"internal/report":            `filing ledger money season sheet store`,
	"internal/season":            `filing money sheet`,
	"internal/lookup":            `filing filingapi ledger`,
	"internal/intake":            `approval audit filing importer ledger lookup pricing sheet store webhook`,
	"internal/jobs":              `approval filing filingapi ledger lookup money network pricing store`,
	"internal/metrics":           `filing filingapi jobs ledger money`,
	"internal/rehearsal":         `filing filingapi importer intake jobs ledger pricing report resolve sandbox`,
	"internal/sandbox":           ``,
	"internal/simulate":          ``,
	"internal/webhook":           `filing store`,
	"internal/network":           ``,
	"internal/signin":            `network`,
	"internal/signin/signintest": ``,
	"internal/documents":         `filingapi ledger network sheet`,
	"internal/notify":            `filing ledger money network outbox`,
	"internal/resolve":           `filing filingapi jobs ledger money pricing`,
	"internal/schedule": `approval audit balance filing importer intake ledger money outbox pricing season sheet
		store`,
	"internal/web": `account approval audit backup documents filing filingapi importer intake jobs ledger lookup
		money network outbox pricing rehearsal report resolve schedule season sheet signin store webhook`,
	"internal/config": `account approval filing filingapi jobs ledger logs lookup money network notify pricing schedule
		signin store`,
	"samples": ``,
	"cmd/importer": `account approval audit backup config documents filing filingapi importer intake jobs ledger logs
		lookup metrics money network notify pricing rehearsal report resolve samples sandbox schedule season
		sheet signin store web webhook`,
	"cmd/worker": `config filingapi jobs ledger logs metrics network pricing sheet store`,
}

// inModule runs a test in the module's root. The change of folder belongs into the test, because
// the cache of go test would not see it in TestMain, and miss changes of the documents.
func inModule(t *testing.T) {
	t.Helper()
	file, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(strings.TrimSpace(string(file))))
}

func TestLayering(t *testing.T) {
	inModule(t)
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module)
		if p.ImportPath == strings.TrimSuffix(module, "/") {
			continue // doc.go of the root
		}
		allowed, listed := imports[name]
		if !listed {
			t.Errorf("%s is not listed in imports", name)
			continue
		}
		seen++
		for _, i := range p.Imports {
			pkg, ours := strings.CutPrefix(i, module)
			if ours && !slices.Contains(strings.Fields(allowed), strings.TrimPrefix(pkg, "internal/")) &&
				!slices.Contains(everywhere, pkg) {
				t.Errorf("%s may not import %s", name, pkg)
			}
		}
	}
	if seen != len(imports) {
		t.Errorf("%d of %d listed packages exist", seen, len(imports))
	}
}

// TestPackageDocumentation checks that doc.go describes every package and names files that exist.
func TestPackageDocumentation(t *testing.T) {
	inModule(t)
	_, doc, _ := strings.Cut(read(t, "doc.go"), "# Packages")
	packages, order, _ := strings.Cut(doc, "# Reading order")
	for path := range imports {
		name := strings.TrimPrefix(path, "internal/")
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(packages) {
			t.Errorf("doc.go does not describe %s", path)
		}
	}
	files := regexp.MustCompile(`\w+/\w+\.go`).FindAllString(order, -1)
	if len(files) < 10 {
		t.Errorf("doc.go names %d files, want the way of a row", len(files))
	}
	for _, file := range files {
		if _, err := os.Stat(filepath.Join("internal", file)); err != nil {
			t.Errorf("doc.go: %v", err)
		}
	}
}

// everywhere lists the packages that every package may import. They import none.
var everywhere = []string{"internal/cache", "internal/folder", "internal/retry", "internal/secret", "internal/text"}
