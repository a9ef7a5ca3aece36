//go:build unix

package browser

import (
	"os"
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
	d := newDeployment(t, nil)
	p := newPerson(newBrowser(t), t, "ana", d.proxy.from)
	p.signIn(d.link, "/")
	p.open("/")
	p.wantText("Drop spreadsheets here, or browse")

	// A file that is dropped beside the box goes to its page.
	p.depart()
	p.dropFiles("h1", map[string]string{"one.csv": oneRow})
	p.arrive()
	if at := p.at(); !strings.HasPrefix(at, "/sheets/") {
		t.Fatalf("the page is %s\n%s", at, p.state())
	}
	p.waitPrepared()

	// Several stay listed with their links; what is no spreadsheet says why, and
	// leaves nothing behind.
	p.open("/")
	p.allowMessages(`422`) // the browser logs refusals, too
	p.dropFiles("main", map[string]string{
		"a.csv":      strings.ReplaceAll(oneRow, "comp_1", "comp_2"),
		"b.csv":      strings.ReplaceAll(oneRow, "comp_1", "comp_3"),
		"report.pdf": "%PDF-1.7\n", "broken.xlsx": "PK\x03\x04 and no more", "empty.csv": "",
		"strange.csv": "Mandant,Sitz\nx,y\n",
	})
	p.until(`document.querySelectorAll(".uploads .done").length === 3 &&
		document.querySelectorAll(".uploads .refused").length === 3`)
	p.allowMessages("")
	p.wantText("is a PDF document", "the file is damaged", "empty.csv is empty")
	if at := p.at(); at != "/" {
		t.Errorf("after several the page is %s", at)
	}
	p.inspect()
	p.press("Dismiss")
	p.until(`document.querySelectorAll(".uploads .refused").length === 2`)
	p.follow("Review")
	p.waitPrepared()
	p.open("/")
	if n := eval[int](p, `document.querySelectorAll("main a[href^='/sheets/']").length`); n != 8 { // two links each
		t.Errorf("%d links to uploads\n%s", n, p.state())
	}

	// Every page takes files; a lost connection is said, and tried again.
	p.open("/balance")
	d.proxy.disconnect()
	p.allowMessages(`ERR_`)
	p.dropFiles("h1", map[string]string{"c.csv": strings.ReplaceAll(oneRow, "comp_1", "comp_4")})
	p.until(`document.querySelector(".tray .refused")?.innerText.includes("The connection was lost")`)
	p.inspect()
	d.proxy.reconnect()
	p.allowMessages("")
	p.depart()
	p.press("Try again")
	p.arrive()
	p.waitPrepared()
	p.wantText("c.csv")
	uploadChosen(t, p)
}

// uploadChosen chooses files, which starts their upload. One that is too large is refused
// before it is sent.
func uploadChosen(t *testing.T, p *person) {
	p.open("/")
	var paths []string
	for _, name := range []string{"d.csv", "e.csv"} {
		paths = append(paths, table{{"Company ID", "Filing State"}, {name, "DE"}}.save(t, name))
	}
	p.do("choose two files", chromedp.SetUploadFiles(chromedp.CSS("input[type=file]"), paths))
	p.until(`document.querySelectorAll(".uploads .done").length === 2`)
	eval[bool](p, `(() => {
		const transfer = new DataTransfer();
		transfer.items.add(new File([new Uint8Array(65 << 20)], "large.csv"));
		document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true}));
		return true;
	})()`)
	p.wantText("large.csv has more than 64 MiB. Nothing was saved.")
}

// A schedule whose name is refused keeps its settings and its file.
func TestScheduleKeepsItsFile(t *testing.T) {
	w := newWorkflow(t, 0)
	w.signIn()
	p := w.owner
	p.open("/schedules/new")
	p.attach("#file", reports("s", 4).save(t, "Florida LLCs.csv"))
	p.press("More settings")
	p.write("#name", "a b")
	p.allowMessages("Failed to load resource")
	p.press("Add schedule")
	p.until(`document.querySelector("#name-error") && document.querySelector("#file").files[0].name === "Florida LLCs.csv"`)
	p.write("#name", "")
	p.follow("Add schedule")
	p.wantText("Added the schedule florida-llcs with 4 rows from Florida LLCs.csv")
}

// On the first run the page asks for the filing service, and goes on with it.
func TestFirstRun(t *testing.T) {
	sandbox := freeAddress(t)
	start(t, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, "sandbox", "--listen",
		sandbox).waitOutput("The sandbox is at")
	p := newPerson(newBrowser(t), t, "ana", freeAddress(t))
	p.secrets = []string{"sk_test_firstrun"}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "USER=ana"}
	serve := start(t, env, "serve", "--listen", strings.TrimPrefix(p.base, "http://"))
	owner := serve.waitOutput(`importer accounts link "(.+)" --url`)[1]
	p.signIn(start(t, env, "accounts", "link", owner).waitOutput(`/enter\?link=\S+`)[0], "/setup")
	p.wantText("Set up Bulkfiling")
	p.checkTabOrder()
	p.write("#address", "http://127.0.0.1:1")
	p.write("#key", "sk_test_firstrun")
	p.allowMessages("422")
	p.follow("Check the key and start")
	p.allowMessages("")
	p.wantText("The filing service could not check the key")
	p.inspect()
	p.write("#address", "http://"+sandbox)
	p.write("#key", "sk_test_firstrun")
	p.follow("Check the key and start")
	p.wantText("Drop spreadsheets here")
	p.depart()
	p.dropFiles("main", map[string]string{"one.csv": oneRow})
	p.arrive()
	p.waitPrepared()
	p.wantText("one.csv")
	p.open("/settings")
	p.wantText("http://" + sandbox + "/v1")
}
