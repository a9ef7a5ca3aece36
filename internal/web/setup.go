package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

var setupRoutes = []route{
	{pattern: "GET /setup", may: operator, serve: (*Site).setupPage},
	{pattern: "POST /setup", may: operator, serve: (*Site).setService},
}

// Setup sets up the filing service from the page. The functions that change it
// restart the server with the change; next is the page to open then.
type Setup struct {
	Address string // the environment's, which wins; "" where the page asks for it
	Service string // the address in use; "" for none
	File    string // where the settings are stored

	Check func(ctx context.Context, s FilingService) (FilingAccount, error)
	Save  func(ctx context.Context, by string, s FilingService) (next string, err error)
}

// FilingService is the address of a filing service and the key for it.
type FilingService struct{ Address, Key string }

// Live reports whether the key buys real filings.
func (s FilingService) Live() bool { return strings.HasPrefix(s.Key, "sk_live_") }

// FilingAccount is what the filing service says of a key.
type FilingAccount struct {
	Organization string // "" if it does not say
	Live         bool
}

// setupView is the page of the assistant.
type setupView struct {
	*Setup
	Given   string // the address as it was entered
	Problem string
}

var errNoSetup = &httpError{http.StatusConflict, "The environment sets up the filing service",
	"Nothing was changed. Set FILING_BASE_URL and FILING_API_KEY where importer serve starts, then start it again."}

func (s *Site) setupPage(v *request) error {
	if s.Setup == nil {
		return errNoSetup
	}
	return v.show("setup.html", "Set up", setupView{Setup: s.Setup, Given: s.Setup.Service})
}

// setService asks the filing service whose the key is, and saves the address and the key.
// Someone confirms what a live key means.
func (s *Site) setService(v *request) error {
	if s.Setup == nil {
		return errNoSetup
	}
	form := v.r.PostForm
	given := FilingService{
		Address: filingapi.CompleteAddress(form.Get("address")),
		Key:     strings.TrimSpace(form.Get("key")),
	}
	if s.Setup.Address != "" {
		given.Address = s.Setup.Address
	}
	account, err := s.Setup.Check(v.ctx(), given)
	problem, note := "", "test"
	if given.Live() {
		note = "live"
	}
	switch {
	case err != nil:
		problem = SetupProblem(err)
	case given.Live() && form.Get("live") == "":
		problem = "This is a live key. Confirm that orders cost real money, and enter the key again."
	default:
		v.flash("ok", "The filing service is set up for %s orders of %s.", note,
			cmp.Or(account.Organization, "your organization"))
		if err := v.record(v.once, "setup", given.Address, note); err != nil {
			return err
		}
		next, err := s.Setup.Save(v.ctx(), v.who(), given)
		if err != nil {
			return badRequest("%s", sentence(err.Error()))
		}
		return v.redirect(next)
	}
	return v.showStatus(http.StatusUnprocessableEntity, "setup.html", "Set up",
		setupView{Setup: s.Setup, Given: given.Address, Problem: problem})
}

// SetupProblem says what is wrong with an address or a key.
func SetupProblem(err error) string {
	switch _, unanswered := errors.AsType[*filingapi.Error](err); {
	case errors.Is(err, filingapi.ErrKeyRefused):
		return "The filing service rejects this API key. Copy the whole key again, or ask for a new one."
	case errors.Is(err, context.DeadlineExceeded):
		return "The filing service does not answer. Check the address and your connection, then try again."
	case unanswered:
		return "The filing service could not check the key: " + err.Error() + ". Check the address, then try again."
	}
	return sentence(err.Error())
}

// asksForSetup reports whether home leads to the assistant: there is no filing
// service yet, and nothing else to see.
func (s *Site) asksForSetup(v *request, uploads, batches int) bool {
	return s.Setup != nil && s.Setup.Service == "" && v.may(ledger.Operator) && uploads == 0 && batches == 0 &&
		!v.r.URL.Query().Has("later")
}

// asksForService reports whether a page says that there is no filing service.
func (v *request) asksForService() bool {
	setup := v.site.Setup
	return setup != nil && setup.Service == "" && v.may(ledger.Operator) && v.r.URL.Path != "/setup"
}
