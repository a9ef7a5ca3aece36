package web

import (
	"net/http"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// route is a page, or what a form of it does. The table of them decides who may
// ask for what; the tests that ask without a right are made from it.
type route struct {
	pattern string
	may     []ledger.Role // any of them; see the sets below
	serve   func(*Site, *request) error
	upload  bool // the body holds a file, which its handler reads
	json    bool // requests and answers are JSON, errors too
}

// Who may do what. Accounts without a role reach only their own settings.
var (
	anyone   []ledger.Role     // signed in or not
	self     = []ledger.Role{} // everyone signed in, with a role or without: sessions, security
	viewer   = ledger.Roles    // read everything but the audit log
	exporter = ledger.Roles    // download
	auditor  = []ledger.Role{ledger.Auditor, ledger.Operator}
	preparer = []ledger.Role{ledger.Preparer}
	approver = []ledger.Role{ledger.Approver}
	operator = []ledger.Role{ledger.Operator}
	hands    = []ledger.Role{ledger.Preparer, ledger.Operator} // pause and resume
)

// ofBatch, ofUpload, ofSchedule and ofAccount serve a route about the batch, the upload, the
// schedule or the account that its path names.
var (
	ofBatch    = of((*Site).findBatch)
	ofUpload   = of((*Site).findUpload)
	ofSchedule = of((*Site).findSchedule)
	ofAccount  = of((*Site).findAccount)
	// ofUnchanged is ofUpload for a form, which changes the version that it was made from.
	ofUnchanged = of((*Site).findUnchanged)
)

// ofReader is ofAccount for the reader's own account.
func ofReader(serve func(*Site, *request, ledger.Account) error) func(*Site, *request) error {
	return func(s *Site, v *request) error { return serve(s, v, v.session.Account) }
}

// of returns a function that makes handlers of what find finds.
func of[T any](find func(*Site, *request) (T, error)) func(func(*Site, *request, T) error) func(*Site, *request) error {
	return func(serve func(*Site, *request, T) error) func(*Site, *request) error {
		return func(s *Site, v *request) error {
			found, err := find(s, v)
			if err != nil {
				return err
			}
			return serve(s, v, found)
		}
	}
}

var routes = slices.Concat(signInRoutes, securityRoutes, homeRoutes, sheetRoutes, gridRoutes, scheduleRoutes,
	scheduleFormRoutes, settingsRoutes, accountRoutes, balanceRoutes, batchRoutes, approvalRoutes, rowRoutes,
	downloadRoutes, uncertainRoutes, companyRoutes, chargeRoutes)

// mux serves the table.
func (s *Site) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { s.answer(r, w, req) })
	}
	mux.HandleFunc("GET /static/{name...}", serveStatic)
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		s.answer(route{serve: func(*Site, *request) error { return errNoPage }}, w, req)
	})
	return mux
}
