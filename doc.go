// Package bulkfiling is the root of Bulkfiling, which orders business filings from spreadsheets.
// It has no code.
//
// # Guarantees
//
//   - The ledger, an SQL database, is the source of truth. Redis carries row IDs only, and losing
//     them costs time.
//   - Intent before action: the intent to send an order, with its reservation, is committed before
//     the first byte of the order leaves.
//   - One business key is one purchase, forever, across rows, files, runs and machines. The commit of
//     the intent checks it under one lock, and a unique index is the second guard. Only a person who
//     gives a reason lifts it.
//   - An order goes out only if the filing service's record of the company is the company that the
//     row names.
//   - Money is in exact cents. A cost is known, estimated or unknown. The approved cost is a limit.
//   - An order that was sent but not confirmed is uncertain, and is not sent again before it is
//     resolved, unless the filing service guards against its repetition.
//   - Every row gets a result and a message, in the order of the input.
//   - Every command can be repeated. It resumes.
//   - Secrets reach no log, message, metric, workbook or Redis. Social Security numbers are
//     encrypted, and erased once the order is placed.
//   - The sums of the ledger equal its entries. The command audit verify proves it.
//   - What a spreadsheet says against filing holds its row before money is spent.
//
// # Packages
//
// Rules, without I/O:
//
//	money       exact cents
//	filing      orders, business keys, names, the states of a row, the meaning of an answer
//	season      due dates and the days of schedules
//	balance     what is available, who goes first if funds are short, the forecast
//
// Records:
//
//	store       SQLite or PostgreSQL: transactions, clock, sealed values
//	audit       who changed what
//	outbox      notifications until they are sent
//	account     people of the page: accounts, sessions, one-time links, passkeys
//	ledger      batches, rows, attempts, purchases, entries, halts, leases, events
//	approval    a second person above an amount: policy, contributors, history
//	backup      copies of an SQLite ledger
//
// From a spreadsheet to a placed order:
//
//	sheet       cells of CSV and XLSX with coordinates, and copies of workbooks
//	importer    a spreadsheet becomes orders and problems
//	intake      a spreadsheet becomes a submitted batch, for commands, page and schedules
//	lookup      users and companies of the filing service: found, created, compared
//	pricing     quotes
//	schedule    company lists that are filed on schedule
//	jobs        queue, pump, workers, placer and sweeper
//	filingapi   the HTTP client of the filing service
//	webhook     events of the filing service
//	resolve     uncertain orders
//	report      the results workbook and the summaries
//	documents   documents of filings in folders
//
// Around it:
//
//	config      settings, and what they name
//	web         the page
//	signin      OpenID Connect and passkeys
//	notify      messages to people
//	metrics     figures for Prometheus
//	rehearsal   a spreadsheet played on the sandbox with faults
//	sandbox     the filing service in memory, an independent reading of its document
//	samples     spreadsheets to try
//
// Helpers that know nothing of filings are cache, folder, logs, network, retry, secret and text.
// Tests use goldentest, ledgertest, nettest, sheettest and signin/signintest. The tests in simulate
// tell stories of the whole product, one for each seed. The tests in lint compare the imports and the
// documents with the code. cmd/importer has the commands, and cmd/worker is the process of a fleet.
//
// # Reading order
//
// This is the way of a row:
//
//  1. filing/row_result.go: the states of a row and their transitions
//  2. importer/import.go, importer/record.go: a spreadsheet is read and becomes rows
//  3. intake/intake.go: the batch is recorded, compared and quoted; a command, the page or a
//     schedule opens it
//  4. jobs/pump.go, jobs/placer.go: a row is chosen, and its order is sent; jobs/sweeper.go ends the
//     orders of dead processes
//  5. ledger/transition.go: Begin commits the intent before, RecordOutcome the answer afterwards
//  6. filingapi/orders.go: one request and its answer
//  7. filing/row_answer.go, filing/row_attempt.go: Fold says where the row stands after an answer
//  8. ledger/decide.go, ledger/outcome.go, ledger/key.go: both commits, decided from what was read
//  9. report/results.go: the row in the results workbook
package bulkfiling
