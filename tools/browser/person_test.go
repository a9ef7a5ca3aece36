//go:build unix

package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// person has a browser context with its own cookies. Errors in it fail the test.
type person struct {
	t    *testing.T
	name string
	ctx  context.Context
	base string // the address of the page, as this browser reaches it

	pictures bool // screenshots are saved

	mu      sync.Mutex
	allowed *regexp.Regexp // messages of the browser that the test provokes
	secrets []string       // that no page may show

	width, height int64 // of the window
}

// newPerson opens a window of a browser in a context of its own.
func newPerson(browser context.Context, t *testing.T, name, address string) *person {
	t.Helper()
	ctx, end := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	p := &person{t: t, name: name, ctx: ctx, base: "http://" + address}
	if err := chromedp.Listen(ctx, p.handleEvent); err != nil { // its events are on from the beginning
		t.Fatalf("%s: open a window: %v", name, err)
	}
	p.resize(1280, 900)
	return p
}

// action is a command to a browser.
type action = chromedp.Action[chromedp.Void]

// do runs an action within a bounded time.
func (p *person) do(what string, s action) {
	p.t.Helper()
	if err := p.try(s); err != nil {
		p.t.Fatalf("%s: %s: %v\n%s", p.name, what, err, p.state())
	}
}

func (p *person) try(s action) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, s)
}

// call sends the browser a command of its protocol.
func call[P, R any](p *person, command cdp.Command[P, R], parameters P) R {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	answer, err := chromedp.Call(ctx, command, parameters)
	if err != nil {
		p.t.Fatalf("%s: %s: %v", p.name, command.Method, err)
	}
	return answer
}

// handleEvent fails the test on dialogs, exceptions, console messages and requests
// to other hosts.
func (p *person) handleEvent(ev any) {
	switch ev := ev.(type) {
	case *page.EventJavascriptDialogOpening:
		p.t.Errorf("%s: a dialog opened on %s: %s", p.name, ev.URL, ev.Message)
		go func() { // a window with a dialog does nothing else
			_, _ = chromedp.Call(p.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
		}()
	case *runtime.EventExceptionThrown:
		p.t.Errorf("%s: an uncaught exception: %s %+v", p.name, ev.ExceptionDetails.Text,
			ev.ExceptionDetails.Exception)
	case *runtime.EventConsoleAPICalled:
		p.checkMessage(fmt.Sprintf("the console says %s: %v", ev.Type, ev.Args)) // the page has nothing to say there
	case *log.EventEntryAdded:
		if ev.Entry.Level == log.EntryLevelError || ev.Entry.Level == log.EntryLevelWarning {
			p.checkMessage(fmt.Sprintf("the browser says %s: %s (%s)", ev.Entry.Level, ev.Entry.Text, ev.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(ev.Request.URL); err != nil || u.Scheme != "data" && "http://"+u.Host != p.base {
			p.t.Errorf("%s: a request to another host: %s", p.name, ev.Request.URL)
		}
	}
}

func (p *person) checkMessage(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.allowed == nil || !p.allowed.MatchString(text) {
		p.t.Errorf("%s: %s", p.name, text)
	}
}

// allowMessages accepts browser messages that match a pattern, until it is called
// with "".
func (p *person) allowMessages(pattern string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = nil
	if pattern != "" {
		p.allowed = regexp.MustCompile(pattern)
	}
}

// eval runs a script in the page. A page that reloads itself meanwhile takes the
// script with it: then it is run once more, in the page that follows.
func eval[T any](p *person, script string) T {
	p.t.Helper()
	v, err := evaluate[T](p, script)
	if err != nil && strings.Contains(err.Error(), "navigated or closed") {
		p.until(`document.readyState === "complete" && document.body`)
		v, err = evaluate[T](p, script)
	}
	if err != nil {
		p.t.Fatalf("%s: %s: %v\n%s", p.name, brief(script), err, p.state())
	}
	return v
}

// expect reports an error unless a script is true.
func (p *person) expect(script, otherwise string) {
	p.t.Helper()
	if !eval[bool](p, script) {
		p.t.Errorf("%s: %s\n%s", p.name, otherwise, p.state())
	}
}

func evaluate[T any](p *person, script string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](script))
}

// query runs a script without effects in a page that is complete, again where the
// page was replaced meanwhile.
func query[T any](p *person, script string) T {
	p.t.Helper()
	p.until(`document.readyState === "complete" && document.body`)
	if v, err := evaluate[T](p, script); err == nil {
		return v
	}
	p.until(`document.readyState === "complete" && document.body`)
	return eval[T](p, script)
}

func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), 200)]
}

// quoted is a text as a script has it.
func quoted(text string) string {
	b, _ := json.Marshal(text) // a string always can be
	return string(b)
}

// until waits for a script to be true, in the page that is open then.
func (p *person) until(script string) {
	p.t.Helper()
	if !p.soon(patience, script) {
		p.t.Fatalf("%s: waited in vain for %s\n%s", p.name, brief(script), p.state())
	}
}

func (p *person) soon(wait time.Duration, script string) bool {
	for end := time.Now().Add(wait); time.Now().Before(end); time.Sleep(40 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(p.ctx, wait)
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+script+")"))
		cancel()
		if err == nil && is { // else the page is on its way
			return true
		}
	}
	return false
}

// state is the text on the screen, for messages of failures; a screenshot is kept
// with the test's artifacts.
func (p *person) state() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, _ := chromedp.Run(
		ctx, chromedp.Evaluate[string](
			`location.href + "\n" + [...document.querySelectorAll(".banner, .lost, .error, main")]
				.map((e) => e.innerText).join("\n").replace(/\n\s*\n/g, "\n")`))
	if picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot()); err == nil {
		_ = os.WriteFile(filepath.Join(p.t.ArtifactDir(), p.name+".png"), picture, 0o644)
	}
	return text[:min(len(text), 1500)]
}

// open goes to a page and inspects it.
func (p *person) open(path string) {
	p.t.Helper()
	p.leave("open "+path, chromedp.Navigate(p.base+path))
}

func (p *person) reload() {
	p.t.Helper()
	p.leave("reload", chromedp.Reload())
}

// leave does what leads to another page, waits for that page, and inspects it.
func (p *person) leave(what string, s action) {
	p.t.Helper()
	p.depart()
	p.do(what, s)
	p.arrive()
	p.inspect()
}

// depart marks the page, so that arrive can wait for the next.
func (p *person) depart() {
	_ = p.try(chromedp.Evaluate[chromedp.Void](`window.wasLeft = true`)) // of the first page there is nothing to mark
}

func (p *person) arrive() {
	p.t.Helper()
	p.until(`!window.wasLeft && document.readyState === "complete" && document.body`)
}

// the finds what a person would press: by the words on it, or by a CSS selector.
func the(words string) chromedp.JSPath {
	return chromedp.JSPath(`(() => {
		const words = ` + quoted(words) + `;
		const seen = (e) => e.checkVisibility({visibilityProperty: true}) && !e.closest("[inert]");
		if (/^[#.\[]/.test(words)) return document.querySelector(words);
		const top = document.querySelector("dialog[open]") ?? document;
		const all = [...top.querySelectorAll("button, summary, a[href], label")].filter(seen);
		const said = (e) => e.textContent.replace(/\s+/g, " ").trim();
		return all.find((e) => said(e) === words) ?? all.find((e) => said(e).startsWith(words)) ?? null;
	})()`)
}

// click is a click with the mouse on what has these words.
func click(words string) action { return chromedp.Click(the(words), chromedp.NodeVisible) }

// press clicks without leaving the page.
func (p *person) press(words string) {
	p.t.Helper()
	p.do("press "+words, click(words))
}

// follow presses what leads to another page, and inspects that page.
func (p *person) follow(words string) {
	p.t.Helper()
	p.check()
	p.leave("press "+words, click(words))
}

// send presses what leads to a page that may reload itself.
func (p *person) send(words string) {
	p.t.Helper()
	p.check()
	p.depart()
	p.press(words)
	p.arrive()
}

// check ticks the box that confirms the warnings, where there is one.
func (p *person) check() {
	p.t.Helper()
	eval[int](p, `(() => {
		const boxes = [...document.querySelectorAll("input[name=warnings]")]
			.filter((e) => e.checkVisibility() && !e.checked);
		boxes.forEach((e) => e.click());
		return boxes.length;
	})()`)
}

// tick makes a box be ticked, or not.
func (p *person) tick(selector string, on bool) {
	p.t.Helper()
	box := `document.querySelector(` + quoted(selector) + `)`
	if eval[bool](p, box+".checked") != on {
		p.do("tick "+selector, chromedp.Click(chromedp.JSPath(box)))
	}
	if eval[bool](p, box+".checked") != on {
		p.t.Fatalf("%s: %s cannot be ticked", p.name, selector)
	}
}

// text is what a person reads on the page, or in a part of it.
func (p *person) text(selector ...string) string {
	p.t.Helper()
	return eval[string](p, `(document.querySelector(`+quoted(strings.Join(append(selector, ""), ""))+
		` || "main")?.innerText ?? "")`)
}

// wantText waits until the page has these texts.
func (p *person) wantText(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if !p.soon(patience/3, `document.querySelector("main").innerText.includes(`+quoted(text)+`)`) {
			p.t.Errorf("%s: %q is not on the page\n%s", p.name, text, p.state())
		}
	}
}

// at is the path of the page.
func (p *person) at() string {
	p.t.Helper()
	return query[string](p, `location.pathname`)
}

// narrow are the widths at which no page may scroll sideways: a phone's, that of 1280 at 200 %,
// and 1280 itself.
var narrow = []int64{390, 640, 1280}

//go:embed audit.js
var auditScript string

//go:embed overflow.js
var overflowScript string

// inspected holds the kinds of elements that were inspected, by the kind of their page.
var inspected = struct {
	sync.Mutex
	pages map[string]map[string]bool
}{pages: make(map[string]map[string]bool)}

//go:embed kinds.js
var kindsScript string

// identifier matches the parts of a path that differ from page to page of a kind.
var identifier = regexp.MustCompile(`[^/]*[0-9][^/]*`)

// newOn reports whether a page has a kind of element that no inspected page of its kind
// had, and notes its kinds.
func newOn(path string, kinds []string) bool {
	inspected.Lock()
	defer inspected.Unlock()
	path = identifier.ReplaceAllString(path, "*")
	known := inspected.pages[path]
	if known == nil {
		known = make(map[string]bool)
		inspected.pages[path] = known
	}
	before := len(known)
	for _, kind := range kinds {
		known[kind] = true
	}
	return len(known) > before
}

// inspect looks for secrets that no page may show. A page with a kind of element that
// was not inspected yet is also checked for accessibility, on a phone and in the dark.
func (p *person) inspect() {
	p.t.Helper()
	at := query[string](p, `location.pathname`)
	html := query[string](
		p, `document.documentElement.outerHTML +
			[...document.querySelectorAll("input, textarea")].map((e) => e.value).join("\n")`)
	for _, secret := range p.secrets {
		if strings.Contains(html, secret) {
			p.t.Errorf("%s: %s shows %s", p.name, at, secret)
		}
	}
	if !newOn(at, query[[]string](p, kindsScript)) {
		return
	}
	for _, wrong := range query[[]string](p, auditScript) {
		p.t.Errorf("%s: %s: %s", p.name, at, wrong)
	}
	p.wantAccessible()
	for _, width := range narrow {
		p.emulate(width, 900)
		if wide := query[[]string](p, overflowScript); len(wide) > 0 {
			p.t.Errorf("%s: %s scrolls sideways at %d: %s", p.name, at, width, strings.Join(wide, "\n  "))
		}
	}
	p.emulate(p.width, p.height)
	background := `[document.body, document.documentElement].map((e) => getComputedStyle(e).backgroundColor).join()`
	light := query[string](p, background)
	p.dark(true)
	if dark := query[string](p, background); dark == light {
		p.t.Errorf("%s: %s is as light in the dark: %s", p.name, at, dark)
	}
	p.wantAccessible("color-contrast") // the other rules do not depend on colors
	p.dark(false)
}

// resize sets the size of the window.
func (p *person) resize(width, height int64) {
	p.t.Helper()
	p.width, p.height = width, height
	p.emulate(width, height)
}

// emulate shows the page in a window of another size for a while.
func (p *person) emulate(width, height int64) {
	p.t.Helper()
	p.do("resize the window", chromedp.EmulateViewport(width, height))
}

func (p *person) dark(is bool) {
	p.t.Helper()
	scheme := "light"
	if is {
		scheme = "dark"
	}
	call(p, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
}

// attach chooses a file in a form.
func (p *person) attach(selector, path string) {
	p.t.Helper()
	p.do("choose "+path, chromedp.SetUploadFiles(chromedp.CSS(selector), []string{path}))
}

// checkTabOrder goes through a page by the Tab key alone: everything that can be
// pressed or filled in gets the focus, and shows it.
func (p *person) checkTabOrder() {
	p.t.Helper()
	n := eval[int](p, `(() => {
		document.activeElement?.blur();
		const all = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, " +
				"summary, [tabindex='0']")]
			.filter((e) => e.checkVisibility({visibilityProperty: true}) && !e.disabled && e.tabIndex >= 0);
		window.met = {not: new Set(all), unseen: []};
		document.addEventListener("focusin", ({target}) => {
			met.not.delete(target);
			const shows = [target, target.closest("label")].filter(Boolean).some((e) => {
				const s = getComputedStyle(e);
				return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== "none";
			});
			if (!shows) met.unseen.push(target.outerHTML.slice(0, 120));
		});
		return all.length;
	})()`)
	for range n + 3 {
		p.pressKeys(kb.Tab)
	}
	for _, e := range eval[[]string](p, `[...met.not].map((e) => e.outerHTML.slice(0, 120))`) {
		p.t.Errorf("%s: %s: Tab does not reach %s", p.name, p.at(), e)
	}
	for _, e := range eval[[]string](p, `met.unseen`) {
		p.t.Errorf("%s: %s: the focus does not show on %s", p.name, p.at(), e)
	}
}

// fetch downloads a file with the session's cookie.
func (p *person) fetch(path string) []byte {
	p.t.Helper()
	cookies := call(p, network.GetCookies, network.GetCookiesParams{URLs: []string{p.base}})
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range cookies.Cookies {
		if !c.HTTPOnly {
			p.t.Errorf("%s: a script can read the cookie %s", p.name, c.Name)
		}
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		p.t.Fatalf("%s: download %s: %v", p.name, path, err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: download %s: %s, %v\n%s", p.name, path, answer.Status, err, brief(string(content)))
	}
	if disposition := answer.Header.Get("Content-Disposition"); !strings.HasPrefix(disposition, "attachment; ") {
		p.t.Errorf("%s: %s is no attachment: %q", p.name, path, disposition)
	}
	for _, secret := range p.secrets {
		if slices.ContainsFunc(unpacked(p.t, content),
			func(part []byte) bool { return strings.Contains(string(part), secret) }) {
			p.t.Errorf("%s: %s holds %s", p.name, path, secret)
		}
	}
	return content
}
