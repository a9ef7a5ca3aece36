//go:build unix

package browser

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// typed holds what is typed over the cells of a column. The other columns get
// typedElsewhere.
var typed = map[string]string{
	"Company ID":                     "comp_QX",
	"Entity Type":                    "Corporation",
	"Formation State":                "NJ",
	"User Email":                     "falcon@harborlight.example",
	"User Phone":                     "+13025550199",
	"Filing State":                   "wy",
	"Filing Year":                    "2027",
	"Agent State":                    "NY",
	"Agent ZIP":                      "07102",
	"Vehicle 55k Pounds":             "yes",
	"Is W2 Expected":                 "Y",
	"Agriculture Employees Count":    "0",
	"Other Employees Count":          "12",
	"First Wages Date":               "10/15/2026",
	"Responsible Party SSN":          "536-22-7781",
	"Responsible Party Phone Number": "(302) 555-0199",
	"Responsible Party Is Foreign":   "no",
}

const typedElsewhere = "Falcon Ridge"

func typedInto(header string) string {
	if text := typed[header]; text != "" {
		return text
	}
	return typedElsewhere
}

// TestGridKeys types over cells of every column and edits cells by double clicks,
// with the events of a real keyboard and mouse.
func TestGridKeys(t *testing.T) {
	g := newGridSession(t)
	for _, sheet := range []table{reports("k", 3), eins()} {
		g.typeOverRow(sheet, 2)
	}
	g.owner.openGrid(messageSheet(t).save(t, "clicks.csv"))
	for _, c := range []struct{ cell, header string }{
		{"A2", "Company ID"}, // the active cell
		{"A3", "Company ID"},
		{"B4", "Legal Name"},
		{"C5", "Entity Type"},
		{"E6", "User Email"},
		{g.lastCell("C"), "Entity Type"},
	} {
		g.editByDoubleClick(c.cell, c.header)
	}
	g.typeBesideChanges()
}

// messageSheet has rows whose cells have no message, one of a line, or one of several
// lines.
func messageSheet(tb testing.TB) table {
	sheet := reports("m", 40)
	for i, row := range sheet[1:] {
		row[sheet.column(tb, "Entity Type")] = "Limited"
		row[sheet.column(tb, "User Email")] = "not an address"
		if i < 2 {
			row[sheet.column(tb, "Company ID")] = ""
		}
	}
	return sheet
}

// typeOverRow uploads a sheet, clicks a row, types over each of its cells, and checks
// what was saved.
func (g *gridSession) typeOverRow(sheet table, row int) {
	g.Helper()
	p := g.owner
	p.openGrid(sheet.save(g.T, "keys.csv"))
	p.showAll()
	p.clickAt(p.cellAt(fmt.Sprintf("B%d", row)), 1)
	for range len(sheet[0]) + 1 { // one column is of the filing service
		header := eval[string](p, `document.querySelector(".fix-where").lastChild.textContent.trim()`)
		if header != "Name at service" {
			p.pressKeys(typedInto(header))
			if got := p.editorText(); got != typedInto(header) {
				g.Errorf("typed %q over %s, and the editor has %q", typedInto(header), header, got)
			}
		}
		p.pressKeys(kb.Tab)
	}
	p.waitSaved()
	saved := p.savedRow(row)
	for _, header := range sheet[0] {
		if header != "Responsible Party SSN" && saved[header] != typedInto(header) {
			g.Errorf("typed %q over %s, and %q was saved", typedInto(header), header, saved[header])
		}
	}
}

// editByDoubleClick loads the page again and edits a cell with its first double click.
func (g *gridSession) editByDoubleClick(cell, header string) {
	g.Helper()
	p := g.owner
	row, err := strconv.Atoi(cell[1:])
	if err != nil {
		g.Fatal(err)
	}
	before := p.savedRow(row)[header]
	p.depart()
	p.do("reload", chromedp.Reload())
	p.arrive()
	p.waitForGrid()
	p.clickAt(p.cellAt(cell), 2)
	p.until(`document.querySelector("#fix").style.getPropertyValue("--fix-message") === ""`)
	p.waitDrawn() // the message has its height
	if got := p.editorText(); got != before {
		g.Errorf("after a double click on %s the editor has %q, want %q", cell, got, before)
	}
	p.pressKeys("7")
	p.pressKeys(kb.Enter)
	p.waitSaved()
	p.wantSaved(row, header, before+"7")
}

// typeBesideChanges types while the page changes around the editor, and leaves the
// editor by a click on another part of the page.
func (g *gridSession) typeBesideChanges() {
	g.Helper()
	p := g.owner
	p.clickAt(p.cellAt("B2"), 1)
	p.pressKeys("Fal")
	p.resize(1200, 700)
	p.until(`document.querySelector(".fix-table").offsetWidth < 900`)
	p.waitDrawn()
	p.pressKeys("con")
	if got := p.editorText(); got != "Falcon" {
		g.Errorf("after the window changed, the editor has %q, want Falcon", got)
	}
	p.showAll()
	p.waitSaved()
	p.wantSaved(2, "Legal Name", "Falcon")
	p.expect(`document.activeElement.matches("[data-show=all]")`, "the focus is not where the click was")
	p.clickAt(p.cellAt("B3"), 1)
	p.pressKeys("Heron")
	p.do("reload", chromedp.Reload())
	p.waitForGrid()
	p.waitSaved()
	p.wantSaved(3, "Legal Name", "Heron")
}

// waitDrawn waits until the page is drawn again after its size changed.
func (p *person) waitDrawn() {
	p.t.Helper()
	eval[bool](p, `(() => {
		const wait = (frames) => requestAnimationFrame(() => {
			if (frames) wait(frames - 1);
			else window.drawn = true;
		});
		window.drawn = false;
		wait(3);
		return true;
	})()`)
	p.until(`window.drawn`)
}

// lastCell is the lowest cell of a column that is in full view.
func (g *gridSession) lastCell(column string) string {
	g.Helper()
	return column + eval[string](g.owner, `(() => {
		const end = document.querySelector(".fix-table").getBoundingClientRect().bottom - 16; // a scroll bar
		return [...document.querySelectorAll(".slick-cell.l0")]
			.findLast((e) => e.getBoundingClientRect().bottom < end).textContent;
	})()`)
}

// cellAt scrolls a cell into view and is its middle. The cell's column is a single
// letter.
func (p *person) cellAt(cell string) point {
	p.t.Helper()
	return eval[point](p, fmt.Sprintf(`(() => {
		const column = [...document.querySelectorAll(".slick-header-column")].findIndex((e) => e.id.endsWith("c%d"));
		const row = [...document.querySelectorAll(".slick-cell.l0")].find((e) => e.textContent === %q)
			.closest(".slick-row").ariaRowIndex;
		const cell = document.querySelector(".slick-row[aria-rowindex='" + row + "'] .slick-cell.l" + column);
		cell.scrollIntoView({block: "nearest", inline: "nearest"});
		const {left, top, width, height} = cell.getBoundingClientRect();
		return {X: left + width / 2, Y: top + height / 2};
	})()`, cell[0]-'A', cell[1:]))
}

// editorText is the text in the open editor of a cell.
func (p *person) editorText() string {
	p.t.Helper()
	return eval[string](p, `document.querySelector(".slick-cell input")?.value ?? "(no editor)"`)
}

// wantSaved checks a saved cell of a row.
func (p *person) wantSaved(row int, header, want string) {
	p.t.Helper()
	if got := p.savedRow(row)[header]; got != want {
		p.t.Errorf("%s: %q was saved as %s of row %d, want %q", p.name, got, header, row, want)
	}
}

// savedRow reads the saved cells of a row by their headers.
func (p *person) savedRow(row int) map[string]string {
	p.t.Helper()
	path := eval[string](p, `document.querySelector("#fix").dataset.grid`)
	eval[bool](p, `window.answer = null, fetch(`+quoted(path+"/rows?show=all&limit=200")+`)
		.then((r) => r.json()).then((json) => { answer = json }), true`)
	p.until(`answer`)
	return eval[map[string]string](p, fmt.Sprintf(`(() => {
		const {cells} = answer.rows.find((row) => row.row === %d);
		return Object.fromEntries(answer.columns.map((c) => [c.header, String(cells[c.index])]));
	})()`, row))
}
