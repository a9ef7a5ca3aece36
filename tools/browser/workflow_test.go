//go:build unix

package browser

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// workflow is a firm's people, each with a browser, and the deployment they use.
type workflow struct {
	*testing.T
	deployment *deployment
	browser    context.Context

	owner *person // starts serve; has every role
	paula *person // prepares, and approves other people's batches; her connection drops
	vera  *person // approves
	otto  *person // approves, too
	dana  *person // operates: the balance, uncertain rows, schedules

	rows    int    // uploaded, besides the one that is a repeat
	batch   string // the path of the batch that everything happens to
	sheet   table  // the spreadsheet uploaded for it
	ordered int    // orders that the filing service must have in the end

	warnings string // the warnings that its preparer confirmed
}

// newWorkflow starts a browser and a deployment whose fees are known.
func newWorkflow(t *testing.T, fleet bool, rows int) *workflow {
	t.Helper()
	w := &workflow{T: t, browser: newBrowser(t), rows: rows}
	file := filepath.Join(t.TempDir(), "fees.csv")
	if err := os.WriteFile(file, []byte(fees), 0o600); err != nil {
		t.Fatal(err)
	}
	if fleet {
		w.deployment = newDeployment(t, true, schema(t), keyspace(t), "FILING_FEES="+file, "WORKER_CONCURRENCY=2")
	} else {
		w.deployment = newDeployment(t, false, "", "", "FILING_FEES="+file, "WORKER_CONCURRENCY=4")
	}
	return w
}

// step is a part of a workflow. Its name is logged with its duration.
type step struct {
	name string
	run  func()
}

func (w *workflow) run(steps ...step) {
	w.Helper()
	for _, s := range steps {
		began := time.Now()
		s.run()
		w.Logf("%6.1fs  %s", time.Since(began).Seconds(), s.name)
	}
}

// TestAccountant is an accountant's whole way: from a one-time link to results that
// agree with the filing service's own records.
func TestAccountant(t *testing.T) {
	w := newWorkflow(t, false, 36)
	w.run(
		step{"sign in by a link, once", w.signIn},
		step{"a preparer and an approver are added", w.addTwo},
		step{"a sheet is uploaded, and corrected in the table", w.correctInTable},
		step{"the cost is shown, and it is submitted", w.submit},
		step{"a second person approves", w.approve},
		step{"progress is watched", w.watch},
		step{"funds are insufficient, and a deposit is recorded", w.recordMissingDeposit},
		step{"an uncertain row is resolved", w.resolveOne},
		step{"the filings are filed", w.fileAll},
		step{"results are downloaded", w.downloadResults},
		step{"the filing service's records agree", w.compareRecords},
	)
}

// TestWholeWorkflow has an accountant, two approvers and an operator file a batch in
// browsers: once with the importer alone, once against a fleet on real servers.
func TestWholeWorkflow(t *testing.T) {
	for _, c := range []struct {
		name  string
		fleet bool
	}{{"SQLite", false}, {"PostgreSQL and Redis", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkflow(t, c.fleet, 72)
			w.run(
				step{"sign in by a link, once", w.signIn},
				step{"strangers are refused", w.refuseStrangers},
				step{"the empty page, and templates", w.checkEmptyPage},
				step{"people are added", w.addPeople},
				step{"a sheet is read, and corrected in place", w.readSheet},
				step{"another's headers are explained once", w.explainHeaders},
				step{"an order will not arrive", w.cutOrder},
				step{"it is submitted", w.submit},
				step{"its preparer cannot approve it", w.refuseOwnApproval},
				step{"two approve at once", w.approveTwice},
				step{"progress is watched over a connection that drops", w.watch},
				step{"serve is restarted", w.restart},
				step{"funds are insufficient, and a deposit is recorded", w.recordMissingDeposit},
				step{"uncertain rows are resolved", w.resolve},
				step{"events report the filing status", w.receiveEvents},
				step{"results are downloaded", w.downloadResults},
				step{"Social Security numbers stay hidden", w.hideNumbers},
				step{"a schedule runs", w.runSchedule},
				step{"workers, settings and audit log show it", w.checkRecords},
				step{"the filing service's records agree", w.compareRecords},
			)
		})
	}
}

// join opens a browser for a person.
func (w *workflow) join(name, address string) *person {
	w.Helper()
	p := newPerson(w.browser, w.T, name, address)
	p.secrets = ssns
	p.pictures = os.Getenv("UPDATE_SCREENSHOTS") != "" && !w.deployment.fleet // once
	return p
}

// signIn opens a one-time sign-in link, which leads to the person's first page.
func (p *person) signIn(link, to string) {
	p.t.Helper()
	p.do("open "+link, chromedp.Navigate(p.base+link))
	p.until(`location.pathname === "` + to + `" && document.readyState === "complete"`)
	p.inspect()
}

func (w *workflow) signIn() {
	w.owner = w.join("owner", w.deployment.address)
	w.owner.signIn(w.deployment.link, "/")
	w.dana = w.owner // until someone else operates
}

// refuseStrangers tries the used link and a page without a session.
func (w *workflow) refuseStrangers() {
	stranger := w.join("stranger", w.deployment.address)
	stranger.allowMessages("410")
	stranger.open(w.deployment.link)
	stranger.wantText("This link no longer works")
	stranger.allowMessages("")
	stranger.open("/balance")
	if at := stranger.at(); at != "/sign-in" {
		w.Errorf("without signing in the page is %s, want /sign-in", at)
	}
	stranger.wantText("one-time sign-in link")
}

func (w *workflow) checkEmptyPage() {
	p := w.owner
	p.wantText("No batches yet")
	p.checkTabOrder()
	p.press("Start from a template")
	for _, path := range eval[[]string](p,
		`[...document.querySelectorAll("a[href^='/templates/']")].map((a) => a.pathname)`) {
		content := p.fetch(path)
		if tables := workbook(w.T, content); len(tables) == 0 {
			w.Errorf("%s holds no sheet", path)
		}
	}
	for _, path := range []string{"/uncertain", "/balance", "/seasons", "/calendar", "/fleet", "/settings",
		"/security", "/audit"} {
		p.open(path)
	}
}

// invite adds a person on the settings page and signs them in with the link it shows.
func (w *workflow) invite(name, address string, roles ...string) *person {
	w.Helper()
	form := `form[action="/settings/accounts"] `
	w.owner.open("/settings")
	w.owner.write("#account-name", name+"@harborlight.example")
	for _, role := range roles {
		w.owner.tick(form+`[value="`+role+`"]`, true)
	}
	w.owner.follow("Add person")
	link := eval[string](w.owner, `document.querySelector("#link").textContent`)
	_, path, found := strings.Cut(strings.TrimPrefix(link, "http://"), "/")
	if !found {
		w.Fatalf("no link: %q", link)
	}
	p := w.join(name, address)
	p.signIn("/"+path, "/")
	return p
}

// addTwo adds the two people whom an order needs.
func (w *workflow) addTwo() {
	w.owner.open("/settings")
	w.owner.tick(`[name="second"]`, true)
	w.owner.follow("Save approval policy")
	w.paula = w.invite("paula", w.deployment.proxy.from, "preparer", "approver")
	w.vera = w.invite("vera", w.deployment.address, "approver")
}

func (w *workflow) addPeople() {
	w.addTwo()
	w.otto = w.invite("otto", w.deployment.address, "approver")
	w.dana = w.invite("dana", w.deployment.address, "operator")
	if eval[bool](w.vera, `document.querySelector("form.drop") !== null`) {
		w.Error("an approver sees the upload form")
	}
	w.vera.allowMessages("403")
	w.vera.open("/audit")
	w.vera.wantText("Permission denied")
	w.vera.allowMessages("")
}

// upload chooses a file on the home page and waits until its rows are checked.
func (p *person) upload(path string) {
	p.t.Helper()
	p.open("/")
	p.depart()
	p.attach("input[type=file]", path) // it starts at once
	p.arrive()
	if at := p.at(); !strings.HasPrefix(at, "/sheets/") {
		p.t.Fatalf("%s: after the upload of %s the page is %s\n%s", p.name, path, at, p.state())
	}
	p.waitPrepared()
}

// waitPrepared waits until a sheet is read and priced.
func (p *person) waitPrepared() {
	p.t.Helper()
	p.until(`![...document.querySelectorAll("progress")].some((e) => e.checkVisibility()) &&
		document.readyState === "complete" &&
		(!document.querySelector("#fix") || document.querySelector("#fix[data-ready] .slick-row"))`)
	p.inspect()
}

const (
	hostile = 60 // the first row that has a name which means harm
	lostRow = 20 // its order is made, and the answer is lost
	cutRow  = 21 // its order is not made, and the connection is cut
)

// makeSheet makes the spreadsheet: a row is a repeat, and rows 7 to 9 have errors.
func (w *workflow) makeSheet() {
	w.sheet = reports("a", w.rows)
	year, state := w.sheet.column(w.T, "Filing Year"), w.sheet.column(w.T, "Filing State")
	w.sheet[6][year] = "20x6"
	w.sheet[7][state] = "Delawhere"
	w.sheet[8][state] = "Nirwana"
	w.sheet = append(w.sheet, w.sheet[5])
}

// correctedSheet notes what is typed over two of the errors.
func (w *workflow) correctedSheet() {
	w.sheet[6][w.sheet.column(w.T, "Filing Year")] = "2026"
	w.sheet[7][w.sheet.column(w.T, "Filing State")] = "DE"
}

// correctInTable corrects two errors in the table: one is typed over, the other edited
// after a double click.
func (w *workflow) correctInTable() {
	w.makeSheet()
	w.paula.upload(w.sheet.save(w.T, "annual-reports-2026.csv"))
	w.correctTwo()
	w.paula.follow("Continue with ")
}

// correctTwo corrects two of the three errors of the sheet.
func (w *workflow) correctTwo() {
	p := w.paula
	p.wantCount("errors", "3")
	p.wantCount("skipped", "1")
	p.until(`document.querySelectorAll(".slick-pane-left .slick-row").length === 3`)
	p.clickAt(p.cellAt("H8"), 2)
	p.until(`document.querySelector(".slick-cell input")?.value === "Delawhere"`)
	p.pressKeys(strings.Repeat(kb.Backspace, len("Delawhere")))
	p.pressKeys("DE")
	p.pressKeys(kb.Enter)
	p.wantCount("errors", "2")
	p.clickAt(p.cellAt("I7"), 1)
	p.pressKeys("2026")
	p.pressKeys(kb.Enter)
	p.wantCount("errors", "1")
	p.wantCount("ready", strconv.Itoa(w.rows-1))
	p.waitSaved()
	w.correctedSheet()
	for row, header := range map[int]string{7: "Filing Year", 8: "Filing State"} {
		want := w.sheet[row-1][w.sheet.column(w.T, header)]
		if got := p.savedRow(row)[header]; got != want {
			w.Errorf("row %d has the %s %q, want %q", row, header, got, want)
		}
	}
}

func (w *workflow) readSheet() {
	w.makeSheet()
	for i, name := range []string{script, formula, hebrew} {
		w.sheet[1+hostile+i][w.sheet.column(w.T, "Legal Name")] = name
	}
	p := w.paula
	p.upload(w.sheet.save(w.T, "annual-reports-2026.csv"))
	at := p.at()
	p.follow("Review mapping")
	p.checkTabOrder()
	p.wantText("Match your columns", "Company ID", "Agent ZIP", "Certain")
	p.open(at)
	p.waitPrepared()

	// Company names are shown as text, never as markup or formulas.
	p.press("All")
	for _, name := range []string{script, formula, hebrew} {
		p.write("#fix-search", name)
		p.until(`document.querySelector("#fix-search").value === ` + quoted(name) + ` &&
			document.querySelectorAll(".slick-pane-left .slick-row").length === 1 &&
			document.querySelector(".slick-pane-left .slick-row").textContent.includes(` + quoted(name) + `)`)
	}
	p.write("#fix-search", "")
	p.pressKeys(" " + kb.Backspace)
	p.until(`document.querySelectorAll(".slick-pane-left .slick-row").length > 3`)
	p.press("Errors")
	w.correctTwo()
	marked := p.fetch(p.at() + "/highlighted")
	workbook(w.T, marked)
}

func (w *workflow) explainHeaders() {
	p := w.paula
	p.upload(reports("b", 3).renamed(foreignHeader).save(w.T, "berichte.csv"))
	p.wantText("The spreadsheet cannot be read yet")
	p.choose("#product", "annual-report")
	for i, ours := range reportHeader {
		p.choose(fmt.Sprintf("#column-%d", i), ours)
	}
	p.tick(`[name="keep"]`, true)
	p.send("Apply mapping")
	p.waitPrepared()
	p.wantCount("ready", "3")
	p.follow("Home")
	p.upload(reports("c", 2).renamed(foreignHeader).save(w.T, "berichte-2.csv"))
	p.wantText("mapping saved by")
	p.wantCount("ready", "2")
	p.press("More")
	p.press("Delete upload")
	p.follow("Delete upload")
	p.wantText("Nothing was ordered from it")
}

// recordDeposit records a deposit.
func (w *workflow) recordDeposit(amount string) {
	w.Helper()
	p := w.dana
	p.open("/balance")
	p.write("#deposit", amount)
	p.write("#deposit-note", "by wire, confirmed by the bank")
	p.follow("Record deposit")
	p.wantText("Recorded the deposit")
	p.open("/balance?kind=declared")
}

// listDeposits reads the deposits of the balance page.
func (w *workflow) listDeposits() []string {
	w.Helper()
	return eval[[]string](
		w.dana, `[...document.querySelectorAll("#entries tbody tr")].filter((e) => e.innerText.includes("Deposit"))
			.map((e) => e.querySelector("td.money").textContent.trim())`)
}

var amount = regexp.MustCompile(`\$([0-9,]+)\.(\d\d)`)

// cents reads an amount of a page.
func cents(tb testing.TB, text string) int {
	tb.Helper()
	found := amount.FindStringSubmatch(text)
	if found == nil {
		tb.Fatalf("%q is no amount", text)
	}
	n, err := strconv.Atoi(strings.ReplaceAll(found[1]+found[2], ",", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// dollars writes cents as an amount to type in.
func dollars(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

// missing is how much the first deposit is too small, in cents.
const missing = 1000_00

// submit submits the spreadsheet while the balance is too small for all of it. The
// answer to one of its orders will be lost.
func (w *workflow) submit() {
	d, p := w.deployment, w.paula
	d.importer("webhooks", "create", "--url", "http://"+d.address+"/webhooks/filing", "--yes", "--hide-secret")
	d.control("fault", "kind=reset", "after=true", "companyId="+company("a", lostRow), "times=1")
	// Orders take a while, so that most are placed while someone watches.
	d.control("fault", "kind=slow-body", "endpoint=POST /orders", "forSeconds=1", fmt.Sprintf("times=%d", w.rows/2))
	p.open("/")
	p.follow("annual-reports-2026.csv")
	p.waitPrepared()
	p.open(p.at() + "/approve")
	total := cents(w.T, p.text(".decide .sum"))
	w.recordDeposit(dollars(total - missing))
	if got := w.listDeposits(); len(got) != 1 || cents(w.T, got[0]) != total-missing {
		w.Errorf("the deposits are %q", got)
	}
	p.reload()
	if got := cents(w.T, p.text("#short")); got != missing {
		w.Errorf("%d cents are missing, want %d", got, missing)
	}
	p.inspect()
	p.check()
	w.warnings = eval[string](p, `document.querySelector("input[name=warnings]")?.value ?? ""`)
	p.follow("#submit")
	w.batch = p.at()
	if !strings.HasPrefix(w.batch, "/batches/") {
		w.Fatalf("submitted, the page is %s\n%s", w.batch, p.state())
	}
	w.ordered = w.rows - 1
}

// cutOrder will cut the connection before an order is made. The sandbox applies the
// first fault that matches a request, so it precedes those of submit.
func (w *workflow) cutOrder() {
	w.deployment.control("fault", "kind=reset", "companyId="+company("a", cutRow), "times=1")
}

// refuseOwnApproval has the preparer send the approval that her page does not offer.
func (w *workflow) refuseOwnApproval() {
	p := w.paula
	p.open(w.batch + "/approve")
	p.wantText("You uploaded this spreadsheet, so someone else must approve it.", "Waiting for approval")
	p.allowMessages("403")
	plan := eval[string](p, `document.querySelector(".decide code").textContent`)
	eval[bool](
		p, `window.refused = null, fetch("`+w.batch+
			`/approve", {method: "POST", body: new URLSearchParams({once: "forged", plan: `+quoted(plan)+
			`, warnings: `+quoted(w.warnings)+`})}).then((r) => r.text()).then((t) => { refused = t }), true`)
	p.until(`refused`)
	if got := eval[string](p, `refused`); !strings.Contains(got, "someone else must approve it") {
		w.Errorf("the answer to her approval is %s", got)
	}
	p.allowMessages("")
	p.reload()
	p.wantText("Waiting for approval")
}

// approve has the second person approve.
func (w *workflow) approve() {
	w.paula.open(w.batch + "/approve")
	w.paula.wantText("You uploaded this spreadsheet, so someone else must approve it.", "Waiting for approval")
	w.vera.open(w.batch + "/approve")
	w.vera.check()
	w.vera.follow("#approve")
	w.vera.wantText("Approved ")
}

// approveTwice has two people approve in the same moment.
func (w *workflow) approveTwice() {
	two := []*person{w.vera, w.otto}
	for _, one := range two {
		one.open(w.batch + "/approve")
		one.inspect()
		one.allowMessages("409")
		one.depart()
	}
	errs := make([]error, len(two))
	var both sync.WaitGroup
	for _, one := range two {
		one.check()
	}
	for i, one := range two {
		both.Go(func() { errs[i] = one.try(click("#approve")) })
	}
	both.Wait()
	said := ""
	for i, one := range two {
		if errs[i] != nil {
			w.Fatalf("%s: %v\n%s", one.name, errs[i], one.state())
		}
		one.arrive()
		said += one.text("main") + "\n"
		one.inspect()
		one.allowMessages("")
	}
	if strings.Count(said, "The orders are being placed") != 1 ||
		strings.Count(said, "Nothing here waits for approval") != 1 {
		w.Errorf("the two pages say:\n%s", said)
	}
}

// placedRows is the first number of the headline: "640 of 800 placed".
const placedRows = `Number(/[0-9,]+/.exec(document.querySelector("#live .headline")?.textContent ?? "")?.[0]
	.replaceAll(",", "") ?? -1)`

// countPlaced is how many rows of the batch the page shows as placed.
func (p *person) countPlaced() int {
	p.t.Helper()
	return eval[int](p, placedRows)
}

const lost = `[...document.querySelectorAll(".lost")].some((e) => e.checkVisibility())`

// watch follows the batch over a connection that drops while orders are placed.
func (w *workflow) watch() {
	p := w.paula
	p.open(w.batch)
	p.saveScreenshot("batch", 1280, 1000)
	p.dark(true)
	p.saveScreenshot("phone", 390, 844)
	p.dark(false)
	w.dropWhile(p, func() {})
	p.reload()
	w.wantSameProgress()
}

// dropWhile does something while the connection of a person is away, and waits until
// their page follows again.
func (w *workflow) dropWhile(p *person, do func()) {
	w.Helper()
	p.allowMessages(`ERR_|404`)
	w.deployment.proxy.disconnect()
	p.until(lost)
	do()
	w.deployment.proxy.reconnect()
	p.until("!" + lost)
	p.allowMessages("")
}

// restart restarts serve while its pages are open.
func (w *workflow) restart() {
	everyone := []*person{w.paula, w.vera, w.otto}
	for _, p := range everyone {
		p.allowMessages(`ERR_`)
	}
	w.deployment.restart()
	w.wantSameProgress()
	for _, p := range everyone {
		p.until("!" + lost)
		p.allowMessages("")
	}
}

// wantSameProgress waits until the page over the connection that drops shows what a
// page over a direct connection shows.
func (w *workflow) wantSameProgress() {
	w.Helper()
	w.vera.open(w.batch)
	var over, past string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if over, past = w.paula.text("#live"), w.vera.text("#live"); over == past {
			return
		}
	}
	w.Errorf("the connection that dropped shows\n%s\na direct one\n%s", over, past)
}

// badge is the state of the batch on its page.
const badge = `(document.querySelector("#live .badge")?.innerText.trim() ?? "")`

func (w *workflow) recordMissingDeposit() {
	p := w.paula
	// Submitted orders are answered; then nothing moves.
	p.until(`[...document.querySelectorAll("#live .banner")].some((e) => /funds/i.test(e.innerText))`)
	p.until(`!document.querySelector("#live .key .placing")`)
	p.until(`document.querySelector("[data-tally=placed] .n").textContent ===
		document.querySelector("#live .key .placed b").textContent`)
	p.inspect()
	w.wantSameProgress()
	before := p.countPlaced()
	w.dana.open("/balance")
	w.dana.saveScreenshot("balance", 1280, 1000)
	w.dropWhile(p, func() {
		w.recordDeposit(dollars(missing))
		w.vera.until(badge + `.endsWith("uncertain")`)
	})
	if got := w.listDeposits(); len(got) != 2 {
		w.Errorf("the deposits are %q", got)
	}
	p.until(badge + `.endsWith("uncertain")`)
	p.until(fmt.Sprintf(placedRows+` > %d`, before))
	w.wantSameProgress()
}

// resolveOne resolves the row whose order was made, the only uncertain one.
func (w *workflow) resolveOne() {
	w.markPlaced()
	w.dana.wantText("No uncertain rows")
	w.wantFinished()
}

// resolve resolves both uncertain rows.
func (w *workflow) resolve() {
	if made := w.deployment.sandboxOrders(company("a", cutRow)); len(made) != 0 {
		w.Fatalf("the sandbox was not to make an order: %v", made)
	}
	w.markPlaced()
	p := w.dana
	p.wantText("1 row was sent")
	row := w.uncertainRow(company("a", cutRow))
	p.press(row + ` details.confirm:nth-of-type(2) summary`)
	if eval[bool](p, `document.querySelector("`+row+` details[open] [name=anyway]") !== null`) {
		p.tick(row+` details[open] [name=anyway]`, true)
	}
	p.follow(row + ` details[open] button.primary`)
	p.wantText("No uncertain rows")
	// A row that is sent again may buy a second filing: it needs its own approval.
	w.vera.open(w.batch)
	w.vera.wantText("Someone asked to send 1 row again")
	w.vera.follow("Review and approve")
	w.vera.inspect()
	w.vera.follow("Approve 1 row, ")
	w.wantFinished()
}

// wantFinished waits until the batch needs nothing but a correction.
func (w *workflow) wantFinished() {
	w.Helper()
	w.paula.open(w.batch)
	w.paula.until(badge + ` === "Needs attention"`)
	w.paula.inspect()
}

// markPlaced resolves the row whose order was made.
func (w *workflow) markPlaced() {
	p := w.dana
	p.open("/uncertain")
	p.saveScreenshot("uncertain", 1280, 900)
	made := w.deployment.sandboxOrders(company("a", lostRow))
	if len(made) != 1 {
		w.Fatalf("the sandbox was to make one order: %v", made)
	}
	row := w.uncertainRow(company("a", lostRow))
	p.press(row + ` details.confirm:nth-of-type(1) summary`)
	p.write(row+` [name="order-0"]`, made[0])
	p.follow(row + ` details[open] button.primary`)
}

// uncertainRow finds the uncertain row of a company, as a selector.
func (w *workflow) uncertainRow(company string) string {
	w.Helper()
	return "#" + eval[string](w.dana,
		`[...document.querySelectorAll("article")].find((e) => e.innerText.includes("`+company+`")).id`)
}

// sandboxOrders lists the orders that the sandbox made for a company.
func (d *deployment) sandboxOrders(company string) (ids []string) {
	d.t.Helper()
	for _, o := range d.sandboxRecords().Orders {
		if o.Company == company {
			for _, i := range o.Items {
				ids = append(ids, i.ID)
			}
		}
	}
	return ids
}

// fileAll has the filing service file what was ordered.
func (w *workflow) fileAll() {
	w.deployment.control("advance", "all=true", "status=filed")
}

func (w *workflow) receiveEvents() {
	d, p := w.deployment, w.paula
	d.control("advance", "all=true", "status=pending")
	d.control("exception", "orderId="+d.sandboxOrders(company("a", 30))[0], "code=482")
	p.open(w.batch)
	p.until(`document.querySelector("#live").innerText.includes("1 row with a filing exception")`)
	p.follow("Check 1 row")
	if n := eval[int](p, `document.querySelectorAll("#rows tbody tr").length`); n != 1 {
		w.Errorf("%d rows have a filing exception, want 1", n)
	}
	p.follow("32") // its number
	p.wantText("The filing stopped", company("a", 30))
	w.fileAll()
	p.open(fmt.Sprintf("%s/rows/%d", w.batch, hostile+2))
	p.reloadUntil(`document.querySelector("#documents")`)
	p.inspect()
	p.wantText(script, "filed", "Download")
	document := p.fetch(eval[string](p, `document.querySelector("a[href*='/documents/']").pathname`))
	if !strings.HasPrefix(string(document), "%PDF") {
		w.Errorf("the document is %q", brief(string(document)))
	}
	p.open(fmt.Sprintf("%s/rows/%d", w.batch, hostile+4))
	p.wantText(hebrew)
}

func (w *workflow) downloadResults() {
	p := w.vera
	p.open(w.batch)
	p.until(fmt.Sprintf(`document.querySelector("#live").innerText.includes("Download %d documents")`, w.rows-1))
	content := p.fetch(w.batch + "/results.xlsx")
	sheets := workbook(w.T, content)
	var results table
	for _, t := range sheets {
		if len(t) > len(results) {
			results = t
		}
	}
	content = p.fetch(w.batch + "/results.csv")
	text, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(content), "\ufeff"))).ReadAll()
	if err != nil {
		w.Fatalf("results.csv: %v", err)
	}
	w.wantEveryRow("results.xlsx", results)
	w.wantEveryRow("results.csv", text)
	for _, row := range text {
		for _, cell := range row {
			if strings.ContainsAny(cell[:min(1, len(cell))], "=@") {
				w.Errorf("results.csv would have a formula: %q", cell)
			}
		}
	}
	content = p.fetch(w.batch + "/attention.xlsx")
	for name, t := range workbook(w.T, content) {
		if name == "Needs Attention" && len(t.of(w.T, "Company ID", company("a", 7))) != 1 {
			w.Errorf("the row to correct is not in %q", t)
		}
	}
	content = p.fetch(w.batch + "/documents.zip")
	documents := 0
	for name, content := range unzip(w.T, content) {
		if strings.HasPrefix(string(content), "%PDF") {
			documents++
		} else if name != "manifest.csv" {
			w.Errorf("%s in documents.zip is %q", name, brief(string(content)))
		}
	}
	if want := w.rows - 1; documents != want {
		w.Errorf("%d documents, want %d", documents, want)
	}
}

// wantEveryRow checks that a table has a row for every row of the spreadsheet.
func (w *workflow) wantEveryRow(name string, t table) {
	w.Helper()
	if all := len(w.sheet) - 1; len(t) != all+1 {
		w.Errorf("%s has %d rows, want %d and a header", name, len(t), all)
	}
	for i, row := range w.sheet[1:] {
		if len(t.of(w.T, "Company ID", row[0])) == 0 {
			w.Errorf("row %d is not in %s", i+2, name)
		}
	}
}

// submitAndPlace submits the spreadsheet of a page, has it approved, and waits until
// its orders are placed.
func (w *workflow) submitAndPlace(p *person) {
	w.Helper()
	p.open(p.at() + "/approve")
	p.check()
	p.follow("#submit")
	w.approveAndPlace(p.at())
}

// approveAndPlace has vera approve a batch, and waits until it is done.
func (w *workflow) approveAndPlace(batch string) {
	w.Helper()
	w.vera.open(batch + "/approve")
	w.vera.check()
	w.vera.follow("#approve")
	w.vera.until(`location.pathname === ` + quoted(batch) + ` && document.querySelector("#live") !== null`)
	w.vera.until(`["Done", "Needs attention"].includes(` + badge + `)`)
	w.vera.inspect()
}

func (w *workflow) hideNumbers() {
	p, sheet := w.paula, eins()
	number := sheet.column(w.T, "Responsible Party SSN")
	p.upload(sheet.save(w.T, "eins.csv"))
	p.wantText("Responsible Party SSN")
	at := p.at()
	p.open(at + "/columns")
	p.wantText("hidden")
	p.open(at)
	p.waitPrepared()
	workbook(w.T, p.fetch(p.at()+"/highlighted"))
	p.clickAt(p.cellAt(fmt.Sprintf("%c3", 'A'+number)), 1)
	p.pressKeys("123-45-6789" + kb.Enter)
	p.wantCount("ready", "3")
	p.waitSaved()
	p.waitPrepared()
	w.recordDeposit("500")
	w.submitAndPlace(p)
	w.ordered += 3
	batch := w.vera.at()
	w.vera.open(batch + "/rows/3")
	w.vera.fetch(batch + "/results.xlsx")
	w.vera.fetch(batch + "/results.csv")
	for _, order := range w.deployment.sandboxRecords().Orders {
		if order.Company == company("ein", 1) {
			return
		}
	}
	w.Error("the corrected row did not reach the filing service")
}

func (w *workflow) runSchedule() {
	p := w.dana
	w.recordDeposit("2000")
	p.open("/seasons")
	p.follow("Add schedule")
	p.write("#name", "dover")
	p.tick(`[name="when"][value="date"]`, true)
	p.choose("#month", "1")
	p.write("#day", "15")
	list := reports("d", 4)
	for _, row := range list[1:] {
		row[list.column(w.T, "Filing Year")] = "" // the schedule sets it
	}
	p.attach("#file", list.save(w.T, "roster.csv"))
	p.follow("Add schedule")
	p.wantText("dover", "roster.csv")
	p.follow("Run now…")
	p.wantText("Planned run")
	p.confirm("Run 4 filings", "Make batch")
	p.until(`document.querySelector("a[href^='/batches/']") || location.pathname.startsWith("/batches/")`)
	if !strings.HasPrefix(p.at(), "/batches/") {
		p.open(eval[string](p, `document.querySelector("main a[href^='/batches/']").pathname`))
	}
	w.approveAndPlace(p.at())
	w.ordered += 4
	p.open("/seasons")
	p.open("/calendar")
}

func (w *workflow) checkRecords() {
	p := w.dana
	p.open("/fleet")
	if w.deployment.fleet {
		p.wantText("worker")
	} else {
		p.wantText("serve")
	}
	p.wantText("places orders")
	p.open("/settings")
	p.wantText("present", "Mandant", w.deployment.address+"/webhooks/filing")
	if strings.Contains(eval[string](p, `document.documentElement.outerHTML`), "sk_test_browser") {
		w.Error("the settings show the key")
	}
	for _, act := range []string{"deposit", "approve", "submit", "upload", "correct", "resolve", "account-add",
		"download", "sign-in"} {
		p.open("/audit?what=" + act)
		if n := eval[int](p, `document.querySelectorAll("tbody tr").length`); n == 0 {
			w.Errorf("the audit log has no %s", act)
		}
	}
	p.open("/")
	p.press(".who summary")
	p.follow("Sign out")
	p.open("/")
	if at := p.at(); at != "/sign-in" {
		w.Errorf("after signing out the page is %s, want /sign-in", at)
	}
}

// order is an order that the sandbox made.
type order struct {
	Company string `json:"companyId"`
	Items   []struct {
		ID string `json:"orderId"`
	} `json:"items"`
}

// sandboxRecords is what the sandbox recorded.
type sandboxRecords struct {
	Charged    int     `json:"chargedCents"`
	Orders     []order `json:"orders"`
	Duplicates []any   `json:"duplicates"`
	Violations []struct{ Rule, Message string }
}

func (d *deployment) sandboxRecords() (r sandboxRecords) {
	d.t.Helper()
	answer, err := http.Get("http://" + d.sandbox + "/books.json")
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&r); err != nil {
		d.t.Fatalf("read the records of the sandbox: %v", err)
	}
	return r
}

func (w *workflow) compareRecords() {
	b := w.deployment.sandboxRecords()
	if len(b.Duplicates) > 0 || len(b.Violations) > 0 {
		w.Errorf("bought twice: %v; against the rules: %v", b.Duplicates, b.Violations)
	}
	filings := make(map[string]bool)
	for _, o := range b.Orders {
		filings[o.Company] = true
	}
	if len(b.Orders) != w.ordered || len(filings) != w.ordered {
		w.Errorf("%d orders for %d companies, want %d", len(b.Orders), len(filings), w.ordered)
	}
	p := w.vera
	p.open("/balance")
	amountOf := func(name string) int {
		return cents(w.T, eval[string](p,
			`[...document.querySelectorAll("th[scope=row]")].find((e) => e.innerText.startsWith("`+name+
				`")).nextElementSibling.innerText`))
	}
	if posted := amountOf("Charged"); posted != b.Charged {
		w.Errorf("the balance page has %d cents charged, the filing service %d", posted, b.Charged)
	}
	if reserved := amountOf("Reserved"); reserved != 0 {
		w.Errorf("%d cents are reserved, and every order is answered", reserved)
	}
}
