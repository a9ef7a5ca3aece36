//go:build unix

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// Names that differ are confirmed together after looking. The approval can be printed.
func TestGridNames(t *testing.T) {
	sheet := reports("n", 30)
	companies := "id,legalName,entityType,formationState\n"
	for i, row := range sheet[1:] {
		row[3] = "DE"
		companies += fmt.Sprintf("%s,%q,LLC,DE\n", row[0], row[1])
		if i < 24 {
			row[1] = fmt.Sprintf("Another Company %d LLC", i)
		}
	}
	file := filepath.Join(t.TempDir(), "companies.csv")
	if err := os.WriteFile(file, []byte(companies), 0o600); err != nil {
		t.Fatal(err)
	}
	g := newGridSession(t, "--companies", file)
	g.owner.openGrid(sheet.save(t, "names.csv"))
	g.confirmNames()
	g.owner.follow("Continue to approval")
	g.owner.until(`document.querySelector("#submit")`)
	call(g.owner, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if eval[bool](g.owner, `document.querySelector("#submit").checkVisibility() ||
		!document.querySelector(".print-only").checkVisibility()`) {
		t.Error("the printed approval has buttons, or lacks its batch and plan")
	}
}

func (g *gridSession) confirmNames() {
	p := g.owner
	p.wantCount("errors", "24")
	p.press("Confirm all 24…")
	p.until(`document.querySelector("dialog[open] tbody").rows.length === 24`)
	p.inspect()
	if eval[bool](p, `(() => { // the rows do not lie over the box and the button
		const over = (e) => { const r = e.getBoundingClientRect();
			return document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2); };
		const box = document.querySelector("dialog .check"), yes = document.querySelector("dialog .primary");
		return !box.contains(over(box)) || !yes.contains(over(yes));
	})()`) {
		g.Error("the rows of the dialog lie over its box or its button")
	}
	p.expect(`document.querySelector("dialog .primary").disabled`, "the names can be confirmed before anyone has looked")
	p.tick("dialog .check input", true)
	p.press("Confirm all 24 names")
	p.wantCount("errors", "0")
	p.wantCount("ready", "30")
	p.until(`document.querySelector(".fix-notice")?.innerText.includes("24 names confirmed")`)
	p.waitSaved()
}
