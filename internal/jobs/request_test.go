package jobs_test

import (
	"context"
	"slices"
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

// wantRow checks the first row of a batch, with its items, and the audit.
func (f *firm) wantRow(batch string, result filing.Result, says string, items ...filing.Product) ledger.Row {
	f.Helper()
	r := f.rows(batch)[0]
	var products []filing.Product
	for _, i := range r.Items {
		products = append(products, i.Product)
	}
	slices.SortFunc(products, filing.CompareProducts)
	if r.Result != result || !strings.Contains(r.Message, says) || !slices.Equal(products, items) {
		f.Errorf("%s %v: %s; want %s %v: %s", r.Result, products, r.Message, result, items, says)
	}
	f.must(f.Audit(f.Context()))
	return r
}

// onFirst has the first order go through a function, and the others to the service.
func onFirst(place func(send func(filing.Order) filing.Answer, o filing.Order) filing.Answer) option {
	return func(c *jobs.Config) {
		service, first := c.Service, true
		c.Service = &orderService{service, func(ctx context.Context, o *filing.Order) filing.Answer {
			if !first {
				return service.PlaceOrder(ctx, o)
			}
			first = false
			return place(func(o filing.Order) filing.Answer { return service.PlaceOrder(ctx, &o) }, *o)
		}}
	}
}

// formationAlone makes the formation of an order, and neither its EIN nor its agent.
func formationAlone(send func(filing.Order) filing.Answer, o filing.Order) filing.Answer {
	supply(&o)
	o.EIN = nil
	return send(o)
}

// A refusal over the EIN says nothing of the report: each is a request of its own, the agent
// goes with the report, and the row is done when all of them are.
func TestItemsOfACompanyGoOneByOne(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	f.know(sandbox.Company{ID: "comp_0", EntityType: "LLC", FormationState: "DE", EIN: "12-3456789",
		Agents: map[string]sandbox.Agent{}})
	f.know(sandbox.Company{ID: "comp_1", EntityType: "LLC", FormationState: "DE", Agents: map[string]sandbox.Agent{}})
	for i, batch := range []string{"a", "b"} {
		f.add(batch, of(reportAndAgent(i), orderEIN))
		f.finish(batch)
	}
	f.wantRow("a", filing.Placed, "placed: annual report and registered agent; the filing service has the EIN already",
		filing.AnnualReport, filing.RegisteredAgent)
	f.wantRow("b", filing.Placed, "placed: annual report, EIN, and registered agent",
		filing.AnnualReport, filing.EIN, filing.RegisteredAgent)
	f.wantPosts("/orders", 4)
	f.agree("a", "b")
}

// What a row has bought stays bought when the service refuses the rest. A retry orders the rest.
func TestTheRestIsRefused(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", of(report(0), orderEIN))
	f.run("a", func(c *jobs.Config) {
		service := c.Service
		c.Service = &orderService{service, func(ctx context.Context, o *filing.Order) filing.Answer {
			if o.EIN != nil {
				return filing.Answer{Kind: filing.Refused, Status: 400, Message: "no EIN today"}
			}
			return service.PlaceOrder(ctx, o)
		}}
	})
	f.wantRow("a", filing.Rejected, "no EIN today; placed: the annual report", filing.AnnualReport)
	_, err := f.RetryBatch(f.Context(), "a")
	f.must(err)
	f.finish("a")
	f.wantRow("a", filing.Placed, "placed: annual report and EIN", filing.AnnualReport, filing.EIN)
	f.agree("a")
}

// After a person has said that the report was placed, the EIN is ordered.
func TestTheRestFollowsADecision(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", of(report(0), orderEIN))
	var order string
	f.run("a", onFirst(func(send func(filing.Order) filing.Answer, o filing.Order) filing.Answer {
		order = send(o).Items[0].OrderID
		return filing.Answer{Kind: filing.NoAnswer, Message: "lost"}
	}))
	r := f.wantRow("a", filing.Uncertain, "lost")
	if half := r.Cost.Amount - priceEIN; r.Reserved != half {
		t.Errorf("%s is reserved, want %s: the EIN was not sent", r.Reserved, half)
	}
	f.must(f.Resolutions().MarkPlaced(f.Context(), r.ID, r.LastAttempt, []string{order}, "seen"))
	f.finish("a")
	f.wantRow("a", filing.Placed, "placed: annual report and EIN", filing.AnnualReport, filing.EIN)
	f.agree("a")
}

// Another row may buy the rest of a row's order meanwhile.
func TestTheRestIsBoughtElsewhere(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", of(report(0), orderEIN))
	f.add("b", existing(0, filing.EIN, orderEIN))
	f.run("a", after(1, func() { f.must(f.PauseBatch(f.Context(), "a")) }))
	f.wantRow("a", filing.Ready, "ordered next: EIN; placed: the annual report", filing.AnnualReport)
	f.finish("b")
	f.must(f.ResumeBatch(f.Context(), "a"))
	f.finish("a")
	f.wantRow("a", filing.Placed, "the EIN was bought before (row 2 of batch b)", filing.AnnualReport)
	f.agree("a", "b")
}

// The service makes only the formation of a formation, an EIN and an agent. When a person has
// seen that it did not make the others, they are ordered for the new company.
func TestRestOfAFormation(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	f.add("a", of(formation(1), orderEIN))
	f.run("a", onFirst(formationAlone))
	r := f.wantRow("a", filing.Uncertain, "the EIN and registered agent is not confirmed", filing.Formation)
	f.must(f.Resolutions().MarkNotPlaced(f.Context(), r.ID, r.LastAttempt, "neither is on the dashboard"))
	f.finish("a")
	f.wantRow("a", filing.Placed, "placed: formation, EIN, and registered agent",
		filing.Formation, filing.EIN, filing.RegisteredAgent)
	f.wantPosts("/orders", 3)
}

// An EIN that came with a formation although its answer lacked it costs what it costs with the
// formation.
func TestRestOfAFormationThatWasOrdered(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	f.add("a", of(formation(1), orderEIN))
	f.run("a", onFirst(func(send func(filing.Order) filing.Answer, o filing.Order) filing.Answer {
		a := send(o)
		a.Items = slices.DeleteFunc(a.Items, func(i filing.Item) bool {
			p, _ := filing.ProductOfType(i.OrderType)
			return p == filing.EIN
		})
		return a
	}))
	r := f.wantRow("a", filing.Uncertain, "the EIN is not confirmed", filing.Formation, filing.RegisteredAgent)
	f.must(f.Resolutions().MarkNotPlaced(f.Context(), r.ID, r.LastAttempt, "not on the dashboard"))
	f.finish("a")
	f.wantRow("a", filing.Placed, "placed", filing.Formation, filing.EIN, filing.RegisteredAgent)
	f.agree("a")
}

// The rest of a formation whose answer had no company ID is ordered once a person has named the
// company.
func TestRestOfAnUnnamedFormation(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	f.add("a", of(formation(1), orderEIN))
	var company string
	f.run("a", onFirst(func(send func(filing.Order) filing.Answer, o filing.Order) filing.Answer {
		a := formationAlone(send, o)
		company, a.CompanyID = a.CompanyID, ""
		return a
	}))
	r := f.rows("a")[0]
	f.must(f.Resolutions().MarkNotPlaced(f.Context(), r.ID, r.LastAttempt, "neither is on the dashboard"))
	f.finish("a")
	f.wantRow("a", filing.Rejected, "is not known yet: importer resolve mark a:2 placed --company", filing.Formation)
	f.add("b", formation(1))
	f.finish("b")
	unnamed, err := f.Resolutions().UnnamedFormations(f.Context(), "")
	if f.must(err); len(unnamed) != 1 {
		t.Errorf("%+v", unnamed)
	}
	f.must(f.Resolutions().NameCompany(f.Context(), r.ID, company,
		ledger.FormedClaims(&r.Request.Order, company), "on the dashboard"))
	if n, err := f.RetryBatch(f.Context(), "a"); n != 1 || err != nil {
		t.Errorf("%d rows are tried again: %v", n, err)
	}
	f.finish("a")
	f.wantRow("a", filing.Placed, "placed: formation, EIN, and registered agent",
		filing.Formation, filing.EIN, filing.RegisteredAgent)
}

// A formation that was bought before is not bought again, and what a new row orders with it
// is ordered for the company that was formed: it exists only if all of it was bought.
func TestRestOfAFormationThatWasBought(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{})
	f.place("a", of(formation(1), supply))
	f.add("b", of(formation(1), supply, orderEIN))
	f.finish("b")
	f.wantRow("b", filing.Placed, "the formation was bought before (row 2 of batch a)", filing.EIN)
	f.add("c", of(formation(1), supply, orderEIN))
	f.finish("c")
	if r := f.rows("c")[0]; r.Result != filing.Exists || !strings.Contains(r.Message, "row 2 of batch a") ||
		!strings.Contains(r.Message, "row 2 of batch b") {
		t.Errorf("%s: %s", r.Result, r.Message)
	}
	f.wantPosts("/orders", 2)
	f.agree("a", "b", "c")
}

// ordered returns the companies that the service has orders of a product for.
func (f *firm) ordered(product filing.Product) (companies []string) {
	for _, o := range f.service.Books().Orders {
		for _, i := range o.Items {
			if p, _ := filing.ProductOfType(i.Product); p == product {
				companies = append(companies, o.CompanyID)
			}
		}
	}
	return companies
}

// A row that was sent is for one company, whatever its name means meanwhile.
func TestARowIsOfOneCompany(t *testing.T) {
	for name, lost := range map[string]bool{"the rest": false, "a repetition": true} {
		t.Run(name, func(t *testing.T) {
			f := newFirm(t, servers{}, sandbox.Config{})
			f.onRecord("comp_A", "", "Larkspur One LLC", "LLC", "DE")
			f.onRecord("comp_B", "", "Larkspur 1 LLC", "LLC", "DE")
			confirmed := called(agentChange(0), "comp_A", "Larkspur 1 LLC")
			confirmed.Company.Confirmed = "Larkspur One LLC"
			f.place("c", confirmed)
			r := of(described(1), orderEIN)
			r.User, r.Product = filing.UserRef{ID: "user_1"}, filing.EIN
			if !lost {
				of(r, orderReport)
			}
			f.add("a", r)
			f.run("a", onFirst(func(send func(filing.Order) filing.Answer, o filing.Order) filing.Answer {
				a := send(o)
				f.must(f.PauseBatch(f.Context(), "a"))
				if lost {
					a = filing.Answer{Kind: filing.NoAnswer, Message: "lost"}
				}
				return a
			}))
			f.place("b", called(agentChange(0), "comp_B", "Larkspur 1 LLC")) // the name is that company's
			f.must(f.ResumeBatch(f.Context(), "a"))
			f.run("a")
			if eins := f.ordered(filing.EIN); slices.Contains(eins, "comp_B") {
				t.Errorf("EINs of %v: %s", eins, f.rows("a")[0].Message)
			}
			f.must(f.Audit(t.Context()))
		})
	}
}

// The rest of a formation that was bought before is ordered only for a company that is there, and
// is the one that the row names.
func TestRestOfAFormationIsCompared(t *testing.T) {
	for name, change := range map[string]func(f *firm, r ledger.Row){
		"renamed": func(f *firm, r ledger.Row) {
			_, err := f.client().UpdateCompany(f.Context(), r.Company, filing.Company{LegalName: "Quite Another LLC"})
			f.must(err)
		},
		"canceled": func(f *firm, r ledger.Row) {
			_, err := f.Events().Keep(f.Context(), filing.Event{ID: "evt_1", Type: filing.StatusChanged,
				CreatedAt: time.Now(), OrderID: r.Items[0].OrderID, OrderType: "formation",
				FilingStatus: "canceled"}, []byte("{}"))
			f.must(err)
			_, err = f.Events().Apply(f.Context())
			f.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFirm(t, servers{}, sandbox.Config{})
			f.place("a", formation(1))
			change(f, f.rows("a")[0])
			f.add("b", of(formation(1), orderEIN))
			f.run("b")
			if r := f.rows("b")[0]; len(f.ordered(filing.EIN)) > 0 || r.Result == filing.Placed {
				t.Errorf("%s: %s", r.Result, r.Message)
			}
		})
	}
}

// What a later answer takes back is ordered again before the row is done.
func TestAFirstRequestIsTakenBack(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", of(report(0), orderEIN))
	f.run("a", onFirst(func(func(filing.Order) filing.Answer, filing.Order) filing.Answer {
		return filing.Answer{Kind: filing.NoAnswer, Message: "lost"}
	}))
	r := f.wantRow("a", filing.Uncertain, "lost")
	f.must(f.Resolutions().MarkPlaced(t.Context(), r.ID, r.LastAttempt, nil, "seen"))
	f.finish("a")
	first, _ := r.Left("", r.Company).First()
	f.must(f.RecordOutcome(t.Context(), ledger.Outcome{Row: r.ID, Attempt: 1, Claims: ledger.ClaimsOf(&first, ""),
		Answer: filing.Answer{Kind: filing.Refused, Status: 400, Message: "no such report"}, Message: "refused late"}))
	f.must(f.Resolutions().MarkNotPlaced(t.Context(), r.ID, f.rows("a")[0].LastAttempt, "not on the dashboard"))
	f.finish("a")
	f.wantRow("a", filing.Placed, "", filing.AnnualReport, filing.EIN)
	if reports := f.ordered(filing.AnnualReport); len(reports) != 1 {
		t.Errorf("%d reports were ordered", len(reports))
	}
}

// A report that a subscription covers since does not make a row skipped that has bought its agent.
func TestCoveredAfterTheAgentWasBought(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("b", of(reportAndAgent(0), func(o *filing.Order) { o.AnnualReport.FilingYear = "2027" }))
	f.run("b", onFirst(func(send func(filing.Order) filing.Answer, o filing.Order) filing.Answer {
		o.AnnualReport = nil
		return send(o)
	}))
	r := f.rows("b")[0]
	f.must(f.PauseBatch(t.Context(), "b"))
	f.must(f.Resolutions().MarkNotPlaced(t.Context(), r.ID, r.LastAttempt, "not on the dashboard"))
	f.place("a", report(0))
	f.must(f.ResumeBatch(t.Context(), "b"))
	f.finish("b")
	f.wantRow("b", filing.Placed, "covered", filing.RegisteredAgent)
}

// After a restore the first request is assumed to be sent, at its own cost, and the rest is ordered
// once a person has decided.
func TestAssumedSentInPart(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", of(report(0), orderEIN))
	f.run("a", after(1, func() { f.must(f.PauseBatch(f.Context(), "a")) }))
	f.add("b", of(report(1), orderEIN))
	f.must(f.PauseBatch(f.Context(), "b"))
	for batch, want := range map[string]money.Cents{"a": priceEIN, "b": 0} {
		b, err := f.Batch(t.Context(), batch)
		f.must(err)
		r := f.rows(batch)[0]
		_, err = f.Resolutions().AssumeSent(t.Context(),
			[]ledger.Intent{jobs.IntentFor(r, b, "user_1", r.Request.Company.Ref)}, time.Now(), "assumed")
		f.must(err)
		if r = f.rows(batch)[0]; want != 0 && r.Reserved != want {
			t.Errorf("%s is reserved, want %s", r.Reserved, want)
		}
		f.must(f.Resolutions().MarkPlaced(t.Context(), r.ID, r.LastAttempt, []string{"order_" + batch}, "seen"))
	}
	f.must(f.ResumeBatch(t.Context(), "b"))
	f.run("b")
	if eins := f.ordered(filing.EIN); len(eins) != 1 {
		t.Errorf("EINs of %v", eins)
	}
}

// What another batch has bought of the rest is neither quoted nor asked for, and is said.
func TestTheRestWasBoughtBeforeTheQuote(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.place("a", existing(0, filing.EIN, orderEIN))
	_, err := f.CreateBatch(t.Context(), ledger.Batch{ID: "b", File: "b.csv", Product: filing.AnnualReport})
	f.must(err)
	f.must(f.AddRows(t.Context(), "b", []ledger.Row{
		{Number: 2, Cells: []byte(`["x"]`), Result: filing.Ready, Request: of(report(0), orderEIN)},
	}))
	f.compare("b", false)
	_, err = pricing.QuoteBatch(t.Context(), f.Ledger, f.quoter(), "b")
	f.must(err)
	f.must(f.OpenBatch(t.Context(), "b"))
	f.finish("b")
	f.wantRow("b", filing.Placed, "the EIN was bought before (row 2 of batch a)", filing.AnnualReport)
}

// A canceled row says what was placed for it.
func TestCanceledHalf(t *testing.T) {
	f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
	f.add("a", of(report(0), orderEIN))
	f.run("a", after(1, func() { f.must(f.PauseBatch(f.Context(), "a")) }))
	_, err := f.CancelBatch(t.Context(), "a")
	f.must(err)
	f.wantRow("a", filing.Canceled, "canceled: nothing more is sent; to order the rest, enter it in a new "+
		"spreadsheet; placed: the annual report", filing.AnnualReport)
}
