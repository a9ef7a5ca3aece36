package web

import (
	"net/http"
	"slices"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// route is a page or a form. The table of routes decides which roles may request it. Tests derive
// the unauthorized requests from it.
type route struct {
	pattern string
	// may are the roles, any of which is sufficient. See the sets below.
	may   []ledger.Role
	serve func(*Site, *request) error
	// upload reports whether the body has a file, which the handler reads.
	upload bool
	// json reports whether requests, answers and errors are JSON.
	json bool
}

// These are the sets of roles. Accounts without a role reach only their own settings.
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

// ofBatch, ofUpload, ofSchedule and ofAccount make a handler for the batch, the upload, the
// schedule or the account that the path names.
var (
	ofBatch    = of((*Site).findBatch)
	ofUpload   = of((*Site).findUpload)
	ofSchedule = of((*Site).findSchedule)
	ofAccount  = of((*Site).findAccount)
	// ofUnchanged is ofUpload for a form. The form fails if the upload has changed since it was
	// shown.
	ofUnchanged = of((*Site).findUnchanged)
)

// ofReader makes a handler for the reader's own account.
func ofReader(serve func(*Site, *request, ledger.Account) error) func(*Site, *request) error {
	return func(s *Site, v *request) error { return serve(s, v, v.session.Account) }
}

// of returns a function that makes a handler for the object that find returns.
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

// mux returns the handler of all routes.
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
