package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// service is the sandbox, an independent reading of the same document.
type service struct {
	*sandbox.Service
	url string
}

func newService(t *testing.T, formed string) service {
	t.Helper()
	s := sandbox.New(sandbox.Config{OpeningBalance: 1_000_000_00, AutoSeed: true, AutoFormationState: formed})
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return service{s, server.URL + "/v1"}
}

func (s service) post(t *testing.T, path string, body any) (status int, answer []byte) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("x-api-key", "sk_test_1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// order places a request as the program would: user and company by their ids,
// a new company created first.
func (s service) order(t *testing.T, r *filing.Request) (status int, answer []byte) {
	t.Helper()
	o := r.Order
	if o.UserID = r.User.ID; o.UserID == "" {
		o.UserID = s.AddUser(sandbox.User{}).ID
	}
	switch {
	case r.CreatesCompany():
		status, answer := s.post(t, "/companies", r.Company.Sheet.ForUser(o.UserID))
		var created filing.Company
		if err := json.Unmarshal(answer, &created); err != nil || status >= 300 {
			return status, answer
		}
		o.CompanyID = created.ID
	case o.Formation == nil:
		o.CompanyID = r.Company.Ref
	}
	return s.post(t, "/orders", o)
}

// accepted places every row and expects that nothing is refused but for what
// no endpoint shows.
func (s service) accepted(t *testing.T, im *Import) (orders int) {
	t.Helper()
	if err := im.Each(context.Background(), func(r *Row) error {
		if r.Request == nil {
			t.Errorf("row %d is %s: %s", r.Number, r.Result, r.Message)
			return nil
		}
		if status, answer := s.order(t, r.Request); status != http.StatusCreated {
			t.Errorf("row %d: %d %s", r.Number, status, answer)
		}
		orders++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Violations() {
		if !v.Hidden {
			t.Errorf("%+v", v)
		}
	}
	return orders
}

// The two readings of the service's document agree on every row of the samples.
func TestSamplesAreAccepted(t *testing.T) {
	for _, name := range []string{"formations-2026.xlsx", "eins.csv", "foreign-qualifications.xlsx",
		"registered-agents.csv"} {
		t.Run(name, func(t *testing.T) {
			im := opened(t, filepath.Join(root, "samples", name), Options{})
			if newService(t, "DE").accepted(t, im) == 0 {
				t.Error("no orders")
			}
		})
	}
}

// They agree on the combinations of one row, too: each product that a row can
// order with each other.
func TestCombinationsAreAccepted(t *testing.T) {
	yesNo := map[bool]string{true: yes, false: no}
	var rows []cells
	for set := 1; set < 1<<4; set++ {
		for change := range 2 {
			for agent := range 2 {
				orders := set&8 != 0
				if !orders && change == 1 || orders && agent == 1 {
					continue
				}
				row := anEINOrder.with(cells{
					companyID:          fmt.Sprintf("comp_%d", len(rows)+1),
					filingYear:         "2026",
					orderAnnualReport:  yesNo[set&1 != 0],
					orderQualification: yesNo[set&2 != 0],
					orderEIN:           yesNo[set&4 != 0],
					orderAgent:         yesNo[orders],
					changeOfAgent:      []string{"", yes}[change],
				})
				if agent == 1 {
					row = row.with(aSupplier)
				}
				rows = append(rows, row)
			}
		}
	}
	text, _ := csvOf(rows...)
	im := opened(t, saved(t, "in.csv", text), Options{})
	if got := newService(t, "NY").accepted(t, im); got != len(rows) {
		t.Errorf("%d orders of %d rows", got, len(rows))
	}
}
