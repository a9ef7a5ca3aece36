//go:build unix

package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// A page with what its script sees to, and a server that answers when it is told.
const (
	pageHead = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page</title><link rel="icon" href="data:,"><script src="/page.js" defer></script></head><body><main><h1>Page</h1>`
	tabsPage = pageHead + `<section data-live="/live" aria-label="How it goes"><p>as it was</p></section>
		<nav aria-label="Rows"><ul>
			<li data-tally=""><a href="/tabs?show=#rows">All <span class="n">1,200</span></a></li>
			<li data-tally="ready"><a href="/tabs#rows" aria-current="page">Ready <span class="n">1,200</span></a></li>
			<li data-tally="placed" hidden><a href="/tabs?show=placed#rows">Placed <span class="n">0</span></a></li>
			<li data-tally="uncertain" hidden><a href="/tabs?show=uncertain#rows">Uncertain <span class="n">0</span></a></li>
			<li><a href="/tabs?show=notes#rows">With remarks <span class="n">7</span></a></li>
		</ul></nav><section id="rows"><p>rows</p></section></main><p id="say" role="status"></p></body></html>`
)

// stage serves the page's script and such pages to a browser.
func stage(t *testing.T, pages map[string]string, handle func(*http.ServeMux)) *person {
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
			w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'")
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

// goTo opens a page of a stage.
func (p *person) goTo(path string) {
	p.t.Helper()
	p.do("open "+path, chromedp.Navigate(p.base+path))
	p.until(`document.readyState === "complete"`)
}

// The tabs above the rows follow the batch without a word to those who listen and
// without moving the focus; that the list is older is told beside them.
func TestTabsFollow(t *testing.T) {
	counts := make(chan string)
	p := stage(t, map[string]string{"/tabs": tabsPage}, func(mux *http.ServeMux) {
		mux.HandleFunc("GET /live", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
					return
				case json := <-counts:
					fmt.Fprintf(w, "event: tally\ndata: %s\n\nevent: panel\ndata: %s\n\n", json, json)
				}
			}
		})
	})
	const visible = `[...document.querySelectorAll("nav li")].filter((e) => e.checkVisibility()).map((e) => e.innerText.trim()).join(", ")`
	const told = `document.querySelector(".changed").checkVisibility() ? document.querySelector(".changed").innerText : ""`
	p.goTo("/tabs#rows")
	eval[bool](p, `window.before = true, document.querySelector("[data-tally=ready] a").focus(), true`)
	for _, c := range []struct{ counts, tabs, told string }{
		{`{"":1200,"ready":1200,"placed":0,"uncertain":0}`, "All 1,200, Ready 1,200, With remarks 7", ""},
		{`{"":1200,"ready":1199,"placed":1,"uncertain":0}`, "All 1,200, Ready 1,199, Placed 1, With remarks 7", "1 row has changed since. Look again"},
		{`{"":1200,"ready":0,"placed":1198,"uncertain":2}`, "All 1,200, Ready 0, Placed 1,198, Uncertain 2, With remarks 7", "1,200 rows have changed since. Look again"},
		{`{"":1200,"ready":0,"placed":1200,"uncertain":0}`, "All 1,200, Ready 0, Placed 1,200, With remarks 7", "1,200 rows have changed since. Look again"},
	} {
		counts <- c.counts
		p.until(`document.querySelector("[data-live]").innerText === ` + quoted(c.counts))
		if got := eval[string](p, visible); got != c.tabs {
			t.Errorf("%s: the tabs are %q, want %q", c.counts, got, c.tabs)
		}
		if got := eval[string](p, told); got != c.told {
			t.Errorf("%s: it says %q, want %q", c.counts, got, c.told)
		}
	}
	if !eval[bool](p, `document.activeElement === document.querySelector("[data-tally=ready] a") && document.querySelector("#say").textContent === ""`) {
		t.Error("the focus was moved, or somebody was spoken to")
	}
	p.press("Look again")
	p.until(`!window.before && document.readyState === "complete"`)
	if got := eval[string](p, told); got != "" {
		t.Errorf("looked at again, it says %q", got)
	}
}
