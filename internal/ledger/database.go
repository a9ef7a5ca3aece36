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
	gate         Gate

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
	inFlight    inFlight
}

// The types over one database.
type (
	// Attention finds what needs the attention of a person.
	Attention struct{ *database }
	// Backlog finds the rows that wait to be placed.
	Backlog struct{ *database }
	// Companies stores the companies and users that the filing service has on record, by the
	// references that rows use.
	Companies struct{ *database }
	// Corrections finds the batches that correct rows of other batches, and dismisses rows that no
	// one will correct.
	Corrections struct{ *database }
	// Documents lists the documents of placed orders.
	Documents struct{ *database }
	// Entries stores the postings of the recorded balance.
	Entries struct{ *database }
	// Events stores and applies the reports of the filing service about orders.
	Events struct{ *database }
	// Fleet manages the processes over one database and the halts of all of them.
	Fleet struct{ *database }
	// Organizations stores the organizations to which the API keys of the ledger's orders belong.
	Organizations struct{ *database }
	// Originals stores the spreadsheets of batches.
	Originals struct{ *database }
	// Quotes stores the expected costs of rows and batches.
	Quotes struct{ *database }
	// Resolutions lists the uncertain rows and records the decisions of people on the outcome of
	// their attempts.
	Resolutions struct {
		*database
		// of is the row that the decisions are for. The zero value stands for any row.
		of BatchRow
	}
	// ResultFiles recognizes the files into which the ledger's results were written.
	ResultFiles struct{ *database }
	// Subscriptions manages the subscriptions that orders open. Each renews a filing every year.
	Subscriptions struct{ *database }
)

// Accounts returns the Accounts of the ledger's database.
func (l *Ledger) Accounts() *account.Accounts { return account.New(l.DB, l.log) }

// Attention returns the Attention of the ledger's database.
func (l *Ledger) Attention() Attention { return Attention{l.database} }

// AuditLog returns the AuditLog of the ledger's database.
func (l *Ledger) AuditLog() *audit.Log { return l.log }

// Backlog returns the Backlog of the ledger's database.
func (l *Ledger) Backlog() Backlog { return Backlog{l.database} }

// Companies returns the Companies of the ledger's database.
func (l *Ledger) Companies() Companies { return Companies{l.database} }

// Corrections returns the Corrections of the ledger's database.
func (l *Ledger) Corrections() Corrections { return Corrections{l.database} }

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

// Originals returns the Originals of the ledger's database.
func (l *Ledger) Originals() Originals { return Originals{l.database} }

// Quotes returns the Quotes of the ledger's database.
func (l *Ledger) Quotes() Quotes { return Quotes{l.database} }

// Resolutions returns the Resolutions of the ledger's database.
func (l *Ledger) Resolutions() Resolutions { return Resolutions{database: l.database} }

// ResultFiles returns the ResultFiles of the ledger's database.
func (l *Ledger) ResultFiles() ResultFiles { return ResultFiles{l.database} }

// Subscriptions returns the Subscriptions of the ledger's database.
func (l *Ledger) Subscriptions() Subscriptions { return Subscriptions{l.database} }
