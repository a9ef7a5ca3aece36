// Package jobs moves rows from the ledger to the filing service and back.
//
// A row's path:
//
//  1. The pump (pump.go) asks the ledger which rows may be sent and puts their
//     ids on the queue, 16 to a task. It enqueues no more than the handlers need
//     for about a second.
//  2. A handler (worker.go) takes a task and loads its rows. The resolver
//     (resolver.go) finds the users and companies that the orders name, creates
//     and completes them where they are missing, and checks the names. The
//     priceCache (price_cache.go) has the day's prices.
//  3. The placer (placer.go) waits for one of the sending slots and for the
//     throttle (throttle.go), which all processes share.
//  4. The ledger writes the intent, the write-ahead record of the order. In the
//     same commit it checks the claims (idempotency keys), the recorded balance and
//     the fleet halt. Where one of them says no, nothing is sent.
//  5. The order is sent, once. The answer is recorded in the ledger until that
//     succeeds; package filing decides what it means for the row.
//  6. The sweeper (sweeper.go) marks in-flight rows of dead processes as uncertain.
//
// Why is a row not sent? A Hold (hold.go) is the one answer, and its text is what
// importer status and the page say. Worker.Hold is that of a process: the
// fleet halt of the ledger (funds, key, rate, a restored ledger, a newer version),
// the order breaker of the client, or Redis. The last two are this process's own:
// it shares them with the others in the ledger's list of processes. BatchFacts.Holds
// adds what keeps the rows of one batch: a pause, an approval, the recorded balance,
// another row, no worker. The pump logs "orders held" and "orders resumed".
//
// LookUp and Compare read the users and companies of a batch before its approval.
// CatchUp brings the ledger up to date before a command or the page shows it.
//
// Redis carries row ids and nothing else. What it loses, repeats or reorders costs
// time, never money: every decision is made from the ledger under the intent's
// commit.
package jobs
