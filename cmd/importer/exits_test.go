package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// exitNames are the constants of main.go.
var exitNames = map[string]int{"exitDone": exitDone, "exitFailed": exitFailed, "exitCorrect": exitCorrect,
	"exitStopped": exitStopped, "exitUncertain": exitUncertain, "exitInterrupted": exitInterrupted}

// TestExitCodesOfHelp compares the exit codes in the help of each command with
// those that the functions it calls return.
func TestExitCodesOfHelp(t *testing.T) {
	graph := parseFunctions(t)
	a := newApp(strings.NewReader(""), io.Discard, io.Discard, func(string) string { return "" })
	seen := make(map[int]bool)
	for c := range allCommands(a.command()) {
		returned := map[int]bool{exitDone: true, exitFailed: true}
		for _, constructor := range []string{constructorOf(c), conventionalName(c)} {
			graph.collect(constructor, returned, map[string]bool{})
		}
		got, want := slices.Sorted(maps.Keys(exitCodes(c))), slices.Sorted(maps.Keys(returned))
		if !slices.Equal(got, want) {
			t.Errorf("%s: the help lists the exit codes %d, and the code returns %d", c.CommandPath(), got, want)
		}
		maps.Copy(seen, returned)
	}
	if len(seen) != len(exitNames) {
		t.Errorf("only the exit codes %v are returned", seen)
	}
}

// allCommands yields the commands that do something.
func allCommands(root *cobra.Command) func(func(*cobra.Command) bool) {
	return func(yield func(*cobra.Command) bool) {
		for _, c := range root.Commands() {
			if c.Name() == "help" || c.Name() == "completion" {
				continue
			}
			if c.Runnable() && !yield(c) {
				return
			}
			for sub := range allCommands(c) {
				if !yield(sub) {
					return
				}
			}
		}
	}
}

// closureName is the runtime's name of a function literal.
var closureName = regexp.MustCompile(`\.(\w+)\.func[\d.]+$`)

// constructorOf names the function whose literal the command runs.
func constructorOf(c *cobra.Command) string {
	run := reflect.ValueOf(c.RunE)
	if c.RunE == nil {
		run = reflect.ValueOf(c.Run)
	}
	if found := closureName.FindStringSubmatch(runtime.FuncForPC(run.Pointer()).Name()); found != nil {
		return found[1]
	}
	return ""
}

// conventionalName is approveCommand for "importer approve", and
// scheduleRunNowCommand for "importer season run-now": a season is a schedule. A
// command that a shared function constructs has the rest of its work there.
func conventionalName(c *cobra.Command) string {
	words := strings.FieldsFunc(c.CommandPath(), func(r rune) bool { return r == ' ' || r == '-' })[1:]
	if words[0] == "season" {
		words[0] = "schedule"
	}
	for i := range words[1:] {
		words[i+1] = strings.ToUpper(words[i+1][:1]) + words[i+1][1:]
	}
	return strings.Join(words, "") + "Command"
}

// functions are the functions of this package by name. Methods of the same name
// count as one.
type functions map[string][]*ast.FuncDecl

func parseFunctions(t *testing.T) functions {
	t.Helper()
	all := make(functions)
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				all[d.Name.Name] = append(all[d.Name.Name], d)
			}
		}
	}
	return all
}

// collect adds the exit codes that a function can return, itself or by what it
// calls. It does not follow calls of functions that return another command, nor
// the argument of expectExit, which turns an exit code into an error.
func (all functions) collect(name string, codes map[int]bool, visited map[string]bool) {
	if visited[name] {
		return
	}
	visited[name] = true
	for _, f := range all[name] {
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && called(call) == "expectExit" {
				codes[exitInterrupted] = true // the one that it passes on
				return false
			}
			addCodes(codes, n)
			if next := referenced(n); next != "" && !all.returnsCommand(next) {
				all.collect(next, codes, visited)
			}
			return true
		})
	}
}

// referenced names the function that is called, or the method that is a value.
func referenced(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		return called(n)
	case *ast.SelectorExpr:
		return n.Sel.Name
	}
	return ""
}

// addCodes adds the exit codes that a piece of code itself stands for.
func addCodes(codes map[int]bool, n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		if called(n) == "exit" {
			addCode(codes, n.Args[0])
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "code" {
			addCode(codes, n.Value)
		}
	case *ast.SelectorExpr:
		switch n.Sel.Name {
		case "Context":
			codes[exitInterrupted] = true
		case "ExitCode":
			codes[exitCorrect], codes[exitStopped], codes[exitUncertain] = true, true, true
		}
	case *ast.Ident:
		if n.Name == "errDeclined" {
			codes[exitStopped] = true
		}
	}
}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func addCode(codes map[int]bool, e ast.Expr) {
	if name, ok := e.(*ast.Ident); ok {
		if code, known := exitNames[name.Name]; known {
			codes[code] = true
		}
	}
}

// returnsCommand reports whether a function constructs a command.
func (all functions) returnsCommand(name string) bool {
	return slices.ContainsFunc(all[name], func(f *ast.FuncDecl) bool {
		if f.Type.Results == nil {
			return false
		}
		return slices.ContainsFunc(f.Type.Results.List, func(r *ast.Field) bool {
			star, ok := r.Type.(*ast.StarExpr)
			if !ok {
				return false
			}
			selector, ok := star.X.(*ast.SelectorExpr)
			return ok && selector.Sel.Name == "Command"
		})
	})
}
