package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// everything is five rows of one company that the service does not know, each
// with another order, and the name in several spellings.
func everything(i int) []*filing.Request {
	rows := make([]*filing.Request, 5)
	for n := range rows {
		rows[n] = described(i)
	}
	rows[0].Product, rows[0].Order.EIN = filing.EIN, einItem()
	rows[1].Product, rows[1].Order = filing.ForeignQualification, filing.Order{
		FilingState:          "CA",
		ForeignQualification: &filing.QualificationItem{},
		RegisteredAgent:      &filing.RegisteredAgentItem{},
	}
	rows[2].Product, rows[2].Order = filing.AnnualReport, filing.Order{
		FilingState:  "DE",
		AnnualReport: &filing.AnnualReportItem{FilingYear: "2026", RegisteredAgent: supplied("DE")},
	}
	rows[3].Product, rows[3].Order = filing.AnnualReport, filing.Order{
		FilingState:     "NY",
		AnnualReport:    &filing.AnnualReportItem{FilingYear: "2026"},
		RegisteredAgent: &filing.RegisteredAgentItem{},
	}
	rows[4].Product, rows[4].Order.RegisteredAgent = filing.RegisteredAgent, &filing.RegisteredAgentItem{}
	rows[1].Company.Sheet.LegalName = fmt.Sprintf("LARKSPUR %d, L.L.C.", i)
	rows[3].Company.Sheet.LegalName = fmt.Sprintf("Larkspur %d limited liability company", i)
	return rows
}

const costOfEverything = priceEIN + priceFQ + feeFQ + priceAgent + priceReport + feeLLC + priceReport + feeLLC +
	priceAgent + priceAgent

// companyOf finds the company that was created for a row of described(i), under
// whichever spelling of its name came first.
func (f *firm) companyOf(i int) filing.Company {
	f.Helper()
	c, made := f.made(i)
	if !made {
		f.Fatalf("the filing service has no company Larkspur %d", i)
	}
	return c
}

func (f *firm) made(i int) (filing.Company, bool) {
	f.Helper()
	client, err := newClient(f.url, clientTimeout)
	f.must(err)
	defer client.Close()
	for _, ending := range []string{"llc", "l-l-c", "limited-liability-company"} {
		c, err := client.Company(f.Context(), fmt.Sprintf("larkspur-%d-%s", i, ending))
		if err == nil {
			return c, true
		}
		if !errors.Is(err, filingapi.ErrNotFound) {
			f.Fatal(err)
		}
	}
	return filing.Company{}, false
}

// However many rows describe it, a company is created once, and every order of
// them is for the one that was made. A later batch finds it too.
func TestCompanyIsCreatedOnce(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newEnvironment(t, on, sandbox.Config{Latency: 2 * time.Millisecond})
		l := f.openLedger()
		const companies = 8
		var all []*filing.Request
		for n := range 5 {
			for i := range companies {
				all = append(all, everything(i)[n])
			}
		}
		f.add(l, "a", all...)
		if end := f.run(l, "a", patient); end.Reason != jobs.Finished {
			t.Fatalf("%+v", end)
		}
		f.want(l, "a", ledger.Counts{filing.Placed: len(all)})
		if n := f.posts("/v1/companies"); n != companies {
			t.Errorf("%d companies were created, want %d", n, companies)
		}
		if n := f.posts("/v1/users"); n != 3 {
			t.Errorf("%d users were created, want 3", n)
		}
		if n := f.posts("/v1/orders"); n != len(all) {
			t.Errorf("%d orders were sent, want %d", n, len(all))
		}
		ids := f.createdIDs(l, "a")
		if len(ids) != companies {
			t.Errorf("%v", ids)
		}
		f.wantDescribed(0, ids["larkspur 0 llc"])
		if charged := f.service.Books().Charged; charged != companies*costOfEverything {
			t.Errorf("%d was charged, want %d", charged, companies*costOfEverything)
		}
		f.checkAgainstBooks(l, "a")

		next := everything(0)[2]
		next.Order.FilingState, next.Order.AnnualReport.RegisteredAgent = "NV", supplied("NV")
		f.add(l, "b", next, everything(1)[0])
		f.run(l, "b", patient)
		f.want(l, "b", ledger.Counts{filing.Placed: 1, filing.Exists: 1})
		if n := f.posts("/v1/companies"); n != companies {
			t.Errorf("a later batch created %d more", n-companies)
		}
		f.checkAgainstBooks(l, "a", "b")
	})
}

// createdIDs returns the ids of the companies that a batch created, by their
// folded names. All rows of one name must be for one company.
func (f *firm) createdIDs(l *ledger.Ledger, batch string) map[string]string {
	f.Helper()
	ids := make(map[string]string)
	for _, r := range f.rows(l, batch) {
		name := filing.FoldLegalName(r.Request.Company.Sheet.LegalName)
		if ids[name] == "" {
			ids[name] = r.Company
		}
		if !filing.IsCompanyID(r.Company) || r.Company != ids[name] || r.Creating || r.Attempts != 1 {
			f.Errorf("row %d: %q, want %q; %+v", r.Number, r.Company, ids[name], r)
		}
	}
	return ids
}

// wantDescribed checks that a company was created as its rows describe it.
func (f *firm) wantDescribed(i int, id string) {
	f.Helper()
	made, want := f.companyOf(i), described(i).Company.Sheet
	if made.ID != id || made.EntityType != want.EntityType ||
		made.FormationState != want.FormationState || made.FormationDate != want.FormationDate ||
		made.PrincipalAddress == nil || *made.PrincipalAddress != *want.PrincipalAddress ||
		made.MailingAddress == nil || *made.MailingAddress != *want.MailingAddress {
		f.Errorf("%+v", made)
	}
}

// What the request of a creation has no field for follows it, once, also where
// many rows describe the company.
func TestACompanyIsDescribedAfterItsCreation(t *testing.T) {
	f := newEnvironment(t, servers{}, sandbox.Config{})
	l := f.openLedger()
	var all []*filing.Request
	for n := range 3 {
		r := everything(0)[n]
		r.Company.Sheet.StructureType, r.Company.Sheet.FiscalEndMonth = "MANAGER", "June"
		all = append(all, r)
	}
	f.add(l, "a", all...)
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: len(all)})
	if made := f.companyOf(0); made.StructureType != "MANAGER" || made.FiscalEndMonth != "June" {
		t.Errorf("%+v", made)
	}
	if n := f.service.Books().Requests["PATCH /companies/{id}"]; n != 1 {
		t.Errorf("%d updates were sent", n)
	}
	f.checkAgainstBooks(l, "a")
}

// A user that exists is found, and its company is created for it; one company
// name of two users is two companies.
func TestCompaniesOfUsers(t *testing.T) {
	t.Parallel()
	f := newEnvironment(t, servers{}, sandbox.Config{})
	f.service.AddUser(sandbox.User{ID: "user_1", Email: "ana0@example.com"})
	l := f.openLedger()
	byEmail, byID, other, stranger := everything(0)[0], everything(0)[4], everything(0)[4], everything(0)[4]
	byID.User = filing.UserRef{ID: "user_1"}
	other.User = ana(7)
	stranger.User = filing.UserRef{Email: "nobody@example.com"}
	f.add(l, "a", byEmail, byID, other, stranger)
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 3, filing.Rejected: 1})
	rows := f.rows(l, "a")
	if rows[0].Company != rows[1].Company || rows[0].Company == rows[2].Company {
		t.Errorf("%s %s %s", rows[0].Company, rows[1].Company, rows[2].Company)
	}
	if n := f.posts("/v1/companies"); n != 2 {
		t.Errorf("%d companies were created", n)
	}
	for _, o := range f.service.Books().Orders {
		if (o.UserID == "user_1") != (o.CompanyID == rows[0].Company) {
			t.Errorf("%+v", o)
		}
	}
	f.checkAgainstBooks(l, "a")
}

// A creation without a trustworthy answer is left to a person: nothing is sent
// again, the other rows of the company wait, those of others do not, and no
// money is held. What the person finds lets all of them go on.
func TestUncertainCreation(t *testing.T) {
	for _, c := range []sandbox.Fault{
		{Kind: sandbox.FaultReset, After: true}, {Kind: sandbox.FaultReset},
		{Kind: sandbox.FaultStatus, Status: 500}, {Kind: sandbox.FaultGarbage, After: true},
	} {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			c.Endpoint = "POST /companies"
			c.Nth = 1
			f := newEnvironment(t, servers{}, sandbox.Config{Faults: []sandbox.Fault{c}})
			l := f.openLedger()
			f.add(l, "a", everything(0)...)
			if end := f.run(l, "a", patient); end.Reason != jobs.Finished || end.Behind != 4 {
				t.Fatalf("%+v", end)
			}
			f.want(l, "a", ledger.Counts{filing.Uncertain: 1, filing.Ready: 4})
			f.add(l, "b", everything(1)...)
			f.run(l, "b", patient)
			f.want(l, "b", ledger.Counts{filing.Placed: 5})

			row := f.uncertainCreation(l, "a")
			// A run again sends nothing.
			sent := f.posts("/v1/")
			if end := f.run(l, "a", patient); end.Behind != 4 || f.posts("/v1/") != sent {
				t.Errorf("%+v, and %d more were sent", end, f.posts("/v1/")-sent)
			}
			if book, err := l.Balance(t.Context()); err != nil || book.Reserved != 0 {
				t.Errorf("%+v, %v", book, err)
			}
			f.resolveCreation(l, row, c.After)
			f.checkAgainstBooks(l, "a", "b")
		})
	}
}

// resolveCreation resolves the uncertain creation of company 0 as a person finds
// it on the dashboard. All rows of its batch must then be placed for that company.
func (f *firm) resolveCreation(l *ledger.Ledger, row ledger.Row, made bool) {
	f.Helper()
	want := 2
	if made {
		f.must(l.Resolutions().MarkCreated(f.Context(), row.ID, 0, f.companyOf(0), "seen on the dashboard"))
	} else {
		f.must(l.Resolutions().MarkNotPlaced(f.Context(), row.ID, 0, "not on the dashboard"))
		want = 3
	}
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 5})
	if n := f.posts("/v1/companies"); n != want {
		f.Errorf("%d creations were sent, want %d", n, want)
	}
	for _, r := range f.rows(l, "a") {
		if r.Company != f.companyOf(0).ID {
			f.Errorf("row %d is for %s", r.Number, r.Company)
		}
	}
}

// uncertainCreation returns the row of a batch whose creation is uncertain. The
// ready rows must wait for it.
func (f *firm) uncertainCreation(l *ledger.Ledger, batch string) ledger.Row {
	f.Helper()
	uncertain, err := l.UncertainRows(f.Context(), batch)
	f.must(err)
	row := uncertain[0]
	if !row.Creating || row.Reserved != 0 || row.Company != "" ||
		!strings.Contains(row.Message, "sent for creation") ||
		!strings.Contains(row.Message, "importer resolve") {
		f.Errorf("%+v", row)
	}
	for _, r := range f.rows(l, batch) {
		if r.Result == filing.Ready &&
			(r.Reserved != 0 || r.Attempts != 0 ||
				!strings.Contains(r.Message, fmt.Sprintf("row %d", row.Number))) {
			f.Errorf("%+v", r)
		}
	}
	return row
}

// What is in doubt is the company: an order's id settles nothing, and a company
// settles no order in doubt.
func TestResolveCreationByItsKind(t *testing.T) {
	t.Parallel()
	f := newEnvironment(t, servers{}, sandbox.Config{
		Faults: []sandbox.Fault{{Kind: sandbox.FaultReset, Endpoint: "POST /companies", Nth: 1},
			{Kind: sandbox.FaultReset, Nth: 1}},
	})
	l := f.openLedger()
	f.add(l, "a", everything(0)[2])
	f.add(l, "b", everything(1)[2])
	f.run(l, "a", patient)
	f.run(l, "b", patient)
	creation, order := f.rows(l, "a")[0], f.rows(l, "b")[0]
	if creation.Result != filing.Uncertain || order.Result != filing.Uncertain || !creation.Creating ||
		order.Creating || creation.Reserved != 0 || order.Reserved != priceReport+feeLLC {
		t.Fatalf("%+v\n%+v", creation, order)
	}
	if err := l.Resolutions().MarkPlaced(t.Context(), creation.ID, 0, []string{"order_1"}, "slip"); err == nil ||
		!strings.Contains(err.Error(), "enter the company's id") {
		t.Error(err)
	}
	if err := l.Resolutions().MarkCreated(t.Context(), order.ID, 0, filing.Company{ID: "comp_1"}, "slip"); err == nil ||
		!strings.Contains(err.Error(), "not its company") {
		t.Error(err)
	}
	f.must(l.Resolutions().MarkNotPlaced(t.Context(), creation.ID, 0, "not there"))
	f.must(l.Resolutions().MarkNotPlaced(t.Context(), order.ID, 0, "not there"))
	f.run(l, "a", patient)
	f.run(l, "b", patient)
	f.checkAgainstBooks(l, "a", "b")
	if n := f.posts("/v1/companies"); n != 3 {
		t.Errorf("%d creations were sent, want 3", n)
	}
}

// A creation that was refused was not made: its row says why, and another row
// of the company, perhaps better described, tries for itself.
func TestCreationRefused(t *testing.T) {
	for _, status := range []int{400, 409} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			f := newEnvironment(t, servers{}, sandbox.Config{
				Faults: []sandbox.Fault{
					{Kind: sandbox.FaultStatus, Status: status, Endpoint: "POST /companies", Nth: 1},
				},
			})
			l := f.openLedger()
			f.add(l, "a", everything(0)...)
			f.run(l, "a", patient)
			f.want(l, "a", ledger.Counts{filing.Rejected: 1, filing.Placed: 4})
			for _, r := range f.rows(l, "a") {
				if r.Result == filing.Rejected &&
					(!strings.Contains(r.Message, "refused to create the company") || r.Company != "" || r.Creating) {
					t.Errorf("%+v", r)
				}
			}
			if n, err := l.RetryBatch(t.Context(), "a"); err != nil || n != 1 {
				t.Fatal(n, err)
			}
			f.run(l, "a", patient)
			f.want(l, "a", ledger.Counts{filing.Placed: 5})
			if n := f.posts("/v1/companies"); n != 2 {
				t.Errorf("%d creations were sent, want 2", n)
			}
			f.checkAgainstBooks(l, "a")
		})
	}
}

// A service that is busy or unreachable made nothing: the creation is sent
// again by itself, and made once.
func TestCreationPutOff(t *testing.T) {
	for _, status := range []int{429, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			f := newEnvironment(t, servers{}, sandbox.Config{Faults: []sandbox.Fault{{
				Kind:       sandbox.FaultStatus,
				Status:     status,
				Endpoint:   "POST /companies",
				Times:      1,
				RetryAfter: time.Second,
			}}})
			l := f.openLedger()
			f.add(l, "a", everything(0)...)
			if end := f.run(l, "a", patient); end.Reason != jobs.Finished {
				t.Fatalf("%+v", end)
			}
			f.want(l, "a", ledger.Counts{filing.Placed: 5})
			if n := f.posts("/v1/companies"); n > 2 {
				t.Errorf("%d creations were sent, want 2", n)
			}
			f.checkAgainstBooks(l, "a")
		})
	}
}

// A refused key stops creations as it stops orders.
func TestCreationWithARefusedKey(t *testing.T) {
	t.Parallel()
	f := newEnvironment(t, servers{}, sandbox.Config{
		Faults: []sandbox.Fault{{Kind: sandbox.FaultStatus, Status: 401, Endpoint: "POST /companies", Times: 1}},
	})
	l := f.openLedger()
	f.add(l, "a", everything(0)...)
	if end := f.run(l, "a", patient); end.Reason != jobs.KeyRefused {
		t.Fatalf("%+v", end)
	}
	f.want(l, "a", ledger.Counts{filing.Ready: 5})
	f.must(l.Fleet().RecordKeyAccepted(t.Context()))
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 5})
	f.checkAgainstBooks(l, "a")
}

// While the organization is paused for funds no company is created. When its
// moment to ask has come, one is, and its order asks.
func TestNoCreationWhilePausedForFunds(t *testing.T) {
	t.Parallel()
	const reported = priceReport + feeLLC
	f := newEnvironment(t, servers{}, sandbox.Config{OpeningBalance: reported, AutoSeed: true})
	l := f.openLedger()
	f.add(l, "reports", requests(2, report)...)
	if end := f.run(l, "reports", patient); end.Reason != jobs.OutOfFunds {
		t.Fatalf("%+v", end)
	}
	var all []*filing.Request
	for i := range 6 {
		all = append(all, everything(i)...)
	}
	f.add(l, "new", all...)
	if end := f.run(l, "new", patient); end.Reason != jobs.OutOfFunds {
		t.Fatalf("%+v", end)
	}
	if n := f.posts("/v1/companies"); n != 0 {
		t.Errorf("%d companies were created while there was no money", n)
	}
	// The same run again asks: with one company, not with six.
	f.must(l.Fleet().ProbeNow(t.Context()))
	if end := f.run(l, "new", patient); end.Reason != jobs.OutOfFunds {
		t.Fatalf("%+v", end)
	}
	if n := f.posts("/v1/companies"); n == 0 || n > 3 {
		t.Errorf("%d companies were created to ask for funds", n)
	}
	f.service.Deposit(rich)
	f.must(l.Fleet().ProbeNow(t.Context()))
	if end := f.run(l, "new", patient); end.Reason != jobs.Finished {
		t.Fatalf("%+v", end)
	}
	f.want(l, "new", ledger.Counts{filing.Placed: len(all)})
	f.run(l, "reports", patient)
	if n := f.posts("/v1/companies"); n != 6 {
		t.Errorf("%d companies were created, want 6", n)
	}
	f.checkAgainstBooks(l, "reports", "new")
}

// A process that dies between the intent to create and the answer leaves the
// creation uncertain, whichever process finds out.
func TestCrashWhileCreating(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newEnvironment(t, on, sandbox.Config{})
		l := f.openLedger()
		rows := everything(0)
		for _, r := range rows {
			r.User = filing.UserRef{ID: "user_1"}
		}
		f.service.AddUser(sandbox.User{ID: "user_1"})
		f.add(l, "a", rows...)
		dying, err := ledger.Open(t.Context(), ledger.Config{
			Dir:          f.dir,
			DatabaseURL:  on.database,
			SealKey:      sealKey(on.database),
			RepeatAgents: true,
			Timeout:      clientTimeout,
		})
		f.must(err)
		claim := ledger.Claim{Product: filing.CompanyRecord, Key: rows[0].Company.Sheet.ForUser("user_1").Key()}
		begun, err := dying.Begin(t.Context(),
			ledger.Intent{Row: f.rows(l, "a")[0].ID, Claims: []ledger.Claim{claim}, Creating: true})
		if err != nil || begun.Try == 0 {
			t.Fatal(begun, err)
		}
		f.must(dying.Close())
		f.run(l, "a", patient)
		f.want(l, "a", ledger.Counts{filing.Uncertain: 1, filing.Ready: 4})
		row := f.rows(l, "a")[0]
		if !row.Creating || row.Reserved != 0 || !strings.Contains(row.Message, "sent for creation") {
			t.Errorf("%+v", row)
		}
		if n := f.posts("/v1/companies") + f.posts("/v1/orders"); n != 0 {
			t.Errorf("%d were sent", n)
		}
		f.must(l.Resolutions().MarkNotPlaced(t.Context(), row.ID, 0, "not there"))
		f.run(l, "a", patient)
		f.want(l, "a", ledger.Counts{filing.Placed: 5})
		f.checkAgainstBooks(l, "a")
	})
}

// houseEnv names the folder, service, database and batch of a test's child.
const houseEnv = "JOBS_HOUSE"

// TestHouseProcess is no test: it is the process that killed starts.
func TestHouseProcess(*testing.T) {
	if told := os.Getenv(houseEnv); told != "" {
		work(strings.Split(told, "\n"))
	}
}

// work is a process that places a batch until it is killed.
func work(args []string) {
	dir, url, database, batch := args[0], args[1], args[2], args[3]
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	ctx := context.Background()
	l, err := ledger.Open(ctx, ledger.Config{
		Dir:          dir,
		DatabaseURL:  database,
		SealKey:      sealKey(database),
		RepeatAgents: true,
		Timeout:      clientTimeout,
	})
	check(err)
	client, err := newClient(url, clientTimeout)
	check(err)
	quoterDir, err := os.MkdirTemp(dir, "")
	check(err)
	quoter, err := environmentQuoter(quoterDir)
	check(err)
	queue, err := jobs.OpenQueue("")
	check(err)
	_, err = jobs.Start(ctx, jobs.Config{
		Service:      client,
		Ledger:       l,
		Queue:        queue,
		Quoter:       quoter,
		Concurrency:  flying,
		Batch:        batch,
		DrainTimeout: time.Second,
	})
	check(err)
	select {}
}

// killed runs a process on the batch and kills it once the service has seen
// something, as told by when.
func (f *firm) killed(batch string, when func() bool) {
	f.Helper()
	cmd := exec.CommandContext(f.Context(), os.Args[0], "-test.run=^TestHouseProcess$")
	cmd.Env = append(os.Environ(), houseEnv+"="+strings.Join([]string{f.dir, f.url, f.servers.database, batch}, "\n"))
	cmd.Stderr = os.Stderr
	f.must(cmd.Start())
	f.eventually("the moment to kill", when)
	f.must(cmd.Process.Kill())
	_ = cmd.Wait()
}

// Killed for real while companies are being created: what was in flight is
// uncertain, and no company comes to be twice.
func TestKilledWhileCreating(t *testing.T) {
	if testing.Short() {
		t.Skip("skipping a long test in short mode")
	}
	t.Parallel()
	f := newEnvironment(t, servers{}, sandbox.Config{Latency: 300 * time.Millisecond})
	l := f.openLedger()
	var all []*filing.Request
	for i := range 30 {
		all = append(all, everything(i)...)
	}
	f.add(l, "a", all...)
	f.killed("a", func() bool { return len(f.seen("POST", "/v1/companies")) >= 10 })
	f.run(l, "a", patient)
	uncertain, err := l.UncertainRows(t.Context(), "a")
	f.must(err)
	creations := 0
	for _, r := range uncertain {
		if r.Creating {
			creations++
		}
	}
	if creations == 0 || len(uncertain) > flying {
		t.Errorf("%d rows are uncertain, %d of them creations", len(uncertain), creations)
	}
	f.resolveByTheBooks(l, uncertain)
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: len(all)})
	f.checkAgainstBooks(l, "a")
	made := make(map[string]bool)
	for _, r := range f.rows(l, "a") {
		made[r.Company] = true
	}
	if len(made) != 30 {
		t.Errorf("%d companies for 30", len(made))
	}
}

// resolveByTheBooks does what a person with an eye on the dashboard does.
func (f *firm) resolveByTheBooks(l *ledger.Ledger, uncertain []ledger.Row) {
	f.Helper()
	books := f.service.Books()
	for _, r := range uncertain {
		if r.Creating {
			var i int
			if _, err := fmt.Sscanf(filing.FoldLegalName(r.Request.Company.Sheet.LegalName), "larkspur %d",
				&i); err != nil {
				f.Fatal(err)
			}
			if c, made := f.made(i); made {
				f.must(l.Resolutions().MarkCreated(f.Context(), r.ID, 0, c, "seen"))
			} else {
				f.must(l.Resolutions().MarkNotPlaced(f.Context(), r.ID, 0, "not seen"))
			}
			continue
		}
		var ids []string
		company := ""
		for _, o := range books.Orders {
			if !sameOrder(o, r) {
				continue
			}
			company = o.CompanyID
			for _, i := range o.Items {
				ids = append(ids, i.ID)
			}
		}
		if order := &r.Request.Order; len(ids) > 0 && order.Formation != nil {
			f.must(l.Resolutions().MarkFormed(f.Context(), r.ID, 0, ids, company,
				ledger.FormedClaims(order, company), "seen"))
		} else if len(ids) > 0 {
			f.must(l.Resolutions().MarkPlaced(f.Context(), r.ID, 0, ids, "seen"))
		} else {
			f.must(l.Resolutions().MarkNotPlaced(f.Context(), r.ID, 0, "not seen"))
		}
	}
}

// sameOrder reports whether an order of the books is that of a row.
func sameOrder(o sandbox.Order, r ledger.Row) bool {
	if f := r.Request.Order.Formation; f != nil {
		return o.CompanyName == f.Company.LegalName && o.Items[0].Product == "formation"
	}
	has := func(product string) bool {
		return slices.ContainsFunc(o.Items, func(i sandbox.Item) bool { return i.Product == product })
	}
	order := &r.Request.Order
	return o.CompanyID == r.Company && o.State == string(order.FilingState) &&
		has("annual_report") == (order.AnnualReport != nil) &&
		has("ein") == (order.EIN != nil) && has("foreign_qualification") == (order.ForeignQualification != nil)
}
