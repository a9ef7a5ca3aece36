package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// named is a row of a company with a name and a client.
func named(number int, company, name, client string) ledger.Row {
	r := filed(number, company)
	r.Cells = fmt.Appendf(nil, "[%q, %q, %q]", company, name, client)
	return r
}

// addNamed adds a batch whose columns are the company's ID, its name and the
// client.
func (s *suite) addNamed(l *ledger.Ledger, id string, open bool, rows ...ledger.Row) {
	s.Helper()
	_, err := l.CreateBatch(s.Context(), ledger.Batch{
		ID:      id,
		File:    id + ".csv",
		Product: filing.AnnualReport,
		Columns: []string{"Company ID", "Legal Name", "Client"},
		Fields:  []string{"companyId", "company.legalName", "client"},
	})
	s.must(err)
	s.must(l.AddRows(s.Context(), id, rows))
	if open {
		s.must(l.OpenBatch(s.Context(), id))
	}
}

// A company is found by the beginnings of words of its name, in any order and
// spelling, and by its id; and so are its rows and its client's batches. Rows of a
// batch that is not submitted are not found.
func TestSearchCompanies(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.addNamed(l, "one", true, named(2, "comp_1", "O'Neill & Sons, L.L.C.", "Harbor Light"),
			named(3, "comp_2", "Café Élan Inc", "Acme"), named(4, "comp_30", "Old Mill LLC", ""))
		s.addNamed(l, "two", true, named(2, "comp_1", "O'Neill & Sons, L.L.C.", "Harbor  light"))
		wrong := named(3, "comp_8", "Wrong Year LLC", "")
		wrong.Result, wrong.Request = filing.Invalid, nil
		s.addNamed(l, "three", true, wrong)
		s.addNamed(l, "draft", false, named(2, "comp_9", "Secret Draft LLC", ""))
		s.searchCompanies(l)
		rows, err := l.Companies().RowsOf(ctx, "comp_1", 10)
		if s.must(err); len(rows) != 2 || rows[0].Batch != "two" || rows[1].Batch != "one" {
			s.Errorf("%d rows of the company", len(rows))
		}
		if c, err := l.Companies().Company(ctx, "comp_1"); err != nil || c.Name != "O'Neill & Sons, L.L.C." ||
			c.Client != "Harbor  light" {
			s.Errorf("%+v, %v", c, err)
		}
		s.wantErr(second(l.Companies().Company(ctx, "comp_9")), ledger.ErrNotFound)
		of, err := l.Companies().BatchesOfClient(ctx, "HARBOR LIGHT")
		if s.must(err); len(of) != 2 || !of["one"] || !of["two"] {
			s.Errorf("batches of the client: %v", of)
		}
		clients, err := l.Companies().Clients(ctx, "light", 10)
		if s.must(err); !slices.Equal(clients, []string{"Harbor Light"}) {
			s.Errorf("clients: %q", clients)
		}
		all := s.listCompanies(l)
		if !slices.Equal(all, []string{"comp_2", "comp_30", "comp_1", "comp_8"}) {
			s.Errorf("listed %q", all)
		}
	})
}

// searchCompanies searches by words and ids.
func (s *suite) searchCompanies(l *ledger.Ledger) {
	s.Helper()
	for words, want := range map[string]string{
		"oneill": "comp_1", "SONS oneil": "comp_1", "café": "comp_2", "CAFÉ el": "comp_2", "mill old": "comp_30",
		"comp_3": "comp_30", "comp_": "comp_2 comp_30 comp_1 comp_8", "wrong": "comp_8", "llc mill": "comp_30",
		"draft": "", "eill": "",
		"": "", "old sons": "",
	} {
		found, err := l.Companies().Search(s.Context(), words, 10)
		s.must(err)
		var got []string
		for _, c := range found {
			got = append(got, c.Key)
		}
		if strings.Join(got, " ") != want {
			s.Errorf("%q: %v, want %q", words, got, want)
		}
	}
}

// listCompanies lists the keys of all companies, two a page.
func (s *suite) listCompanies(l *ledger.Ledger) (all []string) {
	s.Helper()
	for after := ""; ; {
		page, err := l.Companies().List(s.Context(), after, 2)
		s.must(err)
		if len(page) == 0 {
			return all
		}
		for _, c := range page {
			all = append(all, c.Key)
		}
		after = page[len(page)-1].Key
	}
}

// A correction is found in its own batch, and the row that it corrects is not found.
func TestSearchFollowsCorrections(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.add(l, "whole", filed(2, "comp_2"), fix(3, 0, "comp_x", filing.Invalid))
		_, err := l.CreateBatch(ctx, ledger.Batch{ID: "fixed", Product: filing.AnnualReport, Corrects: "whole"})
		s.must(err)
		s.must(l.AddRows(ctx, "fixed", []ledger.Row{fix(2, 3, "comp_3", filing.Ready)}))
		s.must(l.OpenBatch(ctx, "fixed"))
		rows, err := l.Companies().RowsOf(ctx, "comp_3", 10)
		if s.must(err); len(rows) != 1 || rows[0].Batch != "fixed" || rows[0].Number != 2 {
			s.Errorf("%+v", rows)
		}
		if rows, err := l.Companies().RowsOf(ctx, "comp_x", 10); err != nil || len(rows) > 0 {
			s.Errorf("%+v, %v", rows, err)
		}
	})
}

// What needs action is counted by batch, and what is done is left out.
func TestListAttention(t *testing.T) {
	onLedger(t, func(s *suite, ctx context.Context, l *ledger.Ledger) {
		s.add(l, "wrong", filed(2, "comp_2"), fix(3, 0, "comp_x", filing.Invalid), fix(4, 0, "comp_y", filing.Invalid),
			fix(5, 0, "comp_z", filing.Skipped))
		s.add(l, "right", filed(2, "comp_7"))
		got, err := l.Attention().CountByBatch(ctx)
		if s.must(err); len(got) != 1 || got["wrong"] != (ledger.BatchAttention{Correct: 2}) {
			s.Errorf("%+v", got)
		}
	})
}
