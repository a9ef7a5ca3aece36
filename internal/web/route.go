package web

import (
	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// route is a page or a form. The table of routes decides which roles may request it. Tests derive
// the unauthorized requests from it.
type route struct {
	pattern string
	// may are the roles, any of which is sufficient. See the sets below.
	may   []account.Role
	serve func(*request) error
	// fresh reports whether the reader must have signed in less than freshLife ago.
	fresh bool
	// upload reports whether the body has a file, which the handler reads.
	upload bool
	// json reports whether requests, answers and errors are JSON.
	json bool
}

// These are the sets of roles. Accounts without a role reach only their own settings.
var (
	anyone   []account.Role     // signed in or not
	self     = []account.Role{} // everyone signed in, with a role or without: security
	viewer   = account.Roles    // read everything but the audit log
	exporter = account.Roles    // download
	auditor  = []account.Role{account.Auditor, account.Operator}
	preparer = []account.Role{account.Preparer}
	approver = []account.Role{account.Approver}
	operator = []account.Role{account.Operator}
	hands    = []account.Role{account.Preparer, account.Operator} // pause and resume
)

// of makes a handler for the object that find returns.
func of[T any](find func(*request) (T, error), serve func(*request, T) error) func(*request) error {
	return func(v *request) error {
		found, err := find(v)
		if err != nil {
			return err
		}
		return serve(v, found)
	}
}

// ofBatch makes a handler for the batch that the path names.
func ofBatch(serve func(*request, ledger.Batch) error) func(*request) error {
	return of((*request).findBatch, serve)
}

// ofAccount makes a handler for the account that the path names.
func ofAccount(serve func(*request, account.Account) error) func(*request) error {
	return of((*request).findAccount, serve)
}
