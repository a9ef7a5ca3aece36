package jobs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/lookup"
	"github.com/bulkfiling/bulkfiling/internal/pricing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// onRecord puts a company on the service's record, with an agent everywhere.
func (f *firm) onRecord(id, slug, name, kind, state string) {
	f.know(sandbox.Company{ID: id, Slug: slug, LegalName: name, EntityType: kind, FormationState: state})
}

// called makes a request name its company.
func called(r *filing.Request, ref, name string) *filing.Request {
	r.Company.Ref, r.Company.Sheet.LegalName = ref, name
	return r
}

// compare looks a batch up and compares it, as run does before its quote.
func (f *firm) compare(batch string, accept bool) lookup.Review {
	f.Helper()
	review, err := lookup.Compare(f.Context(), batch, f.comparison(accept))
	f.must(err)
	return review
}

func (f *firm) comparison(accept bool) lookup.Comparison {
	return lookup.Comparison{
		Config:  lookup.Config{Ledger: f.Ledger, Concurrency: flying},
		Records: f.client(),
		Accept:  accept,
	}
}

// approveCosts quotes a batch and approves the rows that wait for it.
func (f *firm) approveCosts(batch string) {
	f.Helper()
	_, err := pricing.QuoteBatch(f.Context(), f.Ledger, f.quoter(), batch)
	f.must(err)
	waiting, err := approval.New(f.Ledger).CostIncrease(f.Context(), batch)
	f.must(err)
	if waiting.Rows > 0 {
		f.must(approval.New(f.Ledger).ApproveCosts(f.Context(), batch, waiting))
	}
}

// everyProduct is one row of each product for a company.
func everyProduct(ref, name string) []*filing.Request {
	return []*filing.Request{
		called(report(0), ref, name),
		called(agentChange(0), ref, name),
		called(existing(0, filing.EIN, orderEIN), ref, name),
		called(existing(0, filing.ForeignQualification, qualify), ref, name),
	}
}

// wantConfirmation checks what a row says whose name is not that of its company,
// and that it has a cell to confirm the company at.
func (f *firm) wantConfirmation(r ledger.Row, says, name string) {
	f.Helper()
	if !strings.HasPrefix(r.Message, says) {
		f.Errorf("row %d says %q", r.Number, r.Message)
	}
	if !slices.ContainsFunc(r.Faults, func(f ledger.Fault) bool {
		return f.Header == "Confirmed Name" && strings.Contains(f.Message, name)
	}) {
		f.Errorf("row %d has no cell to confirm it at: %+v", r.Number, r.Faults)
	}
}

// A row that names another company than its Company ID is not sent: not what it
// orders, not in whatever way it came to be sent, by id or by slug.
func TestPlacer_OtherCompanysID(t *testing.T) {
	for _, ref := range []string{"comp_702", "lakeshore-holdings"} {
		for _, looked := range []bool{true, false} {
			t.Run(ref, func(t *testing.T) {
				t.Parallel()
				f := newFirm(t, servers{}, sandbox.Config{})
				f.onRecord("comp_702", "lakeshore-holdings", "Lakeshore Holdings LLC", "LLC", "DE")
				f.add("b", everyProduct(ref, "Smith & Daughters 702 LLC")...)
				if looked {
					if review := f.compare("b", false); len(review.HeldBack) != 4 {
						t.Errorf("%d rows are held back before the approval", len(review.HeldBack))
					}
					f.want("b", ledger.Counts{filing.Invalid: 4})
				}
				f.run("b")
				f.want("b", ledger.Counts{filing.Invalid: 4})
				if n := f.posts("/orders") + f.posts("/companies") +
					f.seen("PATCH", "/companies"); n != 0 {
					t.Errorf("%d orders or changes were sent", n)
				}
				want := ref + ` is "Lakeshore Holdings LLC" at the filing service, ` +
					`but the spreadsheet says "Smith & Daughters 702 LLC"`
				for _, r := range f.rows("b") {
					f.wantConfirmation(r, want, "Lakeshore Holdings LLC")
				}
				f.agree("b")
			})
		}
	}
}

// What is written otherwise, or confirmed, is sent; other facts of the record
// are told at the cell, before.
func TestCompare_RightCompanyIsSent(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{})
	f.onRecord("comp_1", "", "Harbor Light Bakery, L.L.C.", "LLC", "DE")
	f.onRecord("comp_2", "", "Lakeshore Holdings LLC", "LLC", "DE")
	f.onRecord("comp_3", "", "Tern & Tide Inc.", "CORP", "NV")
	confirmed := called(report(2), "comp_2", "Smith & Daughters LLC")
	confirmed.Company.Confirmed = "LAKESHORE HOLDINGS, LLC"
	other := called(report(3), "comp_3", "Tern and Tide Inc")
	other.Company.Sheet.EntityType, other.Company.Sheet.FormationState = filing.LLC, "FL"
	f.add("b", called(report(1), "comp_1", "harbor light bakery"), confirmed, other)
	f.compare("b", false)
	f.want("b", ledger.Counts{filing.Ready: 3})
	var rules []string
	for _, r := range f.rows("b") {
		for _, fault := range r.Faults {
			rules = append(rules, fault.Rule)
			if !fault.Warning {
				t.Errorf("row %d: %s", r.Number, fault.Message)
			}
		}
	}
	if want := []string{"record.name-ending", "record.name-confirmed", "record.entity-type",
		"record.formation-state"}; !slices.Equal(rules, want) {
		t.Errorf("the rows are marked with %v, not %v", rules, want)
	}
	f.compare("b", false)
	if again := f.rows("b")[2].Faults; len(again) != 2 {
		t.Errorf("after a second comparison the row has %d marks", len(again))
	}
	f.placeRest("b")
}

// Names are accepted as the filing service has them, row by row: the company
// whose name was seen, and no other that it becomes later.
func TestCompare_AcceptNames(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{})
	f.onRecord("comp_1", "", "Lakeshore Holdings LLC", "LLC", "DE")
	f.add("b", called(report(1), "comp_1", "Smith & Daughters LLC"))
	f.compare("b", false)
	f.want("b", ledger.Counts{filing.Invalid: 1})
	if review := f.compare("b", true); review.Accepted != 1 || review.Released != 1 || len(review.HeldBack) != 0 {
		t.Errorf("%+v", review)
	}
	row := f.rows("b")[0]
	if row.Result != filing.Ready || row.Request.Company.Confirmed != "Lakeshore Holdings LLC" {
		t.Errorf("%s, confirmed as %q", row.Result, row.Request.Company.Confirmed)
	}
	f.approveCosts("b")
	f.placeRest("b")

	other := called(report(1), "comp_1", "Smith & Daughters LLC")
	other.Order.AnnualReport.FilingYear, other.Company.Confirmed = "2027", "Beach House LLC"
	f.add("c", other)
	f.run("c")
	f.want("c", ledger.Counts{filing.Invalid: 1})
}

// A retry compares once more, and sends what is still another company's no more than
// before. A record that was corrected at the service releases the row; what was
// remembered of it does not hold it back for ever.
func TestCompare_CorrectedRecordReleasesRow(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{})
	f.onRecord("comp_1", "", "Lakeshore Holdings LLC", "LLC", "DE")
	f.add("b", called(report(1), "comp_1", "Smith & Daughters LLC"))
	f.run("b") // nobody looked before
	if n, err := f.RetryBatch(f.Context(), "b"); err != nil || n != 1 {
		t.Errorf("%d rows are tried again: %v", n, err)
	}
	f.run("b")
	f.want("b", ledger.Counts{filing.Invalid: 1})
	f.wantPosts("/orders", 0)
	f.onRecord("comp_1", "", "Smith and Daughters LLC", "LLC", "DE")
	if review := f.compare("b", false); review.Released != 1 {
		t.Errorf("%+v", review)
	}
	f.run("b")
	f.wantPosts("/orders", 0) // nobody has approved it
	f.approveCosts("b")
	f.placeRest("b")
}

// That a company was formed where it is to be qualified is an error as soon as
// the service says it.
func TestQualifiedAtHome(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{})
	f.onRecord("comp_1", "", "Lakeshore Holdings LLC", "LLC", "NY")
	at := existing(1, filing.ForeignQualification, func(o *filing.Order) {
		orderAgent(o)
		o.FilingState, o.ForeignQualification = "NY", &filing.QualificationItem{}
	})
	f.add("b", at)
	f.run("b")
	f.wantRow("b", filing.Invalid, `"Lakeshore Holdings LLC" was formed in NY`)
	f.wantPosts("/orders", 0)
}

// reportOf is a later annual report of a company that a formation makes, by its name.
func reportOf(formed *filing.Request, name string) *filing.Request {
	r := described(0)
	r.User = formed.User
	r.Company.Sheet.LegalName, r.Company.Sheet.FormationState = name, "WY"
	r.Product, r.Order = filing.AnnualReport, filing.Order{
		FilingState:  "WY",
		AnnualReport: &filing.AnnualReportItem{FilingYear: "2027"},
	}
	return r
}

// A company that was formed here is the one that a later sheet means by its
// name: it is not created again, and no second agent is ordered for it.
func TestAFormedCompanyIsKnown(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{})
	formed := formation(0)
	f.place("formation", formed)
	company := f.rows("formation")[0].Company

	later := reportOf(formed, "TERN AND TIDE 0, L.L.C.")
	orderAgent(&later.Order)
	f.add("reports", later)
	f.compare("reports", false)
	quote, err := pricing.QuoteBatch(f.Context(), f.Ledger, f.quoter(), "reports")
	f.must(err)
	if quote.Rows != 1 || len(quote.Kinds) != 1 || quote.Kinds[0].Product != filing.AnnualReport {
		t.Errorf("the quote has an agent that was bought before: %+v", quote.Kinds)
	}
	f.placeRest("reports")
	row := f.rows("reports")[0]
	if row.Company != company || f.posts("/companies") != 0 {
		t.Errorf("the report is for %s, and %s was formed; %d companies were created", row.Company, company,
			f.posts("/companies"))
	}
	if agents := f.service.Books().Orders; len(agents) != 2 || len(agents[1].Items) != 1 {
		t.Errorf("a second agent was ordered: %+v", agents)
	}
}

// Of a formation that a person settled the company is known, too; before its id
// is told, a row that means it is not a new company.
func TestACompanyFormedByHandIsKnown(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{
		Faults: []sandbox.Fault{{Kind: sandbox.FaultReset, Endpoint: "POST /orders", After: true, Nth: 1}},
	})
	formed := formation(0)
	f.add("formation", formed)
	f.run("formation")
	f.want("formation", ledger.Counts{filing.Uncertain: 1})
	later := reportOf(formed, "Tern & Tide 0 LLC")
	f.add("reports", later)
	f.run("reports")
	f.wantRow("reports", filing.Ready, "forming this company")
	row, order := f.rows("formation")[0], f.service.Books().Orders[0]
	f.must(f.Resolutions().MarkPlaced(f.Context(), row.ID, row.LastAttempt, []string{order.Items[0].ID}, "seen"))
	f.run("reports")
	f.wantRow("reports", filing.Rejected, "--company")
	f.must(f.Resolutions().NameCompany(f.Context(), row.ID, order.CompanyID,
		ledger.FormedClaims(&row.Request.Order, order.CompanyID), "seen"))
	if _, err := f.RetryBatch(f.Context(), "reports"); err != nil {
		t.Fatal(err)
	}
	f.run("reports")
	if r := f.wantRow("reports", filing.Placed, "", filing.AnnualReport); r.Company != order.CompanyID {
		t.Errorf("it is for %s", r.Company)
	}
	f.wantPosts("/companies", 0)
}

// A company that was looked up is known by its name, its user and its state.
func TestACompanyLookedUpIsKnown(t *testing.T) {
	for _, compared := range []bool{true, false} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			f := newFirm(t, servers{}, sandbox.Config{})
			f.onRecord("comp_1", "", "Larkspur 7 LLC", "LLC", "DE")
			f.add("a", called(report(1), "comp_1", "Larkspur 7"))
			if compared {
				f.compare("a", false)
			}
			f.run("a")
			later := described(7)
			later.User = filing.UserRef{ID: "user_1"}
			later.Product, later.Order.AnnualReport = filing.AnnualReport, &filing.AnnualReportItem{FilingYear: "2026"}
			f.add("b", later)
			f.run("b")
			if r := f.rows("b")[0]; r.Result != filing.Exists || f.posts("/companies") != 0 {
				t.Errorf("%s for %s: %s; %d companies were created", r.Result, r.Company, r.Message,
					f.posts("/companies"))
			}
		})
	}
}

// A name close to one that was bought, looked up, or stands in the same sheet is
// a warning before the approval; a number that differs is not.
func TestCompare_NearNames(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{})
	f.onRecord("comp_9", "", "Café Río Inc.", "CORP", "WY")
	named := func(name string) *filing.Request {
		r := formation(0)
		r.Order.Formation.Company.LegalName = name
		return r
	}
	f.add("first", named("Harbor Light Bakery LLC"), called(report(9), "comp_9", "Café Río Inc."))
	f.run("first")
	elsewhere := named("Harbor Light Bakery")
	elsewhere.Order.FilingState = "NV"
	other := named("Harbor Light Bakery LLC")
	other.User = ana(1)
	f.add("second",
		named("HarborLight Bakery Inc"), // another ending
		named("Harbor Light Bakery"),    // its suffix is missing
		named("Harbor Light Bakery 2 LLC"),
		elsewhere,
		named("Cafe Rio Incorporated"),       // looked up
		named("HARBOR LIGHT BAKERY, L.L.C."), // the very same: bought before
		other,                                // the very same, although for another user
		named("Lakeshore Holdings LLC"),
		named("Lake Shore Holdings"), // close to the row above
	)
	f.compare("second", false)
	today := time.Now().UTC().Format("Jan 2, 2006")
	for i, want := range []string{
		`"Harbor Light Bakery LLC", ordered as a formation on ` + today + ` in row 2 of first.csv`,
		`"Harbor Light Bakery LLC", ordered as a formation on ` + today, "", "",
		`"Café Río Inc."`, "", "", "",
		`"Lakeshore Holdings LLC" in row 9 of this spreadsheet`,
	} {
		row, text := f.rows("second")[i], ""
		for _, fault := range row.Faults {
			if text = fault.Message; !fault.Warning || fault.Rule != "record.near-name" {
				t.Errorf("row %d: %+v", row.Number, fault)
			}
		}
		if (text == "") != (want == "") || !strings.Contains(text, want) {
			t.Errorf("row %d, %q: %q, not %q", row.Number, row.Request.LegalName(), text, want)
		}
		if row.Result != filing.Ready {
			t.Errorf("row %d is %s", row.Number, row.Result)
		}
	}
}

// twoStates runs a batch that orders for each company in two states, and returns how
// often the service was asked for a company.
func (f *firm) twoStates(batch string, names []string, order func(int) *filing.Request, compared bool) int {
	var all []*filing.Request
	for i, name := range names {
		for _, state := range []filing.State{"DE", "NV"} {
			r := called(order(i), fmt.Sprintf("comp_%d", i), name)
			r.Order.FilingState = state
			all = append(all, r)
		}
	}
	f.add(batch, all...)
	before := f.seen("GET", "/companies")
	if compared {
		f.compare(batch, false)
	}
	f.reopen()
	f.run(batch)
	return f.seen("GET", "/companies") - before
}

// What the service said of a company for an earlier batch does not count: each batch looks
// each of its companies up itself, once, also after a restart. One that was renamed, merged
// or dissolved since is not filed for.
func TestLookup_EachBatchLooksUpItsCompanies(t *testing.T) {
	for _, compared := range []bool{true, false} {
		t.Run(fmt.Sprintf("compared: %t", compared), func(t *testing.T) {
			t.Parallel()
			f := newFirm(t, servers{}, sandbox.Config{})
			var merged atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if merged.Load() {
					r.URL.Path = strings.Replace(r.URL.Path, "/companies/comp_2", "/companies/comp_0", 1)
				}
				f.service.Handler().ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			f.url = server.URL + "/v1"
			names := []string{"Acme LLC", "Bay LLC", "Acme LLC", "Dune LLC"}
			for i, name := range names {
				f.onRecord(fmt.Sprintf("comp_%d", i), "", name, "LLC", "DE")
			}
			if n := f.twoStates("first", names, report, compared); n != len(names) {
				t.Errorf("%d look-ups for %d companies", n, len(names))
			}
			f.want("first", ledger.Counts{filing.Placed: 8})
			f.onRecord("comp_1", "", "Zebra Trading Corp", "CORP", "DE")
			merged.Store(true)
			f.service.AddCompany(sandbox.Company{ID: "comp_3", Elsewhere: true})
			f.twoStates("second", names, agentChange, compared)
			for i, says := range []string{"", `comp_1 is "Zebra Trading Corp"`, "answered for the company comp_0",
				"has no company comp_3"} {
				for _, r := range f.rows("second")[2*i : 2*i+2] {
					if (r.Result == filing.Invalid || r.Result == filing.Rejected) != (i > 0) ||
						i > 0 && !strings.Contains(r.Message, says) {
						t.Errorf("row %d is %s: %s", r.Number, r.Result, r.Message)
					}
				}
			}
			f.wantPosts("/orders", 10)
		})
	}
}

// Only a name that a person confirmed is another name of a company. A name that was
// passed with a warning may be another company's: a row without a Company ID is not filed
// for it.
func TestOnlyConfirmedNamesMeanACompany(t *testing.T) {
	t.Parallel()
	f := newFirm(t, servers{}, sandbox.Config{})
	f.onRecord("comp_1", "", "Harbor LLC", "LLC", "DE")
	f.onRecord("comp_2", "", "Lakeshore Holdings LLC", "LLC", "DE")
	confirmed := called(report(2), "comp_2", "Smith & Daughters LLC")
	confirmed.Company.Confirmed = "Lakeshore Holdings LLC"
	f.add("a", called(report(1), "comp_1", "Harbor"), confirmed)
	f.compare("a", false)
	f.placeRest("a")
	without := func(batch, name string, state filing.State) {
		r := of(described(1), orderAgent)
		r.User, r.Product = filing.UserRef{ID: "user_1"}, filing.RegisteredAgent
		r.Company.Sheet.LegalName, r.Order.FilingState = name, state
		f.add(batch, r)
		f.compare(batch, false)
		f.run(batch)
	}
	without("similar", "Harbor", "NV")
	f.wantPosts("/companies", 1)
	without("confirmed", "SMITH AND DAUGHTERS LLC", "NY")
	if r := f.wantRow("confirmed", filing.Placed, "", filing.RegisteredAgent); r.Company != "comp_2" {
		t.Errorf("it is for %s", r.Company)
	}
	f.onRecord("comp_2", "", "Zebra Trading LLC", "LLC", "DE")
	without("renamed", "Smith & Daughters LLC", "WY")
	f.wantRow("renamed", filing.Invalid, `comp_2 is "Zebra Trading LLC"`)
}
