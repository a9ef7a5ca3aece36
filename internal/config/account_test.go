package config_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/config"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/ledgertest"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// office is a data folder and a filing service that reports the organization
// in answer.
type office struct {
	*testing.T
	home   string
	answer string // of GET /organization; "" for 404
	status int    // of every answer; 0 for 200
	asked  int
	base   string
}

func newOffice(t *testing.T) *office {
	o := &office{T: t, home: t.TempDir(), answer: harbor}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.asked++
		switch {
		case o.status != 0:
			w.WriteHeader(o.status)
			fmt.Fprint(w, `{"message":"out of order"}`)
		case strings.HasSuffix(r.URL.Path, "/prices"):
			fmt.Fprint(w, `{"prices":[{"type":"annual_report","wholesaleAmount":25}]}`)
		case o.answer == "":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"message":"not found"}`)
		default:
			fmt.Fprint(w, o.answer)
		}
	}))
	t.Cleanup(service.Close)
	o.base = service.URL + "/v1"
	return o
}

const (
	harbor = `{"name":"Harbor Accounting","domain":"harbor.example","subdomain":"harbor",` +
		`"createdAt":"2024-01-01T00:00:00Z"}`
	tern      = `{"name":"Tern Tide","domain":"tern.example","subdomain":"tern","createdAt":"2025-06-01T00:00:00Z"}`
	otherCopy = `{"name":"Harbor Accounting","domain":"harbor.example","subdomain":"harbor",` +
		`"createdAt":"2024-01-01T00:00:09Z"}`
)

// environment reads the variables for a key.
func (o *office) environment(key string, more ...string) config.Environment {
	o.Helper()
	vars := map[string]string{"HOME": o.home, "FILING_BASE_URL": o.base, "FILING_API_KEY": key, "FILING_LIVE": "1"}
	for i := 0; i < len(more); i += 2 {
		vars[more[i]] = more[i+1]
	}
	e, err := read(o.T, vars)
	must(o, err)
	return e
}

// recognize chooses the ledger of a key, as one that is about to send does, and
// opens it, as long as that is what is wanted.
func (o *office) recognize(key, name string) (config.Chosen, error) {
	o.Helper()
	e := o.environment(key)
	e.Ledger = name
	client, err := e.Client()
	must(o, err)
	defer client.Close()
	chosen, err := e.Recognize(o.Context(), client)
	if err != nil {
		return chosen, err
	}
	l, err := e.OpenLedger(o.Context())
	must(o, err)
	_, err = e.PriceSource(l, client)(o.Context())
	return chosen, errors.Join(err, l.Close())
}

func (o *office) wants(key, named, ledger string, isNew bool) {
	o.Helper()
	chosen, err := o.recognize(key, named)
	if err != nil || chosen.Name != ledger || chosen.New != isNew {
		o.Errorf("the key %s has the ledger %q (new: %t), %v; want %q (new: %t)", key, chosen.Name, chosen.New, err,
			ledger, isNew)
	}
}

func (o *office) refused(key, named string, want error, says ...string) {
	o.Helper()
	chosen, err := o.recognize(key, named)
	if !errors.Is(err, want) {
		o.Errorf("the key %s has the ledger %q, %v; want %v", key, chosen.Name, err, want)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			o.Errorf("%q does not say %q", err, text)
		}
	}
}

// Only a whole answer can say that there is no organization: one that was cut, or
// a page of something between, would end a worker as one of another organization.
func TestABrokenAnswerSaysNothingOfTheOrganization(t *testing.T) {
	for name, test := range map[string]struct {
		kind  sandbox.Kind
		whole bool
	}{
		"half of it":         {sandbox.FaultHalfBody, false},
		"not JSON":           {sandbox.FaultGarbage, false},
		"a page of a proxy":  {sandbox.FaultHTML, false},
		"nothing":            {sandbox.FaultEmpty, false},
		"another JSON value": {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, `{"prices":[]}`)
			}))
			defer service.Close()
			base := service.URL + "/v1"
			if test.kind != "" {
				books := sandbox.New(sandbox.Config{})
				books.Inject(sandbox.Fault{Kind: test.kind, After: true, Endpoint: "*"})
				running := httptest.NewServer(books.Handler())
				defer running.Close()
				base = running.URL + "/v1"
			}
			client, err := filingapi.New(filingapi.Config{BaseURL: base, Key: "sk_test_1", Timeout: 5 * time.Second})
			must(t, err)
			defer client.Close()
			o, err := config.FindOrganization(t.Context(), client)
			if o.Known() || (err == nil) != test.whole {
				t.Errorf("the organization is %+v, %v; want an error: %t", o, err, !test.whole)
			}
		})
	}
}

func TestAnOrganizationIsKnownByWhatTheServiceSaysOfIt(t *testing.T) {
	o := newOffice(t)
	const first, second = "harbor-accounting-test", "tern-tide-test"
	o.wants("sk_test_1", "", first, true)
	o.wants("sk_test_1", "", first, false)
	o.wants("sk_test_rotated", "", first, false)
	other := newOffice(t) // another route to the same service
	other.home = o.home
	other.wants("sk_test_1", "", first, false)

	// A renamed organization is the same, live orders are other ones, and so is
	// another organization, also with the same name.
	o.answer = strings.ReplaceAll(harbor, "harbor.example", "pier.example")
	o.wants("sk_test_1", "", first, false)
	o.answer = harbor
	o.wants("sk_live_1", "", "harbor-accounting-live", true)
	o.answer = tern
	o.wants("sk_test_tern", "", second, true)
	o.answer = otherCopy
	o.wants("sk_test_other", "", "harbor-accounting-test-2", true)
	o.answer = harbor
	o.wants("sk_test_1", "", first, false)

	for _, path := range []string{first, second} {
		content, err := os.ReadFile(filepath.Join(o.home, ".local/share/bulkfiling/accounts", path, "account.json"))
		if err != nil || strings.Contains(string(content), "sk_test") {
			t.Errorf("%s: %v\n%s", path, err, content)
		}
	}
}

func TestAPersonDecidesWhereTheServiceDoesNotSay(t *testing.T) {
	o := newOffice(t)
	o.answer = ""
	o.refused("sk_test_1", "", config.ErrUndecided, "does not report the organization", "--ledger NAME")
	o.answer = `{"name":"Harbor Accounting"}`
	o.refused("sk_test_1", "", config.ErrUndecided, "does not report the organization")
	o.wants("sk_test_1", "mine", "mine", true)
	o.wants("sk_test_1", "", "mine", false) // it was decided
	o.refused("sk_test_2", "", config.ErrUndecided, "mine")
	o.refused("sk_live_1", "mine", ledger.ErrMode)
	o.refused("sk_test_2", "../mine", config.ErrUndecided, "lowercase letters")
}

func TestAPersonDecidesWhereTheServiceSaysSomethingNewForAKey(t *testing.T) {
	o := newOffice(t)
	const first = "harbor-accounting-test"
	o.wants("sk_test_1", "", first, true)
	o.answer = otherCopy
	o.refused("sk_test_1", "", config.ErrUndecided, first, "--ledger harbor-accounting-test-2")
	o.refused("sk_test_new", first, ledger.ErrOrganization)
	o.wants("sk_test_1", "copy", "copy", true)
	o.wants("sk_test_1", "", "copy", false)
	o.answer = harbor
	o.wants("sk_test_1", "", first, false)
	o.refused("sk_test_1", "copy", config.ErrUndecided, "is "+first) // one organization, one ledger

	// It may be the same organization after all.
	o.answer = tern
	o.wants("sk_test_1", first, first, false)
	o.wants("sk_test_1", "", first, false)
	o.wants("sk_test_rotated", "", first, false)
}

// What was kept before anybody said whose it is goes to the first organization
// that is recognized.
func TestAnUnassignedLedgerIsTakenByTheFirstOrganization(t *testing.T) {
	o := newOffice(t)
	o.open()
	o.wants("sk_test_1", "", "default", false)
	o.answer = tern
	o.wants("sk_test_tern", "", "tern-tide-test", true)
}

func TestUseExisting(t *testing.T) {
	o := newOffice(t)
	o.wants("sk_test_1", "", "harbor-accounting-test", true)
	o.answer = tern
	o.wants("sk_test_tern", "", "tern-tide-test", true)
	for _, c := range []struct {
		key, named, want string
	}{
		{"", "", "tern-tide-test"}, // the last used
		{"sk_test_1", "", "harbor-accounting-test"},
		{"sk_test_1", "tern-tide-test", "tern-tide-test"},
		{"sk_test_unseen", "", "tern-tide-test"},
	} {
		e := o.environment(c.key)
		e.Ledger = c.named
		chosen, err := e.UseExisting()
		if err != nil || chosen.Name != c.want || !chosen.Several {
			t.Errorf("%+v: %+v, %v", c, chosen, err)
		}
	}
}

// A ledger without its owner could be anyone's: no new one is begun beside it.
func TestALedgerWithoutItsOwnerIsNotPassedOver(t *testing.T) {
	o := newOffice(t)
	o.wants("sk_test_1", "", "harbor-accounting-test", true)
	folder := filepath.Join(o.home, ".local/share/bulkfiling/accounts/harbor-accounting-test")
	must(t, errors.Join(os.WriteFile(filepath.Join(folder, "ledger.db"), nil, 0o600),
		os.Remove(filepath.Join(folder, "account.json"))))
	e := o.environment("sk_test_1")
	if _, err := e.UseExisting(); err == nil || !strings.Contains(err.Error(), "account.json") {
		t.Error(err)
	}
}

// A ledger that is open when the key's organization shows to be another one is
// not sent from.
func TestNothingIsSentFromTheLedgerOfAnother(t *testing.T) {
	o := newOffice(t)
	o.wants("sk_test_1", "", "harbor-accounting-test", true)
	o.answer = tern
	e := o.environment("sk_test_tern")
	e.Ledger = "harbor-accounting-test"
	if _, err := e.UseExisting(); err != nil {
		t.Fatal(err)
	}
	e.Ledger = ""
	l, err := e.OpenLedger(t.Context())
	must(t, err)
	defer l.Close()
	client, err := e.Client()
	must(t, err)
	defer client.Close()
	if _, err := e.PriceSource(l, client)(t.Context()); !errors.Is(err, ledger.ErrOrganization) {
		t.Error(err)
	}
	all, err := l.Organizations().List(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "Harbor Accounting" {
		t.Errorf("%v, %v", all, err)
	}
}

func TestWithoutAHomeTheDataFolderHasToBeNamed(t *testing.T) {
	e, err := read(t, nil)
	must(t, err)
	if _, err := e.UseExisting(); err == nil || !strings.Contains(err.Error(), "FILING_DATA_DIR") {
		t.Errorf("without a home: %v", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The policy for approvals applies to every ledger that a program opens.
func TestOpenLedger_AsksForApprovals(t *testing.T) {
	o := newOffice(t)
	o.wants("sk_test_1", "", "harbor-accounting-test", true)
	e := o.environment("sk_test_1")
	e.Ledger = "harbor-accounting-test"
	_, err := e.UseExisting()
	must(t, err)
	l, err := e.OpenLedger(t.Context())
	must(t, err)
	defer l.Close()
	must(t, approval.New(l).ChangePolicy(t.Context(), approval.Policy{Second: true}))
	ledgertest.Submit(t, l, ledger.Batch{ID: "a"},
		ledger.Row{Number: 2, Result: filing.Ready, Request: &filing.Request{}})
	b, err := l.Batch(t.Context(), "a")
	must(t, err)
	if b.Approval.State != ledger.ApprovalNeeded || !b.Approval.Second {
		t.Errorf("the batch is open without an approval: %+v", b.Approval)
	}
}
