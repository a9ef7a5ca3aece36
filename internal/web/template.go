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

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/report"
	"github.com/bulkfiling/bulkfiling/internal/text"
)

//go:embed templates static
var files embed.FS

// templates maps file names to parsed pages, each with the shared parts. They are parsed on first
// use, because most commands show no page.
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
	"reviewed":     reviewed,
	"roles":        func() []account.Role { return account.Roles },
	"once":         onceField,
	"short":        shortCost,
	"companyPath":  companyPath,
	"schedulePath": schedulePath,
	"clientPath":   clientPath,
	"event":        eventName,
	"add":          func(a, b int) int { return a + b },
	"legible":      legible,
	"sentence":     sentence,
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
	// on passes the page to a part of a template, too.
	"on": func(p page, data any) any {
		return struct {
			Page page
			Data any
		}{p, data}
	},
}

// timeElement returns a time as HTML. The script shows it in the reader's zone.
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

// onceField returns the hidden field that identifies a form, so that its change is made once even
// if the form arrives several times.
func onceField() template.HTML {
	return template.HTML(`<input type="hidden" name="once" value="` + rand.Text() + `">`)
}

// badge returns the result of a row as a badge.
func badge(r filing.Result) template.HTML {
	name := template.HTMLEscapeString(string(r))
	return template.HTML(`<span class="badge ` + name + `">` + text.Capital(name) + `</span>`)
}

// These format the numbers and nouns of the pages.
var (
	count     = text.Count
	number    = text.Number
	shortened = text.Shorten
)

// plural returns the form of a word for a number.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// legible removes characters from a foreign text that change its direction or that are invisible.
// It keeps line breaks.
func legible(foreign string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r < ' ' && r != '\n', r == 0x7f:
			return -1
		}
		return r
	}, foreign)
}

// asset is a static file.
type asset struct {
	kind, tag string
	content   []byte
}

// assets maps names to static files. They are read on first use, because most commands show no
// page.
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

// staticPath returns the address of a static file. The address contains a hash of the content, so
// that browsers cache the file until it changes.
func staticPath(name string) (string, error) {
	a, ok := assets()[name]
	if !ok {
		return "", fmt.Errorf("there is no static file %s", name)
	}
	return "/static/" + name + "?v=" + a.tag, nil
}

// gridScripts are the scripts of the grid on the Fix page, in loading order.
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
	// The ETag is weak because compressed and plain files share it.
	w.Header().Set("ETag", `W/"`+a.tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
}
