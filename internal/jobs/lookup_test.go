package jobs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/jobs"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// lookUp looks the parties of a batch up.
func (f *firm) lookUp(l *ledger.Ledger, batch string) {
	f.Helper()
	client, err := newClient(f.url, clientTimeout)
	f.must(err)
	defer client.Close()
	f.must(jobs.LookUp(f.Context(), client, l, nil, flying, batch, nil))
}

// incomplete puts companies on record that lack what the state's fee follows:
// comp_0 nothing, comp_1 the type, comp_2 the state, comp_3 both.
func (f *firm) incomplete() {
	f.service.AddUser(sandbox.User{ID: "user_1"})
	agents := make(map[string]sandbox.Agent)
	for _, s := range filing.States() {
		agents[string(s)] = sandbox.ActiveService
	}
	for _, c := range []sandbox.Company{
		{ID: "comp_0", Slug: "larkspur-books", EntityType: "LLC", FormationState: "DE"},
		{ID: "comp_1", Slug: "tern-tide", FormationState: "DE"},
		{ID: "comp_2", EntityType: "CORP"},
		{ID: "comp_3"},
	} {
		c.UserID, c.Agents = "user_1", agents
		f.service.AddCompany(c)
	}
}

// Whatever is ordered, for whomever: before somebody's yes nothing is sent but
// questions, and each of them once.
func TestLookUpOnlyAsks(t *testing.T) {
	t.Parallel()
	f := newEnvironment(t, servers{}, sandbox.Config{Latency: time.Millisecond})
	f.incomplete()
	f.service.AddUser(sandbox.User{Email: "bo@example.com", PhoneNumber: "+12125550100"})
	f.service.AddUser(sandbox.User{Email: "taken@example.com", Elsewhere: true})
	qualified := func(o *filing.Order) {
		orderAgent(o)
		o.FilingState, o.ForeignQualification = "CA", &filing.QualificationItem{}
	}
	orders := map[string]func() *filing.Request{
		"annual report": func() *filing.Request { return report(0) },
		"agent change":  func() *filing.Request { return agentChange(0) },
		"agent":         func() *filing.Request { return existing(0, filing.RegisteredAgent, orderAgent) },
		"EIN": func() *filing.Request {
			return existing(0, filing.EIN, func(o *filing.Order) { o.EIN = einItem() })
		},
		"qualification": func() *filing.Request { return existing(0, filing.ForeignQualification, qualified) },
		"all of a new company": func() *filing.Request {
			return of(everything(0)[1], func(o *filing.Order) { o.EIN = einItem() })
		},
		"formation": func() *filing.Request { return formation(0) },
		"formation and EIN": func() *filing.Request {
			return of(formation(1), func(o *filing.Order) { o.EIN = einItem() })
		},
	}
	users := []filing.UserRef{
		{ID: "user_1"},
		{Email: "bo@example.com"},
		{Email: "Bo@Example.com", Name: "Bo"},
		{Email: "new@example.com", Name: "Nell New", Phone: "+12125550101"},
		{Email: "new@example.com"},
		{Email: "nobody@example.com"},
		{Email: "cy@example.com", Name: "Cy", Phone: "+12125550100"}, // the phone number is Bo's
		{Email: "taken@example.com", Name: "Di"},                     // of another organization
	}
	companies := []string{"comp_0", "comp_1", "comp_2", "comp_3", "comp_nowhere", "larkspur-books", "tern-tide",
		"no-such-slug"}
	sheets := []filing.Company{{}, {EntityType: filing.LLC}, {FormationState: "NV"},
		{EntityType: filing.Corp, FormationState: "NV"}}
	l := f.openLedger()
	var all []*filing.Request
	for _, order := range orders {
		for _, user := range users {
			for _, company := range companies {
				for _, sheet := range sheets {
					r := order()
					r.User = user
					if r.Order.Formation == nil && !r.CreatesCompany() {
						r.Company = filing.CompanyRef{Ref: company, Sheet: sheet}
					}
					all = append(all, r)
				}
			}
		}
	}
	f.add(l, "a", all...)
	f.lookUp(l, "a")
	books := f.service.Books()
	for endpoint, n := range books.Requests {
		if !strings.HasPrefix(endpoint, "GET ") {
			t.Errorf("%s was sent %d times", endpoint, n)
		}
	}
	if len(books.Lookups) != 5+8 { // Bo is one person
		t.Errorf("%v", books.Lookups)
	}
	for path, n := range books.Lookups {
		if n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
	f.want(l, "a", ledger.Counts{filing.Ready: len(all)})
	for _, v := range f.service.Violations() {
		t.Errorf("%s", v)
	}
}

// A company that lacks what the state's fee follows is quoted from what the
// service does say of it, and from the sheet for the rest; the placing afterwards
// completes it once, creates each user once, and takes what was quoted.
func TestQuoteOfWhatIsNotWholeYet(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, Latency: time.Millisecond})
	f.incomplete()
	l := f.openLedger()
	var all []*filing.Request
	for _, state := range filing.States()[:10] {
		for i := range 4 {
			r := report(i)
			r.User = filing.UserRef{Email: "new@example.com", Name: "Nell New"}
			r.Order.FilingState = state
			// The service's word counts before it.
			r.Company.Sheet = filing.Company{
				EntityType:     []filing.EntityType{filing.Corp, filing.Corp, filing.LLC, filing.LLC}[i],
				FormationState: "NV",
			}
			all = append(all, r)
		}
	}
	f.add(l, "a", all...)
	f.lookUp(l, "a")
	quoter, err := newQuoter(t.TempDir())
	f.must(err)
	quote, err := pricing.QuoteBatch(t.Context(), l, quoter, "a")
	f.must(err)
	const each = feeLLC + feeCorp + feeCorp + feeLLC + 4*25_00
	if want := (money.Cost{Amount: 10 * each}); quote.Total != want {
		t.Errorf("quoted %s, want %s", quote.Total, want)
	}
	if n := len(f.seen("PATCH", "/")) + len(f.seen("POST", "/")); n != 0 {
		t.Errorf("%d changes before the yes", n)
	}
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: len(all)})
	if n := len(f.seen("PATCH", "/v1/companies/")); n != 3 {
		t.Errorf("%d completions, want one for each company", n)
	}
	if n := len(f.seen("POST", "/v1/users")); n != 1 {
		t.Errorf("%d creations of one user", n)
	}
	if charged := money.Cents(f.service.Books().Charged); charged != quote.Total.Amount {
		t.Errorf("%s was charged, %s quoted", charged, quote.Total)
	}
}

// What a company lacked when it was looked up is asked for again before it is
// written: somebody may have filled it in between the quote and the yes.
func TestIncompleteCompanyIsAskedForAgain(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich})
	f.incomplete()
	l := f.openLedger()
	r := report(3)
	r.Company.Sheet = filing.Company{EntityType: filing.LLC, FormationState: "NV"}
	f.add(l, "a", r)
	f.lookUp(l, "a")
	client, err := newClient(f.url, clientTimeout)
	f.must(err)
	defer client.Close()
	_, err = client.UpdateCompany(t.Context(), "comp_3", filing.Company{EntityType: filing.Corp, FormationState: "DE"})
	f.must(err)
	f.run(l, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Placed: 1})
	if n := len(f.seen("PATCH", "/v1/companies/")); n != 1 { // that was somebody else
		t.Errorf("%d completions, want none of ours", n-1)
	}
}

// A worker that has met a company that lacks something asks for it again for the
// rows that come later.
func TestIncompleteCompanyIsNotRememberedForGood(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich})
	f.incomplete()
	l := f.openLedger()
	w := f.start(l, f.openQueue())
	f.add(l, "a", report(3))
	f.await(w, "a", patient)
	f.want(l, "a", ledger.Counts{filing.Rejected: 1})
	client, err := newClient(f.url, clientTimeout)
	f.must(err)
	defer client.Close()
	_, err = client.UpdateCompany(t.Context(), "comp_3", filing.Company{EntityType: filing.Corp, FormationState: "DE"})
	f.must(err)
	f.add(l, "b", report(3))
	f.await(w, "b", patient)
	f.want(l, "b", ledger.Counts{filing.Placed: 1})
}

// Rows that cannot create their user are no answer for one that can.
func TestUserOfManyRows(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, Latency: 20 * time.Millisecond})
	l := f.openLedger()
	all := requests(9, agentChange)
	for _, r := range all {
		f.service.AddCompany(sandbox.Company{
			ID:     r.Company.Ref,
			UserID: "user_x",
			Agents: map[string]sandbox.Agent{"DE": sandbox.OtherAgent},
		})
		r.User.ID, r.User.Email = "", "new@example.com"
	}
	const says = 4
	all[says].User.Name = "Nell New"
	f.add(l, "a", all...)
	f.run(l, "a", patient)
	if row := f.rows(l, "a")[says]; row.Result != filing.Placed {
		t.Errorf("%s: %s", row.Result, row.Message)
	}
}

// A look-up that is broken off says so.
func TestLookUpEndsWithItsContext(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{OpeningBalance: rich, AutoSeed: true, Latency: 50 * time.Millisecond})
	l := f.openLedger()
	f.add(l, "a", requests(100, report)...)
	client, err := newClient(f.url, clientTimeout)
	f.must(err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := jobs.LookUp(ctx, client, l, nil, flying, "a", nil); err == nil {
		t.Error("no error")
	}
}
