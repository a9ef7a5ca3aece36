package ledger

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// database is one database and this process's membership in it. The types over it share its
// connections, its write lock, its clock and its keys.
type database struct {
	*store.DB
	lease           time.Duration
	restoreDetector restoreDetector

	repeatAgents bool
	tolerance    money.Cents
	// editLimit is the maximum size of the edits of a sheet, in bytes.
	editLimit int

	// certainty is the certainty of the balance.
	certainty derived[money.Certainty]

	transitions chan *transition
	stop        chan struct{}
	// committed is closed after the last group.
	committed chan struct{}
	stopped   sync.WaitGroup
	closing   sync.Once

	log *audit.Log

	owner Process
	// renewing guards the state of the process and whether it places orders.
	renewing sync.Mutex
	// leasedUntil is the end of the lease as the machine's uptime, in nanoseconds.
	leasedUntil atomic.Int64
	out         out
}

// The types over one database.
type (
	// Approvals manages the approvals of batches and their cost, and the policy for who may
	// approve.
	Approvals struct{ *database }
	// Companies stores the companies and users that the filing service has on record, by the
	// references that rows use.
	Companies struct{ *database }
	// Documents lists the documents of placed orders.
	Documents struct{ *database }
	// Entries lists the postings of the recorded balance.
	Entries struct{ *database }
	// Events stores and applies the reports of the filing service about orders.
	Events struct{ *database }
	// Fleet manages the processes over one database and the halts of all of them.
	Fleet struct{ *database }
	// Organizations stores the organizations to which the API keys of the ledger's orders belong.
	Organizations struct{ *database }
	// Resolutions records the decisions of people on the outcome of attempts.
	Resolutions struct {
		*database
		// of is the row that the decisions are for. The zero value stands for any row.
		of BatchRow
	}
	// Subscriptions manages the subscriptions that orders open. Each renews a filing every year.
	Subscriptions struct{ *database }
	// Uploads stores the spreadsheets that wait to be placed, and the column mappings.
	Uploads struct{ *database }
)

// Accounts returns the Accounts of the ledger's database.
func (l *Ledger) Accounts() *account.Accounts { return account.New(l.DB, l.log) }

// Approvals returns the Approvals of the ledger's database.
func (l *Ledger) Approvals() Approvals { return Approvals{l.database} }

// AuditLog returns the AuditLog of the ledger's database.
func (l *Ledger) AuditLog() *audit.Log { return l.log }

// Companies returns the Companies of the ledger's database.
func (l *Ledger) Companies() Companies { return Companies{l.database} }

// Documents returns the Documents of the ledger's database.
func (l *Ledger) Documents() Documents { return Documents{l.database} }

// Entries returns the Entries of the ledger's database.
func (l *Ledger) Entries() Entries { return Entries{l.database} }

// Events returns the Events of the ledger's database.
func (l *Ledger) Events() Events { return Events{l.database} }

// Fleet returns the Fleet of the ledger's database.
func (l *Ledger) Fleet() Fleet { return Fleet{l.database} }

// Notifications returns the Outbox of the ledger's database.
func (l *Ledger) Notifications() *outbox.Outbox { return outbox.New(l.DB) }

// Organizations returns the Organizations of the ledger's database.
func (l *Ledger) Organizations() Organizations { return Organizations{l.database} }

// Resolutions returns the Resolutions of the ledger's database.
func (l *Ledger) Resolutions() Resolutions { return Resolutions{database: l.database} }

// Subscriptions returns the Subscriptions of the ledger's database.
func (l *Ledger) Subscriptions() Subscriptions { return Subscriptions{l.database} }

// Uploads returns the Uploads of the ledger's database.
func (l *Ledger) Uploads() Uploads { return Uploads{l.database} }
