//go:build unix

package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
)

// Pages with the elements that page.js controls.
const (
	pageHead = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page</title>
		<link rel="icon" href="data:,"><script src="/page.js" defer></script></head><body><main><h1>Page</h1>`
	formPage = pageHead + `
		<form id="slow" method="post" action="/slow"><input type="hidden" name="a" value="1">
			<button id="submit" name="how" value="now" data-busy="Submitting…">Sub<b>mit</b></button>
			<button>Another way</button> <button type="button" id="no">Not now</button></form>
		<form id="plain" method="post" action="/slow"><button id="go" data-confirm="Really?">Go</button></form>
		<form id="file" method="post" action="/file" data-stay><button id="get">Get the file</button></form>
		<form method="get" action="/form"><button id="find" name="q" value="1">Find</button></form>
		</main><p id="announcer" role="status"></p></body></html>`
	tabsPage = pageHead + `<section data-live="/live" aria-label="Progress"><p>as it was</p></section>
		<nav aria-label="Rows"><ul>
			<li data-tally=""><a href="/tabs?show=#rows">All <span class="n">1,200</span></a></li>
			<li data-tally="ready"><a href="/tabs#rows" aria-current="page">Ready <span class="n">1,200</span></a></li>
			<li data-tally="placed" hidden><a href="/tabs?show=placed#rows">Placed <span class="n">0</span></a></li>
			<li data-tally="uncertain" hidden><a href="/tabs?show=uncertain#rows">Uncertain
				<span class="n">0</span></a></li>
			<li><a href="/tabs?show=notes#rows">Warnings <span class="n">7</span></a></li>
		</ul></nav><section id="rows"><p>rows</p></section></main><p id="announcer" role="status"></p></body></html>`
)

// serveScript serves page.js and such pages, and opens a browser for them.
func serveScript(t *testing.T, pages map[string]string, handle func(*http.ServeMux)) *person {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("..", "..", "internal", "web", "static", "page.js"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /page.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write(script)
	})
	for path, html := range pages {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Security-Policy",
				"default-src 'none'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'")
			_, _ = io.WriteString(w, html)
		})
	}
	handle(mux)
	browser := newBrowser(t)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return newPerson(browser, t, "reader", server.Listener.Addr().String())
}

// openBare opens a page without inspecting it.
func (p *person) openBare(path string) {
	p.t.Helper()
	p.do("open "+path, chromedp.Navigate(p.base+path))
	p.until(`document.readyState === "complete"`)
}

// The counts above the rows follow the batch without an announcement to screen
// readers and without moving the focus; a note beside them says that the list is older.
func TestTabsFollow(t *testing.T) {
	var counts atomic.Value
	const listed = `{"":1200,"ready":1200,"placed":0,"uncertain":0}`
	counts.Store(listed)
	p := serveScript(t, map[string]string{"/tabs": tabsPage}, func(mux *http.ServeMux) {
		mux.HandleFunc("GET /live", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"panel": %s, "tally": %[2]s}`, quoted(counts.Load().(string)), counts.Load())
		})
	})
	const visible = `[...document.querySelectorAll("nav li")].filter((e) => e.checkVisibility())
		.map((e) => e.innerText.trim()).join(", ")`
	const told = `(() => {
		const changed = document.querySelector(".changed");
		return changed.checkVisibility() ? changed.innerText : "";
	})()`
	p.openBare("/tabs#rows")
	eval[bool](p, `window.before = true, document.querySelector("[data-tally=ready] a").focus(), true`)
	for _, c := range []struct{ counts, tabs, told string }{
		{`{"":1200,"ready":1200,"placed":0,"uncertain":0}`, "All 1,200, Ready 1,200, Warnings 7", ""},
		{`{"":1200,"ready":1199,"placed":1,"uncertain":0}`, "All 1,200, Ready 1,199, Placed 1, Warnings 7",
			"1 row has changed. Refresh"},
		{`{"":1200,"ready":0,"placed":1198,"uncertain":2}`,
			"All 1,200, Ready 0, Placed 1,198, Uncertain 2, Warnings 7",
			"1,200 rows have changed. Refresh"},
		{`{"":1200,"ready":0,"placed":1200,"uncertain":0}`, "All 1,200, Ready 0, Placed 1,200, Warnings 7",
			"1,200 rows have changed. Refresh"},
	} {
		counts.Store(c.counts)
		p.until(`document.querySelector("[data-live]").innerText === ` + quoted(c.counts))
		if got := eval[string](p, visible); got != c.tabs {
			t.Errorf("%s: the tabs are %q, want %q", c.counts, got, c.tabs)
		}
		if got := eval[string](p, told); got != c.told {
			t.Errorf("%s: it says %q, want %q", c.counts, got, c.told)
		}
	}
	if !eval[bool](
		p, `document.activeElement === document.querySelector("[data-tally=ready] a") &&
			document.querySelector("#announcer").textContent === ""`) {
		t.Error("the focus was moved, or a screen reader was addressed")
	}
	counts.Store(listed)
	p.press("Refresh")
	p.until(`!window.before && document.readyState === "complete"`)
	if got := eval[string](p, told); got != "" {
		t.Errorf("after a refresh it says %q", got)
	}
}

// A submitted form says so and cannot be submitted again; after going back, or where
// it leads to a download, its buttons are restored. A GET form is left alone.
func TestAFormAtWorkSaysSo(t *testing.T) {
	var asked, files atomic.Int32
	p := serveScript(t, map[string]string{"/form": formPage}, func(mux *http.ServeMux) {
		mux.HandleFunc("POST /slow", func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if r.FormValue("a") == "1" && r.FormValue("how") != "now" {
				t.Error("the pressed button is not in the form")
			}
			w.WriteHeader(http.StatusNoContent) // as if the next page were still on its way
		})
		mux.HandleFunc("POST /file", func(w http.ResponseWriter, _ *http.Request) {
			files.Add(1)
			w.Header().Set("Content-Disposition", `attachment; filename="a.txt"`)
			_, _ = io.WriteString(w, "a")
		})
	})
	const buttons = `[...document.querySelectorAll("main button")].map((e) => e.innerHTML +
		(e.disabled ? " rests" : "") + (e.ariaBusy === "true" ? " works" : "")).join(" | ")`
	const before = "Sub<b>mit</b> | Another way | Not now | Go | Get the file | Find"
	is := func(want string) {
		t.Helper()
		if !p.soon(patience/3, buttons+" === "+quoted(want)) {
			t.Errorf("the buttons are\n%s, want\n%s", eval[string](p, buttons), want)
		}
	}
	p.openBare("/form")
	is(before)
	p.press("#submit")
	const atWork = "Submitting… rests works | Another way rests | Not now | Go | Get the file | Find"
	is(atWork)
	p.until(`document.querySelector("#announcer").textContent === "Submitting…"`)
	for _, again := range []string{`document.querySelector("#submit").click()`,
		`document.querySelector("#slow").requestSubmit()`} {
		eval[bool](p, again+`, true`)
	}
	is(atWork)
	eval[bool](p, `dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}))`)
	is(before)

	p.openBare("/form")
	p.press("#go")
	p.press("Go") // in the dialog
	is("Sub<b>mit</b> | Another way | Not now | Working… rests works | Get the file | Find")

	p.openBare("/form")
	p.press("#get")
	is("Sub<b>mit</b> | Another way | Not now | Go | Working… rests works | Find")
	is(before)
	p.press("#get")
	p.until(`document.querySelector("#get").disabled`)
	is(before)
	if p.press("#find"); !p.soon(patience/3, `location.search === "?q=1"`) {
		t.Error("the GET form was not submitted")
	}
	if asked.Load() != 2 || files.Load() != 2 {
		t.Errorf("sent %d times, and %d times for the file", asked.Load(), files.Load())
	}
}
