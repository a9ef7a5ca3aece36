package jobs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// incomplete puts companies on record that lack what the state's fee follows:
// comp_0 nothing, comp_1 the type, comp_2 the state, comp_3 both.
func (f *firm) incomplete() {
	for _, c := range []sandbox.Company{
		{ID: "comp_0", Slug: "larkspur-books", EntityType: "LLC", FormationState: "DE"},
		{ID: "comp_1", Slug: "tern-tide", FormationState: "DE"},
		{ID: "comp_2", EntityType: "CORP"},
		{ID: "comp_3"},
	} {
		f.know(c)
	}
}

// Whatever is ordered, for whomever: before somebody's yes nothing is sent but
// questions, and each of them once.
func TestCompare_OnlyReads(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{Latency: time.Millisecond})
	f.incomplete()
	f.service.AddUser(sandbox.User{Email: "bo@example.com", PhoneNumber: "+12125550100"})
	f.service.AddUser(sandbox.User{Email: "taken@example.com", Elsewhere: true})
	orders := []func(int) *filing.Request{
		report,
		agentChange,
		func(i int) *filing.Request {
			return existing(i, filing.ForeignQualification, orderAgent, qualify, orderEIN)
		},
		func(i int) *filing.Request { return of(everything(i)[1], orderEIN) },
		formation,
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
	var all []*filing.Request
	for _, order := range orders {
		for _, user := range users {
			for _, company := range companies {
				for _, sheet := range sheets {
					r := order(0)
					r.User = user
					if r.Order.Formation == nil && !r.CreatesCompany() {
						r.Company = filing.CompanyRef{Ref: company, Sheet: sheet}
					}
					all = append(all, r)
				}
			}
		}
	}
	f.add("a", all...)
	f.compare("a", false)
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
	f.want("a", ledger.Counts{filing.Ready: len(all)})
	for _, v := range f.service.Violations() {
		t.Errorf("%s", v)
	}
}

// A company that lacks what the state's fee follows is quoted from what the
// service does say of it, and from the sheet for the rest; the placing afterwards
// completes it once, creates each user once, and takes what was quoted.
func TestCompare_QuoteOfIncompleteCompanies(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{Latency: time.Millisecond})
	f.incomplete()
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
	f.add("a", all...)
	f.compare("a", false)
	quote, err := pricing.QuoteBatch(t.Context(), f.Ledger, f.quoter(), "a")
	f.must(err)
	const each = feeLLC + feeCorp + feeCorp + feeLLC + 4*priceReport
	if want := (money.Cost{Amount: 10 * each}); quote.Total != want {
		t.Errorf("quoted %s, want %s", quote.Total, want)
	}
	if n := f.seen("PATCH", "/") + f.seen("POST", "/"); n != 0 {
		t.Errorf("%d changes before the yes", n)
	}
	f.placeRest("a")
	if patched, created := f.seen("PATCH", "/companies/"), f.posts("/users"); patched != 3 || created != 1 {
		t.Errorf("%d completions, want one for each company; %d creations of one user", patched, created)
	}
	if charged := money.Cents(f.service.Books().Charged); charged != quote.Total.Amount {
		t.Errorf("%s was charged, %s quoted", charged, quote.Total)
	}
}

// A row that lacks a fact of its company says what to fill in, and that is no answer for
// another row of the company. A worker asks for the company again for later rows: somebody
// may have filled it in.
func TestIncompleteCompanyIsAskedForAgain(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{Latency: 20 * time.Millisecond})
	f.incomplete()
	f.know(sandbox.Company{ID: "comp_9"})
	described := func(i int) *filing.Request {
		r := report(i)
		r.Order.FilingState = "NV"
		r.Company.Sheet = filing.Company{EntityType: filing.LLC, FormationState: "NV"}
		return r
	}
	f.add("both", report(3), described(3))
	f.run("both")
	if r := f.rows("both")[1]; r.Result != filing.Placed {
		t.Errorf("%s: %s", r.Result, r.Message)
	}
	w := f.start()
	f.add("silent", report(9))
	f.await(w, "silent", patient)
	f.wantRow("silent", filing.Rejected, "Entity Type")
	_, err := f.client().UpdateCompany(t.Context(), "comp_9",
		filing.Company{EntityType: filing.Corp, FormationState: "DE"})
	f.must(err)
	f.add("later", described(9))
	f.await(w, "later", patient)
	f.want("later", ledger.Counts{filing.Placed: 1})
	if n := f.seen("PATCH", "/companies/"); n != 2 { // one of somebody else
		t.Errorf("%d completions, want one of ours", n-1)
	}
}

// Rows that cannot create their user are no answer for one that can.
func TestUserOfManyRows(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{Latency: 20 * time.Millisecond})
	all := f.changesOfOtherAgents(9)
	for _, r := range all {
		r.User.ID, r.User.Email = "", "new@example.com"
	}
	const says = 4
	all[says].User.Name = "Nell New"
	f.add("a", all...)
	f.run("a")
	if row := f.rows("a")[says]; row.Result != filing.Placed {
		t.Errorf("%s: %s", row.Result, row.Message)
	}
}

// A look-up that is broken off says so.
func TestCompare_EndsWithContext(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true, Latency: 50 * time.Millisecond})
	f.add("a", requests(100, report)...)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := lookup.Compare(ctx, "a", f.comparison(false)); err == nil {
		t.Error("no error")
	}
}
