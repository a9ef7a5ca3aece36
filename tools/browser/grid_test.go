//go:build unix

package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// gridSession is people who fix a spreadsheet in the grid, and what they pressed.
type gridSession struct {
	*workflow
	clicks, keys int
}

// newGridSession starts a deployment and signs its owner in. The flags are of the
// sandbox.
func newGridSession(t *testing.T, flags ...string) *gridSession {
	t.Helper()
	g := &gridSession{workflow: &workflow{T: t, browser: newBrowser(t)}}
	g.deployment = newDeployment(t, flags)
	g.owner = g.join("owner", g.deployment.proxy.from)
	g.owner.do("open the link", chromedp.Navigate(g.owner.base+g.deployment.link))
	g.owner.until(`location.pathname === "/" && document.readyState === "complete"`)
	g.owner.resize(1366, 768)
	return g
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
	p.choose(path)
	p.waitForGrid()
}

func (p *person) waitForGrid() {
	p.t.Helper()
	p.until(`document.querySelector("#fix[data-ready] .slick-row")`)
}

// showAll shows all rows.
func (p *person) showAll() {
	p.t.Helper()
	p.press("All")
	p.until(`document.querySelector("[data-show=all]").ariaPressed === "true"`)
}

// tally is the count of a tab of the grid.
func (p *person) tally(tab string) string {
	p.t.Helper()
	return eval[string](p, `document.querySelector("[data-show=`+tab+`] .n").textContent`)
}

// wantCount waits until a tab has this count.
func (p *person) wantCount(tab, want string) {
	p.t.Helper()
	if !p.soon(patience/2, `document.querySelector("[data-show=`+tab+`] .n").textContent === `+quoted(want)) {
		p.t.Fatalf("%s: %s rows of %s, want %s\n%s", p.name, p.tally(tab), tab, want, p.state())
	}
}

func (p *person) waitSaved() {
	p.t.Helper()
	p.until(`document.querySelector("[data-part=status]").textContent === "All changes saved"`)
}

func (g *gridSession) click(p *person, words string) {
	g.Helper()
	g.clicks++
	p.press(words)
}

// pressKeys presses keys and counts them.
func (g *gridSession) pressKeys(p *person, keys string, modifiers ...chromedp.Modifier) {
	g.Helper()
	g.keys += len([]rune(keys))
	p.pressKeys(keys, modifiers...)
}

// activeCell is the address of the active cell and its text.
const activeCell = `document.querySelector(".fix-where b")?.textContent + " " +
	(document.querySelector(".slick-cell.active")?.textContent ?? "")`

// wantCell waits until the active cell has this address and text, and the focus.
func (g *gridSession) wantCell(p *person, want string) {
	g.Helper()
	if !p.soon(patience/4, activeCell+" === "+quoted(want)) {
		g.Fatalf("%s: the active cell is %q, want %q\n%s", p.name, eval[string](p, activeCell), want, p.state())
	}
	if !eval[bool](p, `document.querySelector(".fix-table").contains(document.activeElement)`) {
		g.Errorf("%s: at %s the focus is outside the table: %s", p.name, want,
			eval[string](p, `document.activeElement.outerHTML.slice(0, 200)`))
	}
}

// An accountant fixes 152 errors of 300 rows in three clicks, types, pastes and
// fills by keyboard alone, loses nothing, and shares the sheet with another.
func TestGrid(t *testing.T) {
	g := newGridSession(t)
	for _, step := range []struct {
		name string
		run  func()
	}{
		{"groups", g.fixGroups}, {"keyboard", g.fixByKeyboard}, {"navigation", g.leaveAndReturn},
		{"two people", g.editTogether},
	} {
		step.run()
		t.Logf("%s: %d clicks, %d keys", step.name, g.clicks, g.keys)
	}
}

func (g *gridSession) fixGroups() {
	p := g.owner
	p.openGrid(faultySheet(g.T).save(g.T, "bad300.csv"))
	p.wantCount("errors", "152")
	if top := eval[int](p, `Math.round(document.querySelector(".fix-table").getBoundingClientRect().top)`); top > 180 {
		g.Errorf("the table begins at %d px", top)
	}
	if over := eval[int](p, `document.documentElement.scrollHeight - innerHeight`); over > 0 {
		g.Errorf("the page is %d px higher than the window", over)
	}
	p.until(`document.querySelectorAll(".fix-groups li").length >= 3`)
	p.saveScreenshot("fix", 1180, 640)
	for _, left := range []string{"72", "12", "0"} {
		g.click(p, ".fix-groups li .fix-button")
		p.wantCount("errors", left)
		p.until(`document.querySelector(".fix-notice")?.innerText.match(/changed/)`)
	}
	if g.clicks != 3 {
		g.Errorf("%d clicks", g.clicks)
	}
	p.waitSaved()
	g.click(p, "Undo") // of the last group, beside its notice
	p.wantCount("errors", "12")
	g.click(p, ".fix-groups li .fix-button")
	p.wantCount("errors", "0")
	p.wantCount("ready", "300")
	p.until(`document.querySelector("[data-part=onward]").matches(".primary") &&
		document.querySelector("[data-part=onward]").textContent === "Continue to approval"`)
	p.follow("Continue to approval")
	p.until(`document.querySelector("#submit")`)
	p.inspect()
}

// fixByKeyboard fixes rows without the mouse.
func (g *gridSession) fixByKeyboard() {
	p := g.owner
	p.openGrid(faultySheet(g.T)[:41].save(g.T, "keys.csv"))
	p.wantCount("errors", "40")
	eval[bool](p, `document.activeElement.blur(), window.before = true`)
	g.pressKeys(p, kb.Tab)
	g.pressKeys(p, kb.Enter)
	g.wantCell(p, "I2 25")
	g.pressKeys(p, "2025")
	g.pressKeys(p, kb.Enter)
	p.wantCount("errors", "39")
	g.wantCell(p, "I3 25")
	g.pressKeys(p, kb.F2)
	g.pressKeys(p, kb.Escape)
	g.wantCell(p, "I3 25")
	g.pressKeys(p, kb.ArrowUp)
	g.wantCell(p, "I2 2025")
	g.pressKeys(p, kb.ArrowDown+kb.ArrowDown, chromedp.ModifierShift)
	g.pressKeys(p, "d", chromedp.ModifierCtrl)
	p.wantCount("errors", "37")
	g.pressKeys(p, "z", chromedp.ModifierCtrl)
	p.wantCount("errors", "39")
	g.pressKeys(p, kb.ArrowDown+kb.ArrowUp)
	g.pressKeys(p, kb.ArrowDown+kb.ArrowDown, chromedp.ModifierShift)
	g.pressKeys(p, "d", chromedp.ModifierCtrl)
	p.wantCount("errors", "37")
	g.wantCell(p, "I2 2025")

	// Five cells as a spreadsheet program has them on the clipboard.
	const paste = `(() => {
		const data = new DataTransfer();
		data.setData("text/plain", %s);
		document.activeElement.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
		return true;
	})()`
	p.expect(`getSelection().removeAllRanges(), document.activeElement.matches(".slick-cell")`, "the active cell has no focus")
	g.pressKeys(p, kb.F8) // the next error
	g.wantCell(p, "I5 25")
	eval[bool](p, fmt.Sprintf(paste, quoted("2025\r\n2025\r\n\"2025\"\r\n2025\r\n2025\r\n")))
	p.wantCount("errors", "32")
	copied := eval[string](p, `(() => {
		const data = new DataTransfer();
		document.activeElement.dispatchEvent(
			new ClipboardEvent("copy", {clipboardData: data, bubbles: true, cancelable: true}));
		return data.getData("text/plain");
	})()`)
	if copied != "2025\n2025\n2025\n2025\n2025" {
		g.Errorf("copied %q", copied)
	}
	g.pressKeys(p, kb.Delete)
	p.wantCount("errors", "37")
	g.pressKeys(p, "z", chromedp.ModifierCtrl)
	p.wantCount("errors", "32")

	// Find and replace the others.
	g.pressKeys(p, "h", chromedp.ModifierCtrl)
	p.until(`document.querySelector("dialog[open] #fix-find") === document.activeElement`)
	eval[bool](p, `document.querySelector("#fix-find").select(), true`)
	g.pressKeys(p, "25")
	g.pressKeys(p, kb.Tab)
	g.pressKeys(p, "2025")
	g.pressKeys(p, kb.Tab)
	g.pressKeys(p, " ") // the whole cell
	p.until(`document.querySelector("dialog .primary").textContent === "Replace in 32 cells"`)
	g.pressKeys(p, kb.Enter)
	p.wantCount("errors", "0")
	p.waitSaved()
	p.expect(`window.before`, "the page was loaded again")
}

// leaveAndReturn types, leaves at once and comes back: nothing is lost.
func (g *gridSession) leaveAndReturn() {
	p := g.owner
	p.openGrid(faultySheet(g.T)[:121].save(g.T, "away.csv"))
	p.wantCount("errors", "120")
	at := p.at()
	eval[bool](p, `document.querySelector("a.skip").click(), true`)
	g.wantCell(p, "I2 25")
	p.allowMessages("Failed to load resource|Failed to fetch")
	g.deployment.proxy.disconnect()
	g.pressKeys(p, "2026")
	g.pressKeys(p, kb.Enter)
	p.until(`document.querySelector("[data-part=status]").textContent.startsWith("Not saved")`)
	g.deployment.proxy.reconnect()
	p.wantCount("errors", "119")
	p.waitSaved()
	p.allowMessages("")
	p.open("/settings")
	p.open(at)
	p.waitForGrid()
	p.wantCount("errors", "119")
}

// editTogether has two people at one sheet: changes to different cells are merged.
func (g *gridSession) editTogether() {
	p := g.owner
	at := p.at()
	frank := g.invite("frank", g.deployment.address, "preparer")
	frank.resize(1366, 768)
	for _, one := range []*person{p, frank} {
		one.open(at)
		one.waitForGrid()
		one.showAll()
	}
	// Frank enters the year of row 3 while the owner's page does not know it yet.
	g.enterYear(frank, 3, "2026")
	frank.waitSaved()
	g.enterYear(p, 4, "2025")
	p.waitSaved()
	p.waitCell(3, "2026") // what Frank entered arrives
	frank.waitCell(4, "2025")

	// Both enter the year of one row: the owner, whose connection is away, is asked.
	for _, c := range []struct {
		row           int
		choice, after string
	}{{5, "Keep “2026”", "2026"}, {6, "Use yours, “2025”", "2025"}} {
		p.allowMessages("Failed to load resource|Failed to fetch|ERR_")
		g.deployment.proxy.disconnect()
		g.enterYear(p, c.row, "2025")
		g.enterYear(frank, c.row, "2026")
		frank.waitSaved()
		g.deployment.proxy.reconnect()
		p.until(`document.querySelector(".fix-notice")?.innerText.includes("1 cell of yours was changed by frank")`)
		p.allowMessages("")
		p.press("Show")
		g.wantCell(p, fmt.Sprintf("I%d 2026", c.row))
		p.press(c.choice)
		p.waitSaved()
		g.wantCell(p, fmt.Sprintf("I%d %s", c.row, c.after))
		frank.waitCell(c.row, c.after)
	}
}

// waitCell waits until a row shows a text.
func (p *person) waitCell(row int, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`[...document.querySelectorAll(
		".slick-pane-right .slick-row[aria-rowindex='%d'] .slick-cell")].some((e) => e.textContent === %q)`, row, text))
}

// enterYear types into the year of a row.
func (g *gridSession) enterYear(p *person, row int, text string) {
	g.Helper()
	eval[bool](p, fmt.Sprintf(`(() => {
		const row = document.querySelector(".slick-pane-right .slick-row[aria-rowindex='%d']");
		const cell = [...row.querySelectorAll(".slick-cell")].find((e) => e.textContent === "25");
		cell.dispatchEvent(new MouseEvent("click", {bubbles: true}));
		return true;
	})()`, row))
	g.wantCell(p, fmt.Sprintf("I%d 25", row))
	g.pressKeys(p, text)
	g.pressKeys(p, kb.Enter)
}

// TestGridOnPhone corrects a cell with a finger.
func TestGridOnPhone(t *testing.T) {
	g := newGridSession(t)
	p := g.owner
	p.resize(390, 844)
	call(p, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true})
	p.openGrid(messageSheet(g.T).save(g.T, "phone.csv"))
	p.inspect()
	p.tapAt(p.cellAt("E4"))
	p.until(`document.querySelector(".fix-message").innerText.includes("email")`)
	if eval[bool](p, `(() => {
		const message = document.querySelector(".fix-message").getBoundingClientRect();
		const cell = document.querySelector(".slick-cell.active").getBoundingClientRect();
		return message.top < 0 || message.bottom > cell.top || cell.bottom > innerHeight;
	})()`) {
		g.Error("the message of a cell and the cell are not on the screen together")
	}
	p.until(`document.activeElement.matches(".slick-cell input")`)
	p.pressKeys(strings.Repeat(kb.Backspace, len("not an address")) + "ana@example.com")
	p.tapAt(p.cellAt("E5")) // saves the first
	p.waitSaved()
	p.wantSaved(4, "User Email", "ana@example.com")
	p.pressKeys(kb.Escape)
	at := p.cellAt("E6")
	call(p, input.SynthesizeScrollGesture, input.SynthesizeScrollGestureParams{
		X: at.X, Y: at.Y, XDistance: -200, GestureSourceType: input.GestureSourceTypeTouch,
	})
	p.until(`document.querySelector(".slick-viewport-right").scrollLeft > 100`)
	if n := eval[int](p, `document.querySelectorAll(".slick-cell.selected").length`); n > 1 {
		g.Errorf("a finger that scrolls selects %d cells", n)
	}
	p.expect(`document.querySelector(".slick-cell.l1").getBoundingClientRect().left >= 0`, "the company is not visible beside the other columns")
	p.press("Next error")
	p.press("Undo")
	p.waitSaved()
	p.wantSaved(4, "User Email", "not an address")
}

// tapAt taps a place in the window.
func (p *person) tapAt(at point) {
	p.t.Helper()
	for _, event := range []input.DispatchTouchEventParams{
		{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: at.X, Y: at.Y}}},
		{Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}},
	} {
		call(p, input.DispatchTouchEvent, event)
	}
}
