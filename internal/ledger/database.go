package ledger

import (
	"database/sql"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// database is one database and this process's membership in it. The types over it
// share its connections, its write lock, its clock and its keys.
type database struct {
	dir             string
	dialect         dialect
	write           *sql.DB // one connection for SQLite, so that writers queue instead of colliding
	read            *sql.DB
	writeLock       *writeLock // of the processes over one SQLite file; nil for PostgreSQL
	clock           *clock
	now             func() time.Time // the database's time
	lease           time.Duration
	timeout         time.Duration
	schema          int64 // the highest migration that this program knows
	restoreDetector restoreDetector

	following sync.Mutex
	file      os.FileInfo // the SQLite file at the ledger's path
	reopening bool        // connections may have another file open

	// committedTo is the SQLite file of the last change that this process made or
	// found when it started. The write lock guards it.
	committedTo os.FileInfo

	repeatAgents bool
	tolerance    money.Cents
	editLimit    int // bytes of the edits of a sheet

	certainty derived[money.Certainty] // of the balance

	statements  statements
	transitions chan *transition
	stop        chan struct{}
	committed   chan struct{} // closed after the last group
	stopped     sync.WaitGroup
	closing     sync.Once

	sealing sealing

	onAct atomic.Pointer[func(AuditEvent)]

	owner       Process
	ownerLock   *flock.Flock
	renewing    sync.Mutex   // guards what the process is and whether it places
	leasedUntil atomic.Int64 // by the machine's uptime, in nanoseconds
	out         out
}

// The types over one database.
type (
	// Accounts are who may sign in to the page, and how: sessions, sign-in links,
	// passkeys, and identities at a provider.
	Accounts struct{ *database }
	// Approvals are who approves a batch and its cost, and the policy that says who may.
	Approvals struct{ *database }
	// AuditLog is what people did.
	AuditLog struct{ *database }
	// Companies are the companies and users that the filing service has on record,
	// by the references that rows use.
	Companies struct{ *database }
	// Documents are the documents of placed orders.
	Documents struct{ *database }
	// Endpoints are where the filing service's events arrive.
	Endpoints struct{ *database }
	// Entries are the postings of the recorded balance.
	Entries struct{ *database }
	// Events are the reports of the filing service about orders.
	Events struct{ *database }
	// Fleet is the processes over one database, and what halts all of them.
	Fleet struct{ *database }
	// Notifications are sent once for a whole fleet.
	Notifications struct{ *database }
	// Organizations are those that the API keys of the ledger's orders belong to.
	Organizations struct{ *database }
	// Resolutions are a person's decisions on what became of an attempt.
	Resolutions struct {
		*database
		of BatchRow // the row that the decisions are for; any row if it is zero
	}
	// Schedules place the filings of company lists when they are due. Their reminders
	// follow the firm's time zone.
	Schedules struct{ *database }
	// Subscriptions are those that an order opens: each renews a filing every year.
	Subscriptions struct{ *database }
	// Uploads are spreadsheets that wait to be placed, and the column mappings.
	Uploads struct{ *database }
)

// Accounts returns the accounts of the ledger's database.
func (l *Ledger) Accounts() Accounts { return Accounts{l.database} }

// Approvals returns the Approvals of the ledger's database.
func (l *Ledger) Approvals() Approvals { return Approvals{l.database} }

// AuditLog returns the AuditLog of the ledger's database.
func (l *Ledger) AuditLog() AuditLog { return AuditLog{l.database} }

// Companies returns the Companies of the ledger's database.
func (l *Ledger) Companies() Companies { return Companies{l.database} }

// Documents returns the Documents of the ledger's database.
func (l *Ledger) Documents() Documents { return Documents{l.database} }

// Endpoints returns the Endpoints of the ledger's database.
func (l *Ledger) Endpoints() Endpoints { return Endpoints{l.database} }

// Entries returns the Entries of the ledger's database.
func (l *Ledger) Entries() Entries { return Entries{l.database} }

// Events returns the Events of the ledger's database.
func (l *Ledger) Events() Events { return Events{l.database} }

// Fleet returns the Fleet of the ledger's database.
func (l *Ledger) Fleet() Fleet { return Fleet{l.database} }

// Notifications returns the Notifications of the ledger's database.
func (l *Ledger) Notifications() Notifications { return Notifications{l.database} }

// Organizations returns the Organizations of the ledger's database.
func (l *Ledger) Organizations() Organizations { return Organizations{l.database} }

// Resolutions returns the Resolutions of the ledger's database.
func (l *Ledger) Resolutions() Resolutions { return Resolutions{database: l.database} }

// Schedules returns the Schedules of the ledger's database.
func (l *Ledger) Schedules() Schedules { return Schedules{l.database} }

// Subscriptions returns the Subscriptions of the ledger's database.
func (l *Ledger) Subscriptions() Subscriptions { return Subscriptions{l.database} }

// Uploads returns the Uploads of the ledger's database.
func (l *Ledger) Uploads() Uploads { return Uploads{l.database} }
