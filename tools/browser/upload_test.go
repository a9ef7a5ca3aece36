//go:build unix

package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// dropFiles drops files with these names and contents on an element.
func (p *person) dropFiles(selector string, files map[string]string) {
	p.t.Helper()
	var names []string
	for name, content := range files {
		names = append(names, `new File([`+quoted(content)+`], `+quoted(name)+`)`)
	}
	eval[bool](p, `(() => {
		const transfer = new DataTransfer();
		for (const file of [`+strings.Join(names, ", ")+`]) transfer.items.add(file);
		const at = document.querySelector(`+quoted(selector)+`);
		const send = (kind) => at.dispatchEvent(new DragEvent(kind,
			{dataTransfer: transfer, bubbles: true, cancelable: true, composed: true}));
		send("dragenter");
		window.overlay = document.querySelector(".dropping").checkVisibility();
		window.over = send("dragover");
		window.dropped = send("drop");
		return true;
	})()`)
	if !eval[bool](p, `overlay && !over && !dropped && !document.querySelector(".dropping").checkVisibility()`) {
		p.t.Errorf("%s: the page does not take what is dropped on %s", p.name, selector)
	}
}

const oneRow = "Company ID,Legal Name,Filing State,Filing Year,User Email\ncomp_1,Ada LLC,DE,2026,ana@example.com\n"

// Files are uploaded from wherever they are dropped or chosen: one leads to its
// page, several are listed, and what cannot be read is refused on the spot in words.
func TestUploads(t *testing.T) {
	h := newHouse(t, false, "", "")
	p := newPerson(newBrowser(t), t, "ana", h.wire.from)
	p.enter(h.link, "/")
	p.open("/")
	p.reads("Drop spreadsheets here, or browse")

	// A file that is dropped beside the box goes to its page.
	p.depart()
	p.dropFiles("h1", map[string]string{"one.csv": oneRow})
	p.arrive()
	if at := p.at(); !strings.HasPrefix(at, "/sheets/") {
		t.Fatalf("the page is %s\n%s", at, p.state())
	}
	p.prepared()

	// Several stay listed with their links; what is no spreadsheet says why, and
	// leaves nothing behind.
	p.open("/")
	p.expects(`422`) // the browser complains of refusals, too
	p.dropFiles("main", map[string]string{
		"a.csv": strings.ReplaceAll(oneRow, "comp_1", "comp_2"), "b.csv": strings.ReplaceAll(oneRow, "comp_1", "comp_3"),
		"report.pdf": "%PDF-1.7\n", "broken.xlsx": "PK\x03\x04 and no more", "empty.csv": "", "strange.csv": "Mandant,Sitz\nx,y\n",
	})
	p.until(`document.querySelectorAll(".uploads .done").length === 3 &&
		document.querySelectorAll(".uploads .refused").length === 3`)
	p.expects("")
	p.reads("this is a PDF document", "the file is damaged", "empty.csv is empty")
	if at := p.at(); at != "/" {
		t.Errorf("after several the page is %s", at)
	}
	p.look()
	p.press("Dismiss")
	p.until(`document.querySelectorAll(".uploads .refused").length === 2`)
	p.follow("Review")
	p.prepared()
	p.open("/")
	if n := eval[int](p, `document.querySelectorAll("main a[href^='/sheets/']").length`); n != 8 { // two links each
		t.Errorf("%d links to uploads\n%s", n, p.state())
	}

	// Every page takes files; a lost connection is said, and tried again.
	p.open("/balance")
	h.wire.cut()
	p.expects(`ERR_`)
	p.dropFiles("h1", map[string]string{"c.csv": strings.ReplaceAll(oneRow, "comp_1", "comp_4")})
	p.until(`document.querySelector(".tray .refused")?.innerText.includes("The connection was lost")`)
	p.look()
	h.wire.mend()
	p.expects("")
	p.depart()
	p.press("Try again")
	p.arrive()
	p.prepared()
	p.reads("c.csv")
}

// Choosing files starts the upload, and files that are too large are refused before
// they are sent.
func TestChosenFilesStart(t *testing.T) {
	h := newHouse(t, false, "", "")
	p := newPerson(newBrowser(t), t, "ana", h.wire.from)
	p.enter(h.link, "/")
	p.open("/")
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"a.csv", "b.csv"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(oneRow, "comp_1", "comp_"+name[:1])), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	p.do("choose two files", chromedp.SetUploadFiles(chromedp.CSS("input[type=file]"), paths))
	p.until(`document.querySelectorAll(".uploads .done").length === 2`)
	p.open("/")
	eval[bool](p, `(() => {
		const transfer = new DataTransfer();
		transfer.items.add(new File([new Uint8Array(65 << 20)], "large.csv"));
		document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true}));
		return true;
	})()`)
	p.reads("large.csv has more than 64 MiB. Nothing was saved.")
}
