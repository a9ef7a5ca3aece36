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

	rows    int    // uploaded, besides the one that is a repeat
	batch   string // the path of the batch that everything happens to
	sheet   table  // the spreadsheet uploaded for it
	ordered int    // orders that the filing service must have in the end
}

// newWorkflow starts a browser and a deployment whose fees are known.
func newWorkflow(t *testing.T, rows int) *workflow {
	t.Helper()
	w := &workflow{T: t, browser: newBrowser(t), rows: rows}
	file := filepath.Join(t.TempDir(), "fees.csv")
	if err := os.WriteFile(file, []byte(fees), 0o600); err != nil {
		t.Fatal(err)
	}
	w.deployment = newDeployment(t, nil, "FILING_FEES="+file, "WORKER_CONCURRENCY=4")
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

// TestWholeWorkflow is an accountant's whole way: from a one-time link to results that
// agree with the filing service's own records.
func TestWholeWorkflow(t *testing.T) {
	w := newWorkflow(t, 36)
	w.run(step{"sign in by a link", w.signIn}, step{"a preparer and an approver are added", w.addTwo},
		step{"a sheet is uploaded, and corrected in the table", w.correctInTable},
		step{"the cost is shown, and it is submitted", w.submit}, step{"a second person approves", w.approve},
		step{"progress is watched over a connection that drops", w.watch},
		step{"funds are insufficient, and a deposit is recorded", w.recordMissingDeposit},
		step{"an uncertain row is resolved", w.resolveOne},
		step{"the filings are filed, and results are downloaded", w.downloadResults},
		step{"every page can be read", w.readPages}, step{"the filing service's records agree", w.compareRecords})
}

// join opens a browser for a person.
func (w *workflow) join(name, address string) *person {
	w.Helper()
	p := newPerson(w.browser, w.T, name, address)
	p.secrets = ssns
	p.pictures = os.Getenv("UPDATE_SCREENSHOTS") != ""
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
	w.owner.wantText("No batches yet")
	w.owner.checkTabOrder()
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

// choose chooses a file on the home page, whose upload starts at once, and waits for the next page.
func (p *person) choose(path string) {
	p.t.Helper()
	p.open("/")
	p.depart()
	p.attach("input[type=file]", path)
	p.arrive()
}

// upload chooses a file on the home page and waits until its rows are checked.
func (p *person) upload(path string) {
	p.t.Helper()
	p.choose(path)
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
	hostile = 30 // the first row that has a name which means harm
	lostRow = 20 // its order is made, and the answer is lost
)

// correctInTable uploads a spreadsheet in which a row is a repeat, and rows 7 to 9 have
// errors. Two of these are corrected in the table: one is typed over, the other edited
// after a double click.
func (w *workflow) correctInTable() {
	w.sheet = reports("a", w.rows)
	year, state := w.sheet.column(w.T, "Filing Year"), w.sheet.column(w.T, "Filing State")
	w.sheet[6][year] = "20x6"
	w.sheet[7][state] = "Delawhere"
	w.sheet[8][state] = "Nirwana"
	w.sheet = append(w.sheet, w.sheet[5])
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
	p.wantCount("errors", "3")
	p.wantCount("skipped", "1")
	p.until(`document.querySelectorAll(".slick-pane-left .slick-row").length === 3`)
	p.clickAt(p.cellAt("H8"), 2)
	p.until(`document.querySelector(".slick-cell input")?.value === "Delawhere"`)
	p.pressKeys(strings.Repeat(kb.Backspace, len("Delawhere")))
	p.pressKeys("DE" + kb.Enter)
	p.wantCount("errors", "2")
	p.clickAt(p.cellAt("I7"), 1)
	p.pressKeys("2026" + kb.Enter)
	p.wantCount("errors", "1")
	p.wantCount("ready", strconv.Itoa(w.rows-1))
	p.waitSaved()
	p.fetch(p.at() + "/highlighted")
	p.follow("Continue with ")
}

// recordDeposit records a deposit.
func (w *workflow) recordDeposit(amount string) {
	w.Helper()
	p := w.owner
	p.open("/balance")
	p.write("#deposit", amount)
	p.write("#deposit-note", "by wire, confirmed by the bank")
	p.follow("Record deposit")
	p.wantText("Recorded the deposit")
	p.open("/balance?kind=declared")
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
	d.importer("webhooks", "create", "--url", "http://"+d.address+"/webhooks/filing", "--yes")
	d.control("fault", "kind=reset", "after=true", "companyId="+company("a", lostRow), "times=1")
	// Orders take a while, so that most are placed while someone watches.
	d.control("fault", "kind=slow-body", "endpoint=POST /orders", "forSeconds=1", fmt.Sprintf("times=%d", w.rows/2))
	p.open("/")
	p.follow("annual-reports-2026.csv")
	p.waitPrepared()
	p.open(p.at() + "/approve")
	total := cents(w.T, p.text(".decide .sum"))
	w.recordDeposit(dollars(total - missing))
	p.reload()
	if got := cents(w.T, p.text("#short")); got != missing {
		w.Errorf("%d cents are missing, want %d", got, missing)
	}
	p.inspect()
	p.check()
	p.follow("#submit")
	w.batch = p.at()
	if !strings.HasPrefix(w.batch, "/batches/") {
		w.Fatalf("submitted, the page is %s\n%s", w.batch, p.state())
	}
	w.ordered = w.rows - 1
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
	w.owner.open("/balance")
	w.owner.saveScreenshot("balance", 1280, 1000)
	w.dropWhile(p, func() {
		w.recordDeposit(dollars(missing))
		w.vera.until(badge + `.endsWith("uncertain")`)
	})
	p.until(badge + `.endsWith("uncertain")`)
	p.until(fmt.Sprintf(placedRows+` > %d`, before))
	w.wantSameProgress()
}

// resolveOne resolves the row whose order was made, the only uncertain one.
func (w *workflow) resolveOne() {
	p := w.owner
	p.open("/uncertain")
	p.saveScreenshot("uncertain", 1280, 900)
	made := w.deployment.sandboxOrders(company("a", lostRow))
	if len(made) != 1 {
		w.Fatalf("the sandbox was to make one order: %v", made)
	}
	p.write(`[id^="orders-"]`, made[0])
	p.follow("Mark as placed…")
	p.follow("Resolve 1 row")
	p.wantText("No uncertain rows")
	w.paula.open(w.batch)
	w.paula.until(badge + ` === "Needs attention"`)
	w.paula.inspect()
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

func (w *workflow) downloadResults() {
	w.deployment.control("advance", "all=true", "status=filed")
	p := w.vera
	p.open(w.batch)
	p.until(fmt.Sprintf(`document.querySelector("#live").innerText.includes("Download %d documents")`, w.rows-1))
	for _, name := range []string{"results.xlsx", "documents.zip"} {
		if content := p.fetch(w.batch + "/" + name); !strings.HasPrefix(string(content), "PK") {
			w.Errorf("%s is %q", name, brief(string(content)))
		}
	}
	content := p.fetch(w.batch + "/results.csv")
	results, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(content), "\ufeff"))).ReadAll()
	if err != nil || len(results) != len(w.sheet) {
		w.Fatalf("results.csv: %d rows, %v", len(results), err)
	}
	for i, row := range w.sheet[1:] {
		if results[i+1][0] != row[0] {
			w.Errorf("row %d of the results is of %s, want %s", i+2, results[i+1][0], row[0])
		}
	}
}

// readPages opens the pages that the steps do not lead to.
func (w *workflow) readPages() {
	p := w.owner
	p.secrets = append(p.secrets, "sk_test_browser")
	for _, path := range []string{"/companies", "/search?q=harbor", "/charges", "/schedules", "/schedules/new",
		"/balance/forecast", "/workers", "/settings", "/security", "/audit", "/?show=mine",
		fmt.Sprintf("%s/rows/%d", w.batch, hostile+2)} {
		p.open(path)
	}
	p.wantText(script, "filed", "Download")
	document := p.fetch(eval[string](p, `document.querySelector("a[href*='/documents/']").pathname`))
	if !strings.HasPrefix(string(document), "%PDF") {
		w.Errorf("the document is %q", brief(string(document)))
	}
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
