//go:build unix

package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// grids are people who fix a spreadsheet in the grid.
type grids struct {
	*way
	clicks, keys int
}

// faultySheet has 300 rows: 80 years of two digits, 60 misspelled states, and 12
// ZIP codes that lost their zero.
func faultySheet(tb testing.TB) table {
	sheet := reports("g", 300)
	year, state := sheet.column(tb, "Filing Year"), sheet.column(tb, "Filing State")
	for i, row := range sheet[1:] {
		row[state], row[3] = "DE", "DE"
		copy(row[10:], []string{"200 Continental Drive", "Newark", "DE", "19713"})
		switch {
		case i < 80:
			row[year] = "25"
		case i < 140:
			row[state] = "Delawere"
		case i < 152:
			row[state], row[3] = "NJ", "NJ"
			copy(row[11:], []string{"Newark", "NJ", "7102"})
		}
	}
	return sheet
}

// openGrid uploads a sheet and waits for its grid.
func (p *person) openGrid(path string) {
	p.t.Helper()
	p.open("/")
	p.depart()
	p.attach("input[type=file]", path)
	p.arrive()
	p.gridReady()
}

func (p *person) gridReady() {
	p.t.Helper()
	p.until(`document.querySelector("#fix[data-ready] .slick-row")`)
}

// tally is the count of a tab of the grid.
func (p *person) tally(tab string) string {
	p.t.Helper()
	return eval[string](p, `document.querySelector("[data-show=`+tab+`] .n").textContent`)
}

// counts waits for the count of a tab.
func (p *person) counts(tab, want string) {
	p.t.Helper()
	if !p.soon(patience/2, `document.querySelector("[data-show=`+tab+`] .n").textContent === `+quoted(want)) {
		p.t.Fatalf("%s: %s rows of %s, want %s\n%s", p.name, p.tally(tab), tab, want, p.state())
	}
}

func (p *person) saved() {
	p.t.Helper()
	p.until(`document.querySelector("[data-part=status]").textContent === "All changes saved"`)
}

func (g *grids) click(p *person, words string) {
	g.Helper()
	g.clicks++
	p.press(words)
}

// hit presses keys, one after the other.
func (g *grids) hit(p *person, keys string, modifiers ...chromedp.Modifier) {
	g.Helper()
	g.keys += len([]rune(keys))
	p.do("press "+keys, chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...)))
}

// cell is the text of the active cell, with its address.
func (p *person) cell() string {
	p.t.Helper()
	return eval[string](p, `document.querySelector(".fix-where b").textContent + " " +
		(document.querySelector(".slick-cell.active")?.textContent ?? "")`)
}

// at wants the active cell to be one with a text.
func (g *grids) at(p *person, want string) {
	g.Helper()
	const cell = `document.querySelector(".fix-where b")?.textContent + " " +
		(document.querySelector(".slick-cell.active")?.textContent ?? "")`
	if !p.soon(patience/4, cell+" === "+quoted(want)) {
		g.Fatalf("%s: the active cell is %q, want %q\n%s", p.name, p.cell(), want, p.state())
	}
	if !eval[bool](p, `document.querySelector(".fix-table").contains(document.activeElement)`) {
		g.Errorf("%s: at %s the focus is outside the table: %s", p.name, want,
			eval[string](p, `document.activeElement.outerHTML.slice(0, 200)`))
	}
}

// An accountant fixes 152 errors of 300 rows in three clicks, types, pastes and
// fills by keyboard alone, loses nothing, and shares the sheet with another.
func TestGrid(t *testing.T) {
	g := &grids{way: &way{T: t, browser: newBrowser(t)}}
	g.house = newHouse(t, false, "", "")
	g.owner = g.join("owner", g.house.wire.from)
	g.owner.do("open the link", chromedp.Navigate(g.owner.base+g.house.link))
	g.owner.until(`location.pathname === "/" && document.readyState === "complete"`)
	g.owner.resize(1366, 768)
	for _, chapter := range []struct {
		name string
		of   func()
	}{
		{"groups", g.fixGroups}, {"keyboard", g.byKeyboard}, {"navigation", g.leaveAndReturn},
		{"two people", g.together}, {"pictures", g.pictures},
	} {
		chapter.of()
		t.Logf("%s: %d clicks, %d keys", chapter.name, g.clicks, g.keys)
	}
}

func (g *grids) fixGroups() {
	p := g.owner
	p.openGrid(faultySheet(g.T).save(g.T, "bad300.csv"))
	p.counts("errors", "152")
	f := new(film)
	f.shoot(p, 3*time.Second)
	if top := eval[int](p, `Math.round(document.querySelector(".fix-table").getBoundingClientRect().top)`); top > 180 {
		g.Errorf("the table begins at %d px", top)
	}
	if over := eval[int](p, `document.documentElement.scrollHeight - innerHeight`); over > 0 {
		g.Errorf("the page is %d px higher than the window", over)
	}
	p.until(`document.querySelectorAll(".fix-groups li").length >= 3`)
	for _, left := range []string{"72", "12", "0"} {
		g.click(p, ".fix-groups li .fix-button")
		p.counts("errors", left)
		p.until(`document.querySelector(".fix-notice")?.innerText.match(/set to|corrected/)`)
		f.shoot(p, 2*time.Second)
	}
	if g.clicks != 3 {
		g.Errorf("%d clicks", g.clicks)
	}
	p.saved()
	g.click(p, "Undo") // of the last group, beside its notice
	p.counts("errors", "12")
	g.click(p, ".fix-groups li .fix-button")
	p.counts("errors", "0")
	p.counts("ready", "300")
	p.until(`document.querySelector("[data-part=onward]").matches(".primary") &&
		document.querySelector("[data-part=onward]").textContent === "Continue to approval"`)
	p.follow("Continue to approval")
	p.until(`document.querySelector("#submit")`)
	p.look()
	p.resize(filmWidth, filmHeight)
	f.shoot(p, 4*time.Second)
	f.save(g.T, "page-fix.gif")
}

// byKeyboard does not touch the mouse.
func (g *grids) byKeyboard() {
	p := g.owner
	p.openGrid(faultySheet(g.T)[:41].save(g.T, "keys.csv"))
	p.counts("errors", "40")
	eval[bool](p, `document.activeElement.blur(), window.before = true`)
	g.hit(p, kb.Tab)
	g.hit(p, kb.Enter)
	g.at(p, "I2 25")
	g.hit(p, "2025")
	g.hit(p, kb.Enter)
	p.counts("errors", "39")
	g.at(p, "I3 25")
	g.hit(p, kb.F2)
	g.hit(p, kb.Escape)
	g.at(p, "I3 25")
	g.hit(p, kb.ArrowUp)
	g.at(p, "I2 2025")
	g.hit(p, kb.ArrowDown+kb.ArrowDown, chromedp.ModifierShift)
	g.hit(p, "d", chromedp.ModifierCtrl)
	p.counts("errors", "37")
	g.hit(p, "z", chromedp.ModifierCtrl)
	p.counts("errors", "39")
	g.hit(p, "y", chromedp.ModifierCtrl)
	p.counts("errors", "37")
	g.at(p, "I2 2025")

	// Five cells as a spreadsheet program has them on the clipboard.
	const paste = `(() => {
		const data = new DataTransfer();
		data.setData("text/plain", %s);
		document.activeElement.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
		return true;
	})()`
	if !eval[bool](p, `getSelection().removeAllRanges(), document.activeElement.matches(".slick-cell")`) {
		g.Error("the active cell has no focus")
	}
	g.hit(p, kb.F8) // the next error
	g.at(p, "I5 25")
	eval[bool](p, fmt.Sprintf(paste, quoted("2025\r\n2025\r\n\"2025\"\r\n2025\r\n2025\r\n")))
	p.counts("errors", "32")
	copied := eval[string](p, `(() => {
		const data = new DataTransfer();
		document.activeElement.dispatchEvent(
			new ClipboardEvent("copy", {clipboardData: data, bubbles: true, cancelable: true}));
		return data.getData("text/plain");
	})()`)
	if copied != "2025\n2025\n2025\n2025\n2025" {
		g.Errorf("copied %q", copied)
	}
	g.hit(p, kb.Delete)
	p.counts("errors", "37")
	g.hit(p, "z", chromedp.ModifierCtrl)
	p.counts("errors", "32")

	// Find and replace the others.
	g.hit(p, "h", chromedp.ModifierCtrl)
	p.until(`document.querySelector("dialog[open] #fix-find") === document.activeElement`)
	eval[bool](p, `document.querySelector("#fix-find").select(), true`)
	g.hit(p, "25")
	g.hit(p, kb.Tab)
	g.hit(p, "2025")
	g.hit(p, kb.Tab)
	g.hit(p, " ") // the whole cell
	p.until(`document.querySelector("dialog .primary").textContent === "Replace in 32 cells"`)
	g.hit(p, kb.Enter)
	p.counts("errors", "0")
	p.saved()
	if !eval[bool](p, `window.before`) {
		g.Error("the page was loaded again")
	}
}

// leaveAndReturn types, leaves at once and comes back: nothing is lost.
func (g *grids) leaveAndReturn() {
	p := g.owner
	p.openGrid(faultySheet(g.T)[:121].save(g.T, "away.csv"))
	p.counts("errors", "120")
	at := p.at()
	eval[bool](p, `document.querySelector("a.skip").click(), true`)
	g.at(p, "I2 25")
	p.expects("Failed to load resource|Failed to fetch")
	g.house.wire.cut()
	g.hit(p, "2026")
	g.hit(p, kb.Enter)
	p.until(`document.querySelector("[data-part=status]").textContent.startsWith("Not saved")`)
	g.house.wire.mend()
	p.counts("errors", "119")
	p.saved()
	p.expects("")
	p.open("/settings")
	p.open(at)
	p.gridReady()
	p.counts("errors", "119")
}

// together has two people at one sheet: other cells are merged, and the same cell
// is asked about.
func (g *grids) together() {
	p := g.owner
	at := p.at()
	frank := g.invite("frank", g.house.at, "preparer")
	frank.resize(1366, 768)
	for _, one := range []*person{p, frank} {
		one.open(at)
		one.gridReady()
		one.press("All")
		one.until(`document.querySelector("[data-show=all]").ariaPressed === "true"`)
	}
	// Frank enters the year of row 3 while the owner's page does not know it yet.
	g.enter(frank, 3, "2026")
	frank.saved()
	g.enter(p, 4, "2025")
	p.saved()
	p.until(`[...document.querySelectorAll(".slick-pane-right .slick-row[aria-rowindex='3'] .slick-cell")]
		.some((e) => e.textContent === "2026")`) // what Frank entered arrives
	frank.until(`[...document.querySelectorAll(".slick-pane-right .slick-row[aria-rowindex='4'] .slick-cell")]
		.some((e) => e.textContent === "2025")`)
}

// enter types into the year of a row.
func (g *grids) enter(p *person, row int, text string) {
	g.Helper()
	eval[bool](p, fmt.Sprintf(`(() => {
		const row = document.querySelector(".slick-pane-right .slick-row[aria-rowindex='%d']");
		const cell = [...row.querySelectorAll(".slick-cell")].find((e) => e.textContent === "25");
		cell.dispatchEvent(new MouseEvent("click", {bubbles: true}));
		return true;
	})()`, row))
	g.at(p, fmt.Sprintf("I%d 25", row))
	g.hit(p, text)
	g.hit(p, kb.Enter)
}

// pictures looks at the grid in the light, in the dark and on a phone.
func (g *grids) pictures() {
	p := g.owner
	if dir := os.Getenv("GRID_PICTURES"); dir != "" {
		for _, c := range []struct {
			name        string
			wide, high  int64
			dark, fresh bool
		}{{"light", 1366, 768, false, false}, {"dark", 1366, 768, true, false}, {"phone", 390, 844, false, true}} {
			p.resize(c.wide, c.high)
			p.dark(c.dark)
			if c.fresh {
				p.do("reload", chromedp.Reload())
				p.until(`document.querySelector("#fix[data-ready]")`)
			}
			picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				g.Fatal(err)
			}
			if err := os.WriteFile(dir+"/"+c.name+".png", picture, 0o600); err != nil {
				g.Fatal(err)
			}
		}
		p.dark(false)
	}
	p.resize(390, 844)
	p.do("reload", chromedp.Reload())
	p.until(`document.querySelector("#fix[data-ready]")`)
	p.look()
	p.resize(390, 844)
	p.press("Edit the rows")
	p.until(`location.search === "?view=form"`)
	p.reads("Save corrections")
	if strings.Contains(p.text(), "Fix by group") {
		g.Error("the form has the grid, too")
	}
}
