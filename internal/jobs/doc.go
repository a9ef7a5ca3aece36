// Package jobs moves rows from the ledger to the filing service and back.
//
// A row's path:
//
//  1. The pump (pump.go) asks the ledger which rows may be sent and enqueues their IDs, 16 to
//     a task. It enqueues no more than the handlers need for about a second.
//  2. A handler (worker.go) takes a task and loads its rows. The resolver (resolver.go) finds
//     the users and companies of the orders, creates and completes missing ones, and checks
//     the names. The priceCache (price_cache.go) has the current prices.
//  3. The placer (placer.go) waits for one of the sending slots and for the
//     throttle (throttle.go), which all processes share.
//  4. The ledger writes the intent, the write-ahead record of the order. The same commit
//     checks the claims (idempotency keys), the recorded balance and the fleet halt, and
//     nothing is sent if one of them refuses.
//  5. The order is sent once. Recording the answer is retried until it succeeds. Package
//     filing decides the state of the row.
//  6. The sweeper (sweeper.go) marks in-flight rows of dead processes as uncertain.
//
// A Hold (hold.go) is the reason why a row is not sent. Commands and the page show its text.
// Worker.Hold returns the hold of a process: the fleet halt of the ledger (funds, key, rate, a
// restored ledger, a newer version), the client's breaker of orders, or Redis. A process shares
// the last two with the others through the ledger. BatchFacts.Holds adds the reasons of one
// batch: a pause, an approval, the recorded balance, another row, no worker. The pump logs
// "orders held" and "orders resumed".
//
// Compare reads the users and companies of a batch before its approval. CatchUp brings the
// ledger up to date before a command or the page shows it.
//
// Redis carries row IDs and nothing else. If it loses, repeats or reorders them, that costs time
// and never money, because every decision is made from the ledger in the commit of the intent.
package jobs
