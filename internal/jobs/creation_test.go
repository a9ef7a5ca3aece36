package jobs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// companyOf finds the company that was created for a row of described(i), under
// whichever spelling of its name came first.
func (f *firm) companyOf(i int) filing.Company {
	f.Helper()
	for _, ending := range []string{"llc", "l-l-c", "limited-liability-company"} {
		if c, err := f.client().Company(f.Context(), fmt.Sprintf("larkspur-%d-%s", i, ending)); err == nil {
			return c
		}
	}
	f.Fatalf("the filing service has no company Larkspur %d", i)
	return filing.Company{}
}

// However many rows describe it, a company is created once, and every order of
// them is for the one that was made. What the request of a creation has no field for
// follows it, once. A later batch finds the company too.
func TestCompanyIsCreatedOnce(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{Latency: 2 * time.Millisecond})
		const companies = 8
		var all []*filing.Request
		for n := range 5 {
			for i := range companies {
				r := everything(i)[n]
				r.Company.Sheet.StructureType, r.Company.Sheet.FiscalEndMonth = "MANAGER", "June"
				all = append(all, r)
			}
		}
		f.place("a", all...)
		f.wantPosts("/companies", companies)
		f.wantPosts("/users", 3)
		f.wantPosts("/orders", len(all))
		ids := f.createdIDs("a")
		if len(ids) != companies {
			t.Errorf("%v", ids)
		}
		f.wantDescribed(0, ids["larkspur 0 llc"])
		if n := f.seen("PATCH", "/companies"); n != companies {
			t.Errorf("%d updates were sent", n)
		}
		if charged := f.service.Books().Charged; charged != companies*costOfEverything {
			t.Errorf("%d was charged, want %d", charged, companies*costOfEverything)
		}
		f.agree("a")

		next := everything(0)[2]
		next.Order.FilingState, next.Order.AnnualReport.RegisteredAgent = "NV", supplied("NV")
		f.add("b", next, everything(1)[0])
		f.run("b")
		f.want("b", ledger.Counts{filing.Placed: 1, filing.Exists: 1})
		f.wantPosts("/companies", companies)
		f.agree("a", "b")
	})
}

// createdIDs returns the ids of the companies that a batch created, by their
// folded names. All rows of one name must be for one company.
func (f *firm) createdIDs(batch string) map[string]string {
	f.Helper()
	ids := make(map[string]string)
	for _, r := range f.rows(batch) {
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
	if made.ID != id || made.StructureType != "MANAGER" || made.FiscalEndMonth != "June" ||
		made.EntityType != want.EntityType ||
		made.FormationState != want.FormationState || made.FormationDate != want.FormationDate ||
		made.PrincipalAddress == nil || *made.PrincipalAddress != *want.PrincipalAddress ||
		made.MailingAddress == nil || *made.MailingAddress != *want.MailingAddress {
		f.Errorf("%+v", made)
	}
}

// A user that exists is found, and its company is created for it; a name in a state
// is one company, whoever the user is.
func TestCompaniesOfUsers(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{})
	f.service.AddUser(sandbox.User{ID: "user_1", Email: "ana0@example.com"})
	byEmail, byID, other, stranger := everything(0)[0], everything(0)[4], everything(0)[4], everything(0)[4]
	byID.User = filing.UserRef{ID: "user_1"}
	other.User = ana(7)
	stranger.User = filing.UserRef{Email: "nobody@example.com"}
	f.add("a", byEmail, byID, other, stranger)
	f.run("a")
	f.want("a", ledger.Counts{filing.Placed: 2, filing.Exists: 1, filing.Rejected: 1})
	f.wantPosts("/companies", 1)
	orders := f.service.Books().Orders
	for _, o := range orders {
		if o.CompanyID != orders[0].CompanyID {
			t.Errorf("%+v", o)
		}
	}
	f.agree("a")
}

// A creation that fails. Without a trustworthy answer it is left to a person: nothing is
// sent again, and the other rows of the company wait, but those of others do not. A
// refused one was not made, so another row of the company, perhaps better described, tries
// for itself. A busy service and a refused key put it off.
func TestCreationThatFails(t *testing.T) {
	const uncertain, rejected, ready = filing.Uncertain, filing.Rejected, filing.Ready
	for _, c := range []struct {
		fault sandbox.Fault
		stops jobs.StopReason
		want  ledger.Counts
	}{
		{sandbox.Fault{Kind: sandbox.FaultReset, After: true}, jobs.Finished, ledger.Counts{uncertain: 1, ready: 4}},
		{sandbox.Fault{Kind: sandbox.FaultReset}, jobs.Finished, ledger.Counts{uncertain: 1, ready: 4}},
		{sandbox.Fault{Kind: sandbox.FaultStatus, Status: 500}, jobs.Finished, ledger.Counts{uncertain: 1, ready: 4}},
		{sandbox.Fault{Kind: sandbox.FaultGarbage, After: true}, jobs.Finished, ledger.Counts{uncertain: 1, ready: 4}},
		{sandbox.Fault{Kind: sandbox.FaultStatus, Status: 400}, jobs.Finished,
			ledger.Counts{rejected: 1, filing.Placed: 4}},
		{sandbox.Fault{Kind: sandbox.FaultStatus, Status: 409}, jobs.Finished,
			ledger.Counts{rejected: 1, filing.Placed: 4}},
		{sandbox.Fault{Kind: sandbox.FaultStatus, Status: 401}, jobs.KeyRefused, ledger.Counts{ready: 5}},
		{sandbox.Fault{Kind: sandbox.FaultStatus, Status: 503, RetryAfter: time.Second}, jobs.Finished,
			ledger.Counts{filing.Placed: 5}},
	} {
		t.Run(c.fault.String(), func(t *testing.T) {
			t.Parallel()
			c.fault.Endpoint, c.fault.Nth = "POST /companies", 1
			f := newFirm(t, servers{}, sandbox.Config{Faults: []sandbox.Fault{c.fault}})
			f.add("a", everything(0)...)
			f.stops(c.stops, "a")
			f.want("a", c.want)
			switch {
			case c.want[uncertain] > 0:
				f.place("b", everything(1)...)
				row := f.uncertainCreation("a")
				sent := f.posts("/")
				if f.finish("a"); f.behind("a") != 4 || f.posts("/") != sent {
					t.Errorf("%d more were sent; %d rows wait", f.posts("/")-sent, f.behind("a"))
				}
				f.resolveCreation(row, c.fault.After)
			case c.want[rejected] > 0:
				r := f.rows("a")[slices.IndexFunc(f.rows("a"), func(r ledger.Row) bool { return r.Result == rejected })]
				if !strings.Contains(r.Message, "refused to create the company") || r.Company != "" || r.Creating {
					t.Errorf("%+v", r)
				}
				_, err := f.RetryBatch(t.Context(), "a")
				f.must(err)
				f.placeRest("a")
				f.wantPosts("/companies", 2)
			default:
				f.must(f.Fleet().RecordKeyAccepted(t.Context()))
				f.placeRest("a")
				f.wantPosts("/companies", 2)
			}
			f.agree("a", "b")
		})
	}
}

// resolveCreation resolves the uncertain creation of company 0 as a person finds
// it on the dashboard. All rows of its batch must then be placed for that company.
func (f *firm) resolveCreation(row ledger.Row, made bool) {
	f.Helper()
	want := 2
	if made {
		f.must(f.Resolutions().MarkCreated(f.Context(), row.ID, 0, f.companyOf(0), "seen on the dashboard"))
	} else {
		f.must(f.Resolutions().MarkNotPlaced(f.Context(), row.ID, 0, "not on the dashboard"))
		want = 3
	}
	f.placeRest("a")
	f.wantPosts("/companies", want)
	for _, r := range f.rows("a") {
		if r.Company != f.companyOf(0).ID {
			f.Errorf("row %d is for %s", r.Number, r.Company)
		}
	}
}

// uncertainCreation returns the row of a batch whose creation is uncertain. The
// ready rows must wait for it.
func (f *firm) uncertainCreation(batch string) ledger.Row {
	f.Helper()
	row := f.uncertain(batch)[0]
	if !row.Creating || row.Reserved != 0 || row.Company != "" ||
		!strings.Contains(row.Message, "sent for creation") ||
		!strings.Contains(row.Message, "importer resolve") {
		f.Errorf("%+v", row)
	}
	for _, r := range f.rows(batch) {
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
	f := newFirm(t, servers{}, sandbox.Config{
		Faults: []sandbox.Fault{{Kind: sandbox.FaultReset, Endpoint: "POST /companies", Nth: 1},
			{Kind: sandbox.FaultReset, Nth: 1}},
	})
	f.add("a", everything(0)[2])
	f.add("b", everything(1)[2])
	f.run("a")
	f.run("b")
	creation, order := f.rows("a")[0], f.rows("b")[0]
	if creation.Result != filing.Uncertain || order.Result != filing.Uncertain || !creation.Creating ||
		order.Creating || creation.Reserved != 0 || order.Reserved != priceReport+feeLLC {
		t.Fatalf("%+v\n%+v", creation, order)
	}
	if err := f.Resolutions().MarkPlaced(t.Context(), creation.ID, 0, []string{"order_1"}, "slip"); err == nil ||
		!strings.Contains(err.Error(), "enter the company's id") {
		t.Error(err)
	}
	if err := f.Resolutions().MarkCreated(t.Context(), order.ID, 0, filing.Company{ID: "comp_1"}, "slip"); err == nil ||
		!strings.Contains(err.Error(), "not its company") {
		t.Error(err)
	}
	f.must(f.Resolutions().MarkNotPlaced(t.Context(), creation.ID, 0, "not there"))
	f.must(f.Resolutions().MarkNotPlaced(t.Context(), order.ID, 0, "not there"))
	f.run("a")
	f.run("b")
	f.agree("a", "b")
	f.wantPosts("/companies", 3)
}

// While the organization is paused for funds no company is created. When its
// moment to ask has come, one is, and its order asks.
func TestNoCreationWhilePausedForFunds(t *testing.T) {
	t.Parallel()
	const reported = priceReport + feeLLC
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: reported, AutoSeed: true})
	f.add("reports", requests(2, report)...)
	f.stops(jobs.OutOfFunds, "reports")
	var all []*filing.Request
	for i := range 6 {
		all = append(all, everything(i)...)
	}
	f.add("new", all...)
	f.stops(jobs.OutOfFunds, "new")
	f.wantPosts("/companies", 0)
	// The same run again asks: with one company, not with six.
	f.must(f.Fleet().AllowProbe(t.Context()))
	f.stops(jobs.OutOfFunds, "new")
	if n := f.posts("/companies"); n == 0 || n > 3 {
		t.Errorf("%d companies were created to ask for funds", n)
	}
	f.service.Deposit(rich)
	f.must(f.Fleet().AllowProbe(t.Context()))
	f.placeRest("new")
	f.run("reports")
	f.wantPosts("/companies", 6)
	f.agree("reports", "new")
}

// A process that dies between the intent to create and the answer leaves the
// creation uncertain, whichever process finds out.
func TestCrashWhileCreating(t *testing.T) {
	onBothTransports(t, func(t *testing.T, on servers) {
		f := newFirm(t, on, sandbox.Config{})
		rows := everything(0)
		for _, r := range rows {
			r.User = filing.UserRef{ID: "user_1"}
		}
		f.service.AddUser(sandbox.User{ID: "user_1"})
		f.add("a", rows...)
		f.die("a", rows[0].Order, true)
		f.run("a")
		f.want("a", ledger.Counts{filing.Uncertain: 1, filing.Ready: 4})
		row := f.rows("a")[0]
		if !row.Creating || row.Reserved != 0 || !strings.Contains(row.Message, "sent for creation") {
			t.Errorf("%+v", row)
		}
		if n := f.posts("/companies") + f.posts("/orders"); n != 0 {
			t.Errorf("%d were sent", n)
		}
		f.must(f.Resolutions().MarkNotPlaced(t.Context(), row.ID, 0, "not there"))
		f.placeRest("a")
		f.agree("a")
	})
}
