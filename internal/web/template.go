package web

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

//go:embed templates static
var files embed.FS

// templates are the pages by their file, each with what all share. They are
// parsed when the first is shown: most commands show none.
var templates = sync.OnceValue(mustParse)

func mustParse() map[string]*template.Template {
	all := make(map[string]*template.Template)
	common := []string{"templates/base.html", "templates/parts.html", "templates/rows.html", "templates/plan.html",
		"templates/quote.html",
		"templates/upload-box.html", "templates/mapping.html", "templates/setup-note.html"}
	shared := template.Must(template.New("").Funcs(functions).ParseFS(files, common...))
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		if !slices.Contains(common, name) {
			all[path.Base(name)] = template.Must(template.Must(shared.Clone()).ParseFS(files, name))
		}
	}
	return all
}

var functions = template.FuncMap{
	"static":       staticPath,
	"gridScripts":  func() []string { return gridScripts },
	"money":        func(c money.Cents) string { return c.Dollars() },
	"minus":        func(c money.Cents) string { return (-c).Dollars() },
	"entry":        report.EntryText,
	"signed":       signed,
	"cost":         func(c money.Cost) string { return c.String() },
	"count":        count,
	"countof":      text.CountOf,
	"number":       number,
	"when":         func(t time.Time) template.HTML { return timeElement(t, "datetime") },
	"day":          func(t time.Time) template.HTML { return timeElement(t, "date") },
	"date":         dateElement,
	"ago":          func(t time.Time) template.HTML { return timeElement(t, "ago") },
	"title":        func(p filing.Product) string { return text.Capital(p.Title()) },
	"product":      func(p filing.Product) string { return p.Title() },
	"badge":        badge,
	"roles":        func() []ledger.Role { return ledger.Roles },
	"once":         onceField,
	"short":        shortCost,
	"companyPath":  companyPath,
	"schedulePath": schedulePath,
	"clientPath":   clientPath,
	"event":        eventName,
	"add":          func(a, b int) int { return a + b },
	"legible":      legible,
	"answer":       func(a ledger.Attempt) string { return text.Capital(report.AnswerText(a)) },
	"confirmation": confirmation,
	"step":         stepText,
	"tone":         toneOf,
	"filedAt":      filedAt,
	"exceptionOf":  exceptionOf,
	"timeTaken":    timeTaken,
	"eventState":   func(s ledger.EventState) stateWords { return eventStates[s] },
	"legibleBody":  legibleBody,
	"dropzone": func(label, hint, accept string) any {
		return struct{ Label, Hint, Accept string }{label, hint, accept}
	},
	"on": func(p page, data any) any { // for a part that needs the page, too
		return struct {
			Page page
			Data any
		}{p, data}
	},
}

// timeElement is a moment that the script shows in its reader's zone.
func timeElement(t time.Time, how string) template.HTML {
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	shown := t.Format("2006-01-02 15:04 UTC")
	if how == "date" {
		shown = t.Format("2006-01-02")
	}
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `" data-local="` + how + `">` + shown +
		`</time>`)
}

// onceField returns the hidden field that identifies a form, so that its effect
// happens once however often the form arrives.
func onceField() template.HTML {
	return template.HTML(`<input type="hidden" name="once" value="` + rand.Text() + `">`)
}

// badge returns the result of a row as a badge.
func badge(r filing.Result) template.HTML {
	name := template.HTMLEscapeString(string(r))
	return template.HTML(`<span class="badge ` + name + `">` + text.Capital(name) + `</span>`)
}

// Numbers and nouns of the pages.
var (
	count     = text.Count
	number    = text.Number
	shortened = text.Shorten
)

// legible removes from foreign texts the characters that turn the direction of a
// page or hide in it. Line breaks stay.
func legible(foreign string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r < ' ' && r != '\n', r == 0x7f:
			return -1
		}
		return r
	}, foreign)
}

// asset is a static file, by its name.
type asset struct {
	kind, tag string
	content   []byte
}

// assets are the static files by name. They are read when a page first names one:
// most commands show none.
var assets = sync.OnceValue(mustRead)

func mustRead() map[string]asset {
	all := make(map[string]asset)
	err := fs.WalkDir(files, "static", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := files.ReadFile(file)
		sum := sha256.Sum256(content)
		kind := cmp.Or(mime.TypeByExtension(path.Ext(file)), "text/plain; charset=utf-8")
		all[strings.TrimPrefix(file, "static/")] = asset{kind, hex.EncodeToString(sum[:6]), content}
		return err
	})
	if err != nil {
		panic(err)
	}
	return all
}

// staticPath names a static file with its content, so that a browser keeps it
// until there is another.
func staticPath(name string) (string, error) {
	a, ok := assets()[name]
	if !ok {
		return "", fmt.Errorf("there is no static file %s", name)
	}
	return "/static/" + name + "?v=" + a.tag, nil
}

// gridScripts make the table of the Fix page, in the order in which they load.
var gridScripts = []string{
	"vendor/slickgrid/slick.core.js", "vendor/slickgrid/slick.interactions.js", "vendor/slickgrid/slick.grid.js",
	"vendor/slickgrid/slick.cellrangedecorator.js", "vendor/slickgrid/slick.cellrangeselector.js",
	"vendor/slickgrid/slick.cellselectionmodel.js", "grid-table.js", "grid-store.js", "grid.js",
}

func serveStatic(w http.ResponseWriter, r *http.Request) {
	a, ok := assets()[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.URL.Query().Get("v") == a.tag {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("ETag", `W/"`+a.tag+`"`) // weak: compressed or not, it is the same file
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
}
