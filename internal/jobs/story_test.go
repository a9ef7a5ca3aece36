package jobs_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// Two batches at once end as they do one after the other, and cost the same.
func TestSideBySide(t *testing.T) {
	of2027 := func() *filing.Request {
		return of(report(0), func(o *filing.Order) { o.AnnualReport = &filing.AnnualReportItem{FilingYear: "2027"} })
	}
	withEIN := func() *filing.Request { return of(formation(0), orderEIN) }
	created := func() *filing.Request { return everything(0)[0] }
	ein := func() *filing.Request { return existing(0, filing.EIN, orderEIN) }
	for name, both := range map[string][2]func() *filing.Request{
		"a report, twice":               {of2027, of2027},
		"a report, and the next year's": {func() *filing.Request { return report(0) }, of2027},
		"an EIN, twice":                 {ein, ein},
		"an EIN, and a report with it":  {ein, func() *filing.Request { return of(report(0), orderEIN) }},
		"a formation, and one with EIN": {func() *filing.Request { return formation(0) }, withEIN},
		"a new company, twice":          {created, created},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var results [2]string
			for i := range results {
				f := newFirm(t, servers{}, sandbox.Config{AutoSeed: true})
				f.add("a", both[0]())
				if i == 0 {
					f.finish("a")
					f.add("b", both[1]())
				} else {
					hold, reached, answer := held()
					w := f.start(hold)
					<-reached
					f.add("b", both[1]())
					f.eventually("the other one waits, or is out", func() bool {
						r := f.rows("b")[0]
						return r.BlockedOn != "" || r.Result == filing.Placing
					})
					close(answer)
					f.await(w, "a", patient)
					f.await(w, "b", patient)
					w.Stop()
				}
				f.finish("b")
				f.agree("a", "b")
				results[i] = fmt.Sprint(f.rows("a")[0].Result, f.rows("b")[0].Result, f.service.Books().Charged)
			}
			if results[0] != results[1] {
				t.Errorf("one after the other %s, side by side %s", results[0], results[1])
			}
		})
	}
}

// Stories with a service that fails, renames companies and decides late: after every step the
// audit finds nothing wrong, and in the end each filing that someone wants is bought once, or
// its row says why not.
func TestStories(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := &story{
				firm: newFirm(t, servers{}, sandbox.Config{Seed: seed}),
				Rand: rand.New(rand.NewPCG(seed, 0)),
			}
			s.timeout = resendAfter
			for i := range s.names {
				s.names[i] = fmt.Sprintf("Plover %d LLC", i)
				s.know(sandbox.Company{ID: fmt.Sprint("comp_", i), LegalName: s.names[i], EntityType: "LLC",
					FormationState: "DE"})
			}
			steps := []func(){s.submit, s.submit, s.fail, s.send, s.send, s.rename, s.confirm, s.resolve}
			for range 14 {
				steps[s.IntN(len(steps))]()
				s.must(s.Audit(t.Context()))
			}
			s.end()
		})
	}
}

type story struct {
	*firm
	*rand.Rand
	names   [4]string // of the companies, as the service has them
	batches []string
}

// request asks for something for a company, by the name that it has, had or never had.
func (s *story) request() *filing.Request {
	i := s.IntN(len(s.names))
	kinds := []*filing.Request{
		report(i), reportAndAgent(i), agentChange(i), existing(i, filing.EIN, orderEIN), of(report(i), orderEIN),
		existing(i, filing.ForeignQualification, qualify, orderAgent), of(formation(i), orderEIN),
	}
	r := kinds[s.IntN(len(kinds))]
	if r.Order.Formation == nil {
		r = called(r, fmt.Sprint("comp_", i), fmt.Sprintf("Plover %d LLC", i))
	}
	return r
}

func (s *story) submit() {
	id := fmt.Sprint("batch", len(s.batches))
	var all []*filing.Request
	for range 1 + s.IntN(3) {
		all = append(all, s.request())
	}
	s.add(id, all...)
	s.compare(id, false)
	s.batches = append(s.batches, id)
}

// fail has the next order go wrong, before it is made or after.
func (s *story) fail() {
	kinds := []sandbox.Kind{sandbox.FaultReset, sandbox.FaultEOF, sandbox.FaultGarbage, sandbox.FaultNoOrderIDs,
		sandbox.FaultStatus}
	s.service.Inject(sandbox.Fault{Kind: kinds[s.IntN(len(kinds))], Status: 502, After: s.IntN(2) == 0, Times: 1,
		Endpoint: []string{"", "", "GET *"}[s.IntN(3)]})
}

// send sends all batches side by side.
func (s *story) send() {
	w := s.start()
	defer w.Stop()
	for _, b := range s.batches {
		s.await(w, b, patient)
	}
}

// rename gives a company another name at the service.
func (s *story) rename() {
	i := s.IntN(len(s.names))
	s.names[i] = fmt.Sprintf("Plover %d Holdings LLC", i)
	s.service.ClearFaults()
	_, err := s.client().UpdateCompany(s.Context(), fmt.Sprint("comp_", i), filing.Company{LegalName: s.names[i]})
	s.must(err)
}

// confirm has a person confirm the names of a batch's companies.
func (s *story) confirm() {
	if len(s.batches) > 0 {
		s.service.ClearFaults()
		batch := s.batches[s.IntN(len(s.batches))]
		s.compare(batch, true)
		s.approveCosts(batch)
	}
}

// resolve tells of uncertain rows what the books say.
func (s *story) resolve() {
	recorded := make(map[string]bool)
	for _, b := range s.batches {
		for _, r := range s.rows(b) {
			for _, i := range r.Items {
				recorded[i.OrderID] = true
			}
		}
	}
	for _, b := range s.batches {
		for _, r := range s.uncertain(b) {
			s.tell(r, recorded)
		}
	}
}

func (s *story) tell(r ledger.Row, recorded map[string]bool) {
	var orders []string
	company := r.Request.Company.Ref
	for _, o := range s.service.Books().Orders {
		if o.CompanyID != cmp.Or(r.CompanyRef(), o.CompanyID) ||
			company == "" && o.CompanyName != r.Request.LegalName() {
			continue
		}
		for _, i := range o.Items {
			product, _ := filing.ProductOfType(i.Product)
			if product == filing.RegisteredAgent && r.Request.Product == filing.AgentChange {
				product = filing.AgentChange
			}
			if slices.Contains(r.Request.Order.Products(), product) && !recorded[i.ID] {
				orders, company = append(orders, i.ID), o.CompanyID
				recorded[i.ID] = true
			}
		}
	}
	decisions := s.Resolutions()
	switch {
	case len(orders) == 0:
		s.must(decisions.MarkNotPlaced(s.Context(), r.ID, r.LastAttempt, "not on the dashboard"))
	case r.Request.Order.Formation != nil && r.Company == "":
		s.must(decisions.MarkFormed(s.Context(), r.ID, r.LastAttempt, orders, company,
			ledger.FormedClaims(&r.Request.Order, company), "on the dashboard"))
	default:
		s.must(decisions.MarkPlaced(s.Context(), r.ID, r.LastAttempt, orders, "on the dashboard"))
	}
}

// end resolves and confirms what is left, and holds the rows against the books.
func (s *story) end() {
	for range 4 {
		s.service.ClearFaults()
		for _, b := range s.batches {
			s.compare(b, true)
			s.approveCosts(b)
		}
		s.send()
		s.resolve()
		s.must(s.Audit(s.Context()))
	}
	bought := make(map[string]int)
	for _, o := range s.soundBooks().Orders {
		for _, i := range o.Items {
			product, _ := filing.ProductOfType(i.Product)
			bought[fmt.Sprint(product, o.CompanyID)]++
			bought[fmt.Sprint(product, o.CompanyName)]++
		}
	}
	for _, b := range s.batches {
		for _, r := range s.rows(b) {
			if r.Message == "" || !slices.Contains([]filing.Result{filing.Placed, filing.Exists, filing.Skipped},
				r.Result) {
				s.Errorf("row %d of %s ends %s: %s", r.Number, b, r.Result, r.Message)
			}
			for _, p := range r.Request.Order.Products() {
				agent := p == filing.RegisteredAgent || p == filing.AgentChange // active everywhere
				if want := fmt.Sprint(p, cmp.Or(r.CompanyRef(), r.Request.LegalName())); !agent &&
					r.Result != filing.Skipped &&
					bought[want] != 1 {
					s.Errorf("row %d of %s is %s, and the service has %d orders of %s: %s", r.Number, b, r.Result,
						bought[want], want, r.Message)
				}
			}
		}
	}
}
