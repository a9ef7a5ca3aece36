package main

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
	"github.com/bulkfiling/bulkfiling/internal/season"
)

// copySample puts one of the samples into the script's folder:
//
//	sample eins.csv
func copySample(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sample FILE")
	}
	content, err := os.ReadFile(filepath.Join(samplesDir, args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), content, 0o644))
}

// samplesDir is absolute: scripts run in folders of their own.
var samplesDir = func() string {
	path, err := filepath.Abs(filepath.Join("..", "..", "samples"))
	if err != nil {
		panic(err)
	}
	return path
}()

// sandboxFees writes the state fees that the sandbox charges, as a file for
// FILING_FEES, so that the two can be held together to the cent:
//
//	fees fees.csv
func sandboxFees(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fees FILE.csv")
	}
	var text bytes.Buffer
	lines := csv.NewWriter(&text)
	ts.Check(lines.WriteAll([][]string{
		{"product", "state", "entityType", "amount"}, {"expedited-service", "", "", "50"},
		{"annual-report", "", "", "0"}, {"formation", "", "", "0"},
		{"foreign-qualification", "", "", "0"}, // what the sandbox does not list
	}))
	for _, fee := range sandbox.DefaultFees() {
		ts.Check(lines.Write([]string{strings.ReplaceAll(fee.Product, "_", "-"), fee.State, fee.EntityType,
			money.Cents(fee.Cents).String()}))
	}
	lines.Flush()
	ts.Check(lines.Error())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text.Bytes(), 0o644))
}

// A sandbox charges what a quote estimates.
func TestFeesOfTheSandbox(t *testing.T) {
	builtin := pricing.BuiltinFees().Lines()
	for _, fee := range sandbox.DefaultFees() {
		found := false
		for _, l := range builtin {
			if string(l.Product) != strings.ReplaceAll(fee.Product, "_", "-") || string(l.State) != fee.State ||
				(fee.EntityType != "" && string(l.EntityType) != fee.EntityType) || l.Residence == "foreign" {
				continue
			}
			found = true
			if amount, holds := l.Fee.At(2026, season.DateOf(time.Now())); !holds || int64(amount) != fee.Cents {
				t.Errorf("%+v: the built-in fee is %s", fee, amount)
			}
		}
		if !found {
			t.Errorf("%+v: there is no built-in fee", fee)
		}
	}
}

// The fees of the demo in containers are those that its sandbox charges an LLC.
func TestFeesOfTheDemo(t *testing.T) {
	fees, err := pricing.LoadFees(filepath.Join("..", "..", "deploy", "demo", "state-fees.csv"))
	must(t, err)
	for _, l := range fees.Lines() {
		if l.Read != "" {
			continue // a built-in line
		}
		amount, holds := l.Fee.At(2026, season.DateOf(time.Now()))
		if charged := slices.ContainsFunc(sandbox.DefaultFees(), func(f sandbox.Fee) bool {
			return strings.ReplaceAll(f.Product, "_", "-") == string(l.Product) && f.State == string(l.State) &&
				f.EntityType != "CORP" && f.Cents == int64(amount)
		}); !holds || !charged {
			t.Errorf("%s %s: the sandbox does not charge %s", l.Product, l.State, amount)
		}
	}
}

// nowhere searches every file of the script's folder, workbooks part by part,
// for Social Security numbers in each spelling. The folder in, which holds what
// was given, is left out.
//
//	nowhere 078051120 219099999
func nowhere(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: nowhere NUMBER...")
	}
	seen := 0
	search := func(name string, content []byte) {
		seen++
		for _, n := range args {
			for _, spelling := range []string{n, n[:3] + "-" + n[3:5] + "-" + n[5:],
				n[:3] + " " + n[3:5] + " " + n[5:]} {
				if bytes.Contains(content, []byte(spelling)) {
					ts.Fatalf("the number that ends in %s stands in %s", n[5:], name)
				}
			}
		}
	}
	searchFiles(ts, search)
	ts.Logf("searched %d files and parts", seen)
}

// searchFiles hands over every file of the script's folder, and workbooks part by
// part. The folder in, which holds what was given, is left out.
func searchFiles(ts *testscript.TestScript, search func(name string, content []byte)) {
	work := ts.Getenv("WORK")
	ts.Check(filepath.WalkDir(work, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && path == filepath.Join(work, "in") {
			return skip(err)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(work, path)
		search(name, content)
		if !strings.HasSuffix(path, ".xlsx") {
			return nil
		}
		book, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return err
		}
		for _, part := range book.File {
			r, err := part.Open()
			if err != nil {
				return err
			}
			content, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			search(name+"!"+part.Name, content)
		}
		return nil
	}))
}

func skip(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

// companyOf is the id of the company that the filing service knows by a slug.
func companyOf(ts *testscript.TestScript, slug string) string {
	request, err := http.NewRequest(http.MethodGet, ts.Getenv("FILING_BASE_URL")+"/companies/"+slug, nil)
	ts.Check(err)
	request.Header.Set("x-api-key", ts.Getenv("FILING_API_KEY"))
	answer, err := http.DefaultClient.Do(request)
	ts.Check(err)
	defer answer.Body.Close()
	var company struct{ ID string }
	ts.Check(json.NewDecoder(answer.Body).Decode(&company))
	return company.ID
}

// uncertainRow puts the number of the only uncertain row of a results workbook
// into a variable:
//
//	uncertain ROW roster.results.xlsx
func uncertainRow(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: uncertain VARIABLE FILE.xlsx")
	}
	rows := readSheet(ts, args[1]+"!Results")
	at := slices.Index(rows[0], "Result")
	var found []int
	for i, row := range rows {
		if at < len(row) && row[at] == "uncertain" {
			found = append(found, i+1)
		}
	}
	if len(found) != 1 {
		ts.Fatalf("the rows %v of %s are uncertain, not one", found, args[1])
	}
	ts.Setenv(args[0], strconv.Itoa(found[0]))
}
