package logs

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// loggers are the methods of slog.Logger that write a line, with the number of
// arguments before the attributes.
var loggers = map[string]int{
	"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "DebugContext": 2, "InfoContext": 2, "WarnContext": 2,
	"ErrorContext": 2, "Log": 3, "With": 0,
}

// call is an attribute of a call that writes a line.
type call struct {
	name string
	at   token.Position
}

// calls finds the attributes of every call of a logger in the program, and those of
// lists of attributes that are passed to one.
func calls(t *testing.T) (all []call) {
	t.Helper()
	set := token.NewFileSet()
	for _, root := range []string{"../../cmd", "../../internal"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				for _, key := range keysOf(n) {
					if name, ok := key.(*ast.BasicLit); ok && name.Kind == token.STRING {
						text, _ := strconv.Unquote(name.Value)
						all = append(all, call{text, set.Position(name.Pos())})
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// keysOf are the expressions in the place of names of attributes: of a call of a
// logger, of append(about, …) and of a list about := []any{…}.
func keysOf(n ast.Node) (keys []ast.Expr) {
	var attributes []ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		switch f := n.Fun.(type) {
		case *ast.SelectorExpr:
			before, is := loggers[f.Sel.Name]
			if f.Sel.Name == "report" {
				before = 2 // Worker.report of package jobs
			} else if !is || !isLogger(f.X) {
				return nil
			}
			if len(n.Args) < before {
				return nil
			}
			attributes = n.Args[before:]
		case *ast.Ident:
			if f.Name != "append" || !isList(n.Args[0]) {
				return nil
			}
			attributes = n.Args[1:]
		}
	case *ast.AssignStmt:
		if len(n.Lhs) != 1 || !isList(n.Lhs[0]) {
			return nil
		}
		if list, ok := n.Rhs[0].(*ast.CompositeLit); ok {
			attributes = list.Elts
		}
	}
	for i := 0; i < len(attributes); i += 2 {
		keys = append(keys, attributes[i])
	}
	return keys
}

// isLogger reports whether an expression is a logger, by its name: log, x.log, x.Log.
func isLogger(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name == "log"
	case *ast.SelectorExpr:
		return strings.EqualFold(x.Sel.Name, "log")
	}
	return false
}

// isList reports whether an expression is a list of attributes, by its name.
func isList(x ast.Expr) bool {
	name, ok := x.(*ast.Ident)
	return ok && (name.Name == "about" || name.Name == "line")
}

// Every call of a logger names its attributes as the list does, and the list has no
// other.
func TestEveryCallUsesTheNames(t *testing.T) {
	unused := make(map[string]bool)
	for _, n := range Names {
		if unused[n.Name] || n.Meaning == "" {
			t.Errorf("%s is listed twice, or without a meaning", n.Name)
		}
		unused[n.Name] = true
	}
	listed := len(unused)
	all := calls(t)
	for _, c := range all {
		if !slices.ContainsFunc(Names, func(n Name) bool { return n.Name == c.name }) {
			t.Errorf("%s: %s is not in the list of names", c.at, c.name)
		}
		delete(unused, c.name)
	}
	for name := range unused {
		t.Errorf("no line has %s", name)
	}
	if len(all) < 2*listed {
		t.Errorf("only %d attributes were found", len(all))
	}
}

// Both formats write the same attributes, and nothing else is a format.
func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name, want string
		fails      bool
	}{
		{"", `{"time":"","level":"WARN","msg":"row swept","batch":"b7k2","row":4}`, false},
		{"json", `{"time":"","level":"WARN","msg":"row swept","batch":"b7k2","row":4}`, false},
		{"text", `level=WARN msg="row swept" batch=b7k2 row=4`, false},
		{"xml", "", true},
	} {
		format, err := ParseFormat(c.name, JSON)
		if (err != nil) != c.fails {
			t.Errorf("%q: %v", c.name, err)
			continue
		}
		var out bytes.Buffer
		log := slog.New(NewHandler(&out, format, slog.LevelWarn))
		log.Info("too little")
		log.Warn("row swept", "batch", "b7k2", "row", 4)
		got := regexp.MustCompile(`time=\S+ |"[0-9-]+T[^"]+"`).ReplaceAllStringFunc(strings.TrimSpace(out.String()),
			func(at string) string {
				if strings.HasPrefix(at, `"`) {
					return `""`
				}
				return ""
			})
		if !c.fails && got != c.want {
			t.Errorf("%q writes %s, want %s", c.name, got, c.want)
		}
	}
}
