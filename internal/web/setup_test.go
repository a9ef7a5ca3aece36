package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

// newSetup is an assistant that keeps what it is told.
func newSetup(told *[]string) *Setup {
	return &Setup{
		File: "/home/ana/.config/bulkfiling/config.toml",
		Check: func(_ context.Context, s FilingService) (FilingAccount, error) {
			*told = append(*told, "check "+s.Address+" "+s.Key)
			if s.Key == "sk_test_wrong" {
				return FilingAccount{}, filingapi.ErrKeyRefused
			}
			if s.Key == "hello" {
				return FilingAccount{}, errors.New("the API key begins with neither sk_test_ nor sk_live_")
			}
			return FilingAccount{Organization: "Harbor Accounting", Live: s.Live()}, nil
		},
		Save: func(_ context.Context, by string, s FilingService) (string, error) {
			*told = append(*told, "save "+s.Address+" "+s.Key+" "+by)
			return "/settings", nil
		},
	}
}

// The assistant checks the address and the key, saves them, and says whose they are.
func TestSetup(t *testing.T) {
	var told []string
	s := newSite(t, func(c *Config) { c.Setup = newSetup(&told) })
	v := s.as(account.Operator, account.Preparer)
	v.wants(v.page("/"), "Set up Bulkfiling", "Set up later")
	v.wants(v.page("/?later"), "No filing service is set up", "Drop spreadsheets here")

	for key, want := range map[string]string{"sk_test_wrong": "rejects this API key", "hello": "neither sk_test_ nor"} {
		v.wants(v.answers(http.StatusUnprocessableEntity, "/setup", "address", "api.example.com", "key", key), want,
			`value="https://api.example.com/v1"`)
	}
	v.wants(v.posted("/setup", "once", "S1", "address", " https://api.example.com/v1/ ", "key", " sk_test_a "),
		"The filing service is set up for test orders of Harbor Accounting.")

	// A live key is saved by someone who has confirmed what it means. It stands on no page.
	body := v.answers(http.StatusUnprocessableEntity, "/setup", "address", "https://api.example.com/v1", "key",
		"sk_live_b")
	v.lacks(body, "sk_live_b")
	v.wants(body, "Confirm that orders cost real money", "config.toml")
	v.post("/setup", "address", "https://api.example.com/v1", "key", "sk_live_b", "live", "1")
	want := []string{"check https://api.example.com/v1 sk_test_a",
		"save https://api.example.com/v1 sk_test_a " + v.name,
		"check https://api.example.com/v1 sk_live_b", "check https://api.example.com/v1 sk_live_b",
		"save https://api.example.com/v1 sk_live_b " + v.name}
	if got := told[2:]; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if act := s.acts(2, audit.Query{What: "setup"})[0]; act.Of != "https://api.example.com/v1" || act.Note != "live" {
		t.Errorf("%+v", act)
	}
}

// Where there is a service, home does not lead to the assistant.
func TestSetupBesideAService(t *testing.T) {
	for _, setup := range []*Setup{nil, {Service: "https://api.example.com/v1"}} {
		s := newSite(t, func(c *Config) { c.Setup = setup })
		s.lacks(s.as(account.Operator).page("/"), `"/setup`)
	}
}
