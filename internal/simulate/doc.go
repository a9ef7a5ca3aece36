// Package simulate has no code. Its tests tell stories of the whole product: people submit, correct,
// approve and cancel spreadsheets, workers place orders and crash, the filing service loses answers,
// renames companies and changes prices, and a backup is restored. A seed determines the story.
//
// A world is a bubble of testing/synctest with virtual time. It has a ledger in SQLite and the real
// importer, intake, lookup, jobs and resolve. The filing service is a sandbox in memory, and no
// request reaches it by itself: each order stops in the network until a step of the story delivers
// it, answers it or loses it. The audit of the ledger runs after every step. At the end, the books
// of the filing service must agree with the ledger.
//
// Run make simulate, or make simulate SEED=7 for the story of one seed.
package simulate
