package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

// Setup lets the page set up the filing service. Check tests a filing service. Save stores it and
// restarts the server. It returns the address of the page to open then.
type Setup struct {
	// Address is the address that the environment sets. It takes precedence. If it is empty, the
	// page asks for the address.
	Address string
	// Service is the address in use. Empty if none is set up.
	Service string
	// File is the path of the file that stores the settings.
	File string

	Check func(ctx context.Context, s FilingService) (FilingAccount, error)
	Save  func(ctx context.Context, by string, s FilingService) (next string, err error)
}

// FilingService is the address of a filing service and the key for it.
type FilingService struct{ Address, Key string }

// Live reports whether the key buys real filings.
func (s FilingService) Live() bool { return strings.HasPrefix(s.Key, "sk_live_") }

// FilingAccount is the account that an API key belongs to.
type FilingAccount struct {
	// Organization is empty if unknown.
	Organization string
	Live         bool
}

// setupView is the page for setting up the filing service.
type setupView struct {
	*Setup
	// Given is the address as entered.
	Given   string
	Problem string
}

var errNoSetup = &httpError{http.StatusConflict, "The environment sets up the filing service",
	"Nothing was changed. Set FILING_BASE_URL and FILING_API_KEY where importer serve starts, then start it again."}

func (h *settingsHandler) setupPage(v *request) error {
	if h.setup == nil {
		return errNoSetup
	}
	return v.show(nil, "setup.html", "Set up", setupView{Setup: h.setup, Given: h.setup.Service})
}

// setService checks the key at the filing service, then saves the address and the key. A live key
// requires a confirmation, because its orders cost real money.
func (h *settingsHandler) setService(v *request) error {
	if h.setup == nil {
		return errNoSetup
	}
	form := v.r.PostForm
	given := FilingService{
		Address: filingapi.CompleteAddress(form.Get("address")),
		Key:     strings.TrimSpace(form.Get("key")),
	}
	if h.setup.Address != "" {
		given.Address = h.setup.Address
	}
	account, err := h.setup.Check(v.ctx(), given)
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
		next, err := h.setup.Save(v.ctx(), v.who(), given)
		if err != nil {
			return badRequest("%s", sentence(err.Error()))
		}
		return v.redirect(next)
	}
	return v.showStatus(http.StatusUnprocessableEntity, "setup.html", "Set up",
		setupView{Setup: h.setup, Given: given.Address, Problem: problem})
}

// SetupProblem describes an error of an address or a key, with the next step.
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
