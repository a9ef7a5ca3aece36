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
)

// way is a firm's people on their way through the page.
type way struct {
	*testing.T
	house   *house
	browser context.Context

	owner *person // whoever started serve; has every role
	paula *person // prepares, and may approve what is not hers; her line is bad
	vera  *person // approves
	otto  *person // approves, too
	dana  *person // operates: the money, the rows in doubt, the seasons

	batch string // the path of the batch that everything happens to
	sheet table  // what was handed in for it
}

// An accountant, two approvers and an operator do a season in browsers, once with
// nothing but the importer, once against a fleet on real servers.
func TestTheWholeWay(t *testing.T) {
	for _, arrangement := range []struct {
		name  string
		fleet bool
	}{{"SQLite", false}, {"PostgreSQL and Redis", true}} {
		t.Run(arrangement.name, func(t *testing.T) {
			t.Parallel()
			w := &way{T: t, browser: newBrowser(t)}
			file := filepath.Join(t.TempDir(), "fees.csv")
			if err := os.WriteFile(file, []byte(fees), 0o600); err != nil {
				t.Fatal(err)
			}
			vars := []string{"FILING_FEES=" + file, "WORKER_CONCURRENCY=4"}
			if arrangement.fleet {
				vars[1] = "WORKER_CONCURRENCY=2"
				w.house = newHouse(t, true, schema(t), keyspace(t), vars...)
			} else {
				w.house = newHouse(t, false, "", "", vars...)
			}
			for _, chapter := range []struct {
				name string
				of   func()
			}{
				{"sign in by a link, once", w.signIn},
				{"the empty page, and templates", w.beginning},
				{"people are added", w.addPeople},
				{"a sheet is read, and corrected in place", w.readSheet},
				{"another's headers are explained once", w.explainHeaders},
				{"it is submitted, and two approve at once", w.approveTwice},
				{"it is watched over a bad line", w.watch},
				{"funds are insufficient, and a deposit is recorded", w.payIn},
				{"uncertain rows are resolved", w.resolve},
				{"events report the filing status", w.receiveEvents},
				{"results are downloaded", w.downloadResults},
				{"Social Security numbers stay hidden", w.hideNumbers},
				{"a schedule runs", w.runSchedule},
				{"workers, settings and audit log show it", w.checkRecords},
				{"the filing service's records agree", w.agree},
			} {
				began := time.Now()
				chapter.of()
				t.Logf("%6.1fs  %s", time.Since(began).Seconds(), chapter.name)
			}
		})
	}
}

// join has somebody sit down at a browser of their own.
func (w *way) join(name, address string) *person {
	w.Helper()
	p := newPerson(w.browser, w.T, name, address)
	p.secrets = ssns
	p.pictures = os.Getenv("UPDATE_SCREENSHOTS") != "" && !w.house.fleet // once
	return p
}

// enter signs somebody in by a link; the page does the pressing, and leads to where
// they begin.
func (p *person) enter(link, to string) {
	p.t.Helper()
	p.do("open "+link, chromedp.Navigate(p.base+link))
	p.until(`location.pathname === "` + to + `" && document.readyState === "complete"`)
	p.look()
}

func (w *way) signIn() {
	w.owner = w.join("owner", w.house.at)
	w.owner.enter(w.house.link, "/")
	stranger := w.join("stranger", w.house.at)
	stranger.expects("410")
	stranger.open(w.house.link)
	stranger.reads("This link no longer works")
	stranger.expects("")
	stranger.open("/balance")
	if at := stranger.at(); at != "/sign-in" {
		w.Errorf("a stranger is shown %s", at)
	}
	stranger.expects("401")
	stranger.write("#name", "owner")
	stranger.write("#password", "not the password")
	stranger.follow("Sign in")
	stranger.reads("The name or password is wrong")
	stranger.expects("")
}

func (w *way) beginning() {
	p := w.owner
	p.reads("No batches yet")
	p.tabs()
	p.press("Start from a template")
	for _, path := range eval[[]string](p,
		`[...document.querySelectorAll("a[href^='/templates/']")].map((a) => a.pathname)`) {
		content := p.fetch(path)
		if tables := workbook(w.T, content); len(tables) == 0 {
			w.Errorf("%s holds no sheet", path)
		}
	}
	for _, path := range []string{"/uncertain", "/balance", "/seasons", "/calendar", "/fleet", "/settings",
		"/password", "/audit", "/design"} {
		p.open(path)
	}
}

// invite adds somebody on the page, and has them come by the link that it shows.
func (w *way) invite(name, address string, roles ...string) *person {
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
	p.enter("/"+path, "/password")
	const password = "Kestrel-Quartz-Tandem-71"
	p.write("#password", password)
	p.write("#again", password)
	p.follow("Set password")
	return p
}

func (w *way) addPeople() {
	w.owner.open("/settings")
	w.owner.tick(`[name="second"]`, true)
	w.owner.follow("Save approval policy")
	w.paula = w.invite("paula", w.house.wire.from, "preparer", "approver")
	w.vera = w.invite("vera", w.house.at, "approver")
	w.otto = w.invite("otto", w.house.at, "approver")
	w.dana = w.invite("dana", w.house.at, "operator")
	if eval[bool](w.vera, `document.querySelector("form.drop") !== null`) {
		w.Error("an approver is asked for a sheet")
	}
	w.vera.expects("403")
	w.vera.open("/audit")
	w.vera.reads("Permission denied")
	w.vera.expects("")
}

// hand gives a file to the page.
func (p *person) hand(path string) {
	p.t.Helper()
	p.open("/")
	p.depart()
	p.attach("input[type=file]", path) // it starts at once
	p.arrive()
	if at := p.at(); !strings.HasPrefix(at, "/sheets/") {
		p.t.Fatalf("%s: after %s was handed over the page is %s\n%s", p.name, path, at, p.state())
	}
	p.prepared()
	if at, mapping := strings.CutSuffix(p.at(), "/columns"); mapping {
		p.open(at + "?view=form")
		p.prepared()
	}
}

// prepared waits for a sheet to be read and quoted. The rows are shown as a form:
// the grid has a test of its own.
func (p *person) prepared() {
	p.t.Helper()
	p.until(`![...document.querySelectorAll("progress")].some((e) => e.checkVisibility()) &&
		document.readyState === "complete" &&
		(!document.querySelector("#fix") || document.querySelector("#fix[data-ready] .slick-row"))`)
	p.look()
	if glance[bool](p, `document.querySelector("#fix") !== null`) {
		p.open(p.at() + "?view=form")
	}
}

// figure is one of the figures of a page, by what stands above it.
func (p *person) figure(name string) string {
	p.t.Helper()
	return strings.TrimSpace(glance[string](p,
		`[...document.querySelectorAll(".figures dt")].find((e) => e.textContent === `+quoted(name)+
			`)?.nextElementSibling.firstChild.textContent ?? ""`))
}

const (
	rowsSubmitted = 72 // besides the one that is a repeat
	hostile       = 60 // the first that has a name which means harm
)

func (w *way) readSheet() {
	w.sheet = reports("a", rowsSubmitted)
	for i, name := range []string{script, formula, hebrew} {
		w.sheet[1+hostile+i][w.sheet.column(w.T, "Legal Name")] = name
	}
	year, state := w.sheet.column(w.T, "Filing Year"), w.sheet.column(w.T, "Filing State")
	w.sheet[6][year] = "20x6"
	w.sheet[7][state] = "Delawhere"
	w.sheet[8][state] = "Nirwana"
	w.sheet = append(w.sheet, w.sheet[5])
	p := w.paula
	p.hand(w.sheet.save(w.T, "annual-reports-2026.csv"))
	if got := p.figure("Needs attention"); got != "3" {
		w.Errorf("%q rows to correct\n%s", got, p.state())
	}
	if got := p.figure("Skipped"); got != "1" {
		w.Errorf("%q rows skipped", got)
	}
	p.tabs()
	at := p.at()
	p.follow("Review mapping")
	p.reads("Match your columns", "Company ID", "Agent ZIP", "Certain")
	p.open(at)
	p.prepared()

	// What companies are called is text, and never anything else.
	p.follow("All")
	for _, name := range []string{script, formula, hebrew} {
		p.write("#q", name)
		p.follow("Search rows")
		p.reads(name)
		if n := eval[int](p, `document.querySelectorAll("#rows tbody tr").length`); n != 1 {
			w.Errorf("%d rows have %s in them", n, name)
		}
	}
	p.follow("Clear search")
	p.follow("Needs attention")
	p.write("#cell-7-8", "2026")
	p.write("#cell-8-7", "DE")
	p.send("Save corrections")
	p.prepared()
	w.sheet[6][year], w.sheet[7][state] = "2026", "DE"
	if got := p.figure("Needs attention"); got != "1" {
		w.Errorf("%q rows to correct after two are corrected\n%s", got, p.state())
	}
	marked := p.fetch(p.at() + "/marked")
	workbook(w.T, marked)
}

func (w *way) explainHeaders() {
	p := w.paula
	p.hand(reports("b", 3).renamed(foreignHeader).save(w.T, "berichte.csv"))
	p.reads("The spreadsheet cannot be read yet")
	p.choose("#product", "annual-report")
	for i, ours := range reportHeader {
		p.choose(fmt.Sprintf("#column-%d", i), ours)
	}
	p.tick(`[name="keep"]`, true)
	p.send("Apply mapping")
	p.prepared()
	if got := p.figure("Ready"); got != "3" {
		w.Errorf("%q to be placed of a sheet that was explained\n%s", got, p.state())
	}
	p.follow("Home")
	p.hand(reports("c", 2).renamed(foreignHeader).save(w.T, "berichte-2.csv"))
	p.reads("mapping saved by")
	if got := p.figure("Ready"); got != "2" {
		w.Errorf("%q to be placed of a sheet whose headers are known\n%s", got, p.state())
	}
	p.press("Delete upload")
	p.follow("Delete upload")
	p.reads("Nothing was ordered from it")
}

// declare enters a deposit, and has its form arrive twice.
func (w *way) recordDeposit(amount string) {
	w.Helper()
	p := w.dana
	p.open("/balance")
	p.write("#deposit", amount)
	p.write("#deposit-note", "by wire, confirmed by the bank")
	p.follow("Record deposit…")
	status := eval[string](p, `window.firstAnswer = "", (() => {
		const form = document.querySelector("input[name=sure]").form;
		fetch(form.action, {method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual"})
			.then((r) => { firstAnswer = r.type });
		return form.action;
	})()`)
	p.until(`firstAnswer === "opaqueredirect"`)
	if !strings.HasSuffix(status, "/balance/entries") {
		w.Errorf("the form goes to %s", status)
	}
	p.follow("Record $")
	p.reads("already done")
	p.open("/balance?kind=declared")
}

// deposits are those of the book, as it is shown.
func (w *way) deposits() []string {
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

func dollars(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

// missing is what the first deposit lacks.
const missing = 1000_00

func (w *way) approveTwice() {
	h, p := w.house, w.paula
	h.importer("webhooks", "create", "--url", "http://"+h.at+"/webhooks/filing", "--yes", "--hide-secret")
	h.control("fault", "reset:after", "--company", company("a", 20), "--times", "1")
	h.control("fault", "reset", "--company", company("a", 21), "--times", "1")
	// Long enough for watch, on a slow machine too.
	h.control("fault", "slow-body", "--endpoint", "POST /orders", "--for", "4s", "--times", "36")
	p.open("/")
	p.follow("annual-reports-2026.csv")
	p.prepared()
	p.open(p.at() + "/approve")
	total := cents(w.T, p.text(".decide .sum"))
	w.recordDeposit(dollars(total - missing))
	if got := w.deposits(); len(got) != 1 || cents(w.T, got[0]) != total-missing {
		w.Errorf("the deposits are %q", got)
	}
	p.reload()
	if got := cents(w.T, p.text("#short")); got != missing {
		w.Errorf("%d cents are missing, want %d", got, missing)
	}
	p.look()
	p.check()
	warnings := eval[string](p, `document.querySelector("input[name=warnings]")?.value ?? ""`)
	p.follow("#submit")
	w.batch = p.at()
	if !strings.HasPrefix(w.batch, "/batches/") {
		w.Fatalf("submitted, the page is %s\n%s", w.batch, p.state())
	}
	p.open(w.batch + "/approve")
	p.reads("You uploaded this spreadsheet, so someone else must approve it.", "Waiting for approval")

	// What her page does not offer she sends all the same.
	p.expects("403")
	plan := eval[string](p, `document.querySelector(".decide code").textContent`)
	eval[bool](
		p, `window.refused = null, fetch("`+w.batch+
			`/approve", {method: "POST", body: new URLSearchParams({once: "forged", plan: `+quoted(plan)+
			`, warnings: `+quoted(warnings)+`})}).then((r) => r.text()).then((t) => { refused = t }), true`)
	p.until(`refused`)
	if got := eval[string](p, `refused`); !strings.Contains(got, "someone else must approve it") {
		w.Errorf("her approval is answered with %s", got)
	}
	p.expects("")
	p.reload()
	p.reads("Waiting for approval")

	// Two say yes in the same moment.
	two := []*person{w.vera, w.otto}
	for _, one := range two {
		one.open(w.batch + "/approve")
		one.look()
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
		said += one.text(".banner") + "\n"
		one.look()
	}
	if strings.Count(said, "Approved ") != 1 || strings.Count(said, "already approved by ") != 1 {
		w.Errorf("the two were told:\n%s", said)
	}
}

// placedRows is the first number of the headline: "640 of 800 placed".
const placedRows = `Number(/[0-9,]+/.exec(document.querySelector("#live .headline")?.textContent ?? "")?.[0]
	.replaceAll(",", "") ?? -1)`

// answered is how many rows of the batch are placed, as a page shows it.
func (p *person) answered() int {
	p.t.Helper()
	return eval[int](p, placedRows)
}

// moves waits until more rows are placed than n.
func (p *person) moves(n int) int {
	p.t.Helper()
	p.until(fmt.Sprintf(placedRows+` > %d`, n))
	return p.answered()
}

const lost = `[...document.querySelectorAll(".lost")].some((e) => e.checkVisibility())`

func (w *way) watch() {
	p := w.paula
	p.open(w.batch)
	n := p.moves(p.answered())
	p.expects(`ERR_|404`)
	w.house.wire.cut()
	p.until(lost)
	time.Sleep(time.Second) // longer than a hiccup, while orders are placed
	w.house.wire.mend()
	p.until("!" + lost)
	n = p.moves(n)
	p.reload()
	if now := p.answered(); now < n {
		w.Errorf("after a reload %d are answered, before it %d", now, n)
	}
	p.picture("batch", 1280, 1000)
	p.dark(true)
	p.picture("phone", 390, 844)
	p.dark(false)
	p.until(`/a second|left/.test(document.querySelector("#live").innerText)`)
	for _, one := range []*person{w.vera, w.otto} {
		one.expects(`ERR_`)
	}
	w.house.reopen()
	n = p.moves(n)
	p.until("!" + lost)
	for _, one := range []*person{w.paula, w.vera, w.otto} {
		one.expects("")
	}
	w.vera.open(w.batch)
	if now := w.vera.answered(); now < n {
		w.Errorf("past the bad line %d are answered, over it %d", now, n)
	}
}

func (w *way) payIn() {
	p := w.paula
	p.until(`/funds/i.test(document.querySelector("#live .banner")?.innerText ?? "")`)
	// What is out is answered; then nothing moves.
	p.until(`!document.querySelector("#live .key .placing")`)
	p.until(`document.querySelector("[data-tally=placed] .n").textContent ===
		document.querySelector("#live .key .placed b").textContent`)
	p.reads("changed.")
	p.look()
	w.vera.open(w.batch)
	if over, past := p.text("#live"), w.vera.text("#live"); over != past {
		w.Errorf("over the bad line:\n%s\npast it:\n%s", over, past)
	}
	w.dana.open("/balance")
	w.dana.picture("balance", 1280, 1000)
	w.recordDeposit(dollars(missing))
	if got := w.deposits(); len(got) != 2 {
		w.Errorf("the deposits are %q", got)
	}
	p.until(`document.querySelector("#live .badge")?.innerText.trim().endsWith("uncertain")`)
}

func (w *way) resolve() {
	p := w.dana
	p.open("/uncertain")
	p.picture("uncertain", 1280, 900)
	made := w.house.orders(company("a", 20))
	if len(made) != 1 || len(w.house.orders(company("a", 21))) != 0 {
		w.Fatalf("the sandbox was to make one of two orders: %v", made)
	}
	row := w.doubt(company("a", 20))
	p.press(row + ` details.confirm:nth-of-type(1) summary`)
	p.write(row+` [name="order-0"]`, made[0])
	p.follow(row + ` details[open] button.primary`)
	p.reads("1 row was sent")
	row = w.doubt(company("a", 21))
	p.press(row + ` details.confirm:nth-of-type(2) summary`)
	if eval[bool](p, `document.querySelector("`+row+` details[open] [name=anyway]") !== null`) {
		p.tick(row+` details[open] [name=anyway]`, true)
	}
	p.follow(row + ` details[open] button.primary`)
	p.reads("No uncertain rows")
	// What is sent again is bought a second time where that person errs: it needs
	// an approval of its own.
	w.vera.open(w.batch)
	w.vera.reads("Someone asked to send 1 row again")
	w.vera.follow("Review and approve")
	w.vera.look()
	w.vera.follow("Approve 1 row, ")
	w.paula.open(w.batch)
	w.paula.until(`document.querySelector("#live .badge")?.innerText.trim() === "Needs attention"`)
	w.paula.look()
}

// doubt finds the uncertain row of a company, as a selector.
func (w *way) doubt(company string) string {
	w.Helper()
	return "#" + eval[string](w.dana,
		`[...document.querySelectorAll("article")].find((e) => e.innerText.includes("`+company+`")).id`)
}

// orders are those that the sandbox has made for a company.
func (h *house) orders(company string) (ids []string) {
	h.t.Helper()
	for _, o := range h.books().Orders {
		if o.Company == company {
			for _, i := range o.Items {
				ids = append(ids, i.ID)
			}
		}
	}
	return ids
}

func (w *way) receiveEvents() {
	h, p := w.house, w.paula
	h.control("advance", "--all", "--status", "pending")
	h.control("exception", h.orders(company("a", 30))[0], "--code", "482")
	p.open(w.batch)
	p.until(`document.querySelector("#live").innerText.includes("1 row with a filing exception")`)
	p.follow("Check 1 row")
	if n := eval[int](p, `document.querySelectorAll("#rows tbody tr").length`); n != 1 {
		w.Errorf("%d rows stand still", n)
	}
	p.follow("32") // its number
	p.reads("The filing stopped", company("a", 30))
	h.control("advance", "--all", "--status", "filed")
	p.open(fmt.Sprintf("%s/rows/%d", w.batch, hostile+2))
	p.until(`document.querySelector("#documents") !== null || (location.reload(), false)`)
	p.look()
	p.reads(script, "filed", "Download")
	document := p.fetch(eval[string](p, `document.querySelector("a[href*='/documents/']").pathname`))
	if !strings.HasPrefix(string(document), "%PDF") {
		w.Errorf("the document is %q", brief(string(document)))
	}
	p.open(fmt.Sprintf("%s/rows/%d", w.batch, hostile+4))
	p.reads(hebrew)
}

func (w *way) downloadResults() {
	p := w.vera
	p.open(w.batch)
	p.until(`document.querySelector("#live").innerText.includes("filed")`)
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
	if want := rowsSubmitted - 1; documents != want {
		w.Errorf("%d documents, want %d", documents, want)
	}
}

// wantEveryRow checks that a table has a row for every row of the spreadsheet.
func (w *way) wantEveryRow(name string, t table) {
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

// placed submits the spreadsheet of a page, has it approved, and waits until its
// orders are placed.
func (w *way) placed(p *person) {
	w.Helper()
	p.open(p.at() + "/approve")
	p.check()
	p.follow("#submit")
	w.approved(p.at())
}

// approved has somebody approve a batch, and waits until it is done.
func (w *way) approved(batch string) {
	w.Helper()
	w.vera.open(batch + "/approve")
	w.vera.check()
	w.vera.follow("#approve")
	w.vera.until(`location.pathname === ` + quoted(batch) + ` && document.querySelector("#live") !== null`)
	w.vera.until(`["Done", "Needs attention"].includes(document.querySelector("#live .badge")?.innerText.trim())`)
	w.vera.look()
}

func (w *way) hideNumbers() {
	p, sheet := w.paula, eins()
	number := sheet.column(w.T, "Responsible Party SSN")
	p.hand(sheet.save(w.T, "eins.csv"))
	p.reads("Responsible Party SSN")
	at := p.at()
	p.open(at + "/columns")
	p.reads("hidden")
	p.open(at)
	p.prepared()
	workbook(w.T, p.fetch(p.at()+"/marked"))
	p.write(fmt.Sprintf("#cell-3-%d", number), "123-45-6789")
	p.send("Save corrections")
	p.prepared()
	if got := p.figure("Ready"); got != "3" {
		w.Errorf("%q EINs to be placed\n%s", got, p.state())
	}
	w.recordDeposit("500")
	w.placed(p)
	batch := w.vera.at()
	w.vera.open(batch + "/rows/3")
	w.vera.fetch(batch + "/results.xlsx")
	w.vera.fetch(batch + "/results.csv")
	for _, order := range w.house.books().Orders {
		if order.Company == company("ein", 1) {
			return
		}
	}
	w.Error("what was corrected did not reach the service")
}

func (w *way) runSchedule() {
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
		row[list.column(w.T, "Filing Year")] = "" // the season says it
	}
	p.attach("#file", list.save(w.T, "roster.csv"))
	p.follow("Add schedule")
	p.reads("dover", "roster.csv")
	p.follow("Run now…")
	p.reads("Planned run")
	p.confirm("Run 4 filings", "Make batch")
	p.until(`document.querySelector("a[href^='/batches/']") || location.pathname.startsWith("/batches/")`)
	if !strings.HasPrefix(p.at(), "/batches/") {
		p.open(eval[string](p, `document.querySelector("main a[href^='/batches/']").pathname`))
	}
	w.approved(p.at())
	p.open("/seasons")
	p.open("/calendar")
}

func (w *way) checkRecords() {
	p := w.dana
	p.open("/fleet")
	if w.house.fleet {
		p.reads("worker")
	} else {
		p.reads("serve")
	}
	p.reads("places orders")
	p.open("/settings")
	p.reads("present", "Mandant", w.house.at+"/webhooks/filing")
	if strings.Contains(eval[string](p, `document.documentElement.outerHTML`), "sk_test_browser") {
		w.Error("the settings show the key")
	}
	for _, act := range []string{"deposit", "approve", "hand-in", "upload", "correct", "resolve", "account-add",
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
		w.Errorf("whoever has left sees %s", at)
	}
}

// order is one that the sandbox has made.
type order struct {
	Company string `json:"companyId"`
	Items   []struct {
		ID string `json:"orderId"`
	} `json:"items"`
}

// books are the sandbox's own.
type books struct {
	Charged    int     `json:"chargedCents"`
	Orders     []order `json:"orders"`
	Duplicates []any   `json:"duplicates"`
	Violations []struct{ Rule, Message string }
}

func (h *house) books() (b books) {
	h.t.Helper()
	answer, err := http.Get("http://" + h.sandbox + "/books.json")
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&b); err != nil {
		h.t.Fatalf("the books of the sandbox: %v", err)
	}
	return b
}

func (w *way) agree() {
	b := w.house.books()
	if len(b.Duplicates) > 0 || len(b.Violations) > 0 {
		w.Errorf("bought twice: %v; against the rules: %v", b.Duplicates, b.Violations)
	}
	want := rowsSubmitted - 1 + 3 + 4
	filings := make(map[string]bool)
	for _, o := range b.Orders {
		filings[o.Company] = true
	}
	if len(b.Orders) != want || len(filings) != want {
		w.Errorf("%d orders for %d companies, want %d", len(b.Orders), len(filings), want)
	}
	p := w.vera
	p.open("/balance")
	line := func(name string) int {
		return cents(w.T, eval[string](p,
			`[...document.querySelectorAll("th[scope=row]")].find((e) => e.innerText.startsWith("`+name+
				`")).nextElementSibling.innerText`))
	}
	if posted := line("Charged"); posted != b.Charged {
		w.Errorf("the book has %d cents spent, the service has charged %d", posted, b.Charged)
	}
	if reserved := line("Reserved"); reserved != 0 {
		w.Errorf("%d cents are set aside, and everything is answered", reserved)
	}
}
