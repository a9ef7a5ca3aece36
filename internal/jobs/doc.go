// Package jobs moves rows from the ledger to the filing service and back. Read its files in the
// order of a row's path:
//
//  1. queue.go: a Queue is Redis, or a Redis within the process. It carries row IDs, 16 to a task,
//     and nothing else.
//  2. pump.go: the pump asks the ledger which rows may be sent and enqueues no more of them than
//     the handlers need for about a second.
//  3. worker.go: a handler takes a task and loads its rows. The handlers run only while there are
//     tasks (consumer.go).
//  4. placer.go: the placer finds the users and companies of a row (company.go, with package
//     lookup) and the current prices (price_cache.go). It waits for one of the sending slots and
//     for the throttle, which all processes share. The ledger writes the intent, the write-ahead
//     record of the order. The same commit checks the claims (idempotency keys), the recorded
//     balance and the fleet halt, and nothing is sent if one of them refuses (duplicate.go). The
//     order is sent once. Recording the answer is retried until it succeeds (answer.go). Package
//     filing decides the state of the row.
//  5. sweeper.go: the sweeper ends the in-flight rows of dead processes. They become uncertain, or
//     ready if the filing service guards against a repetition.
//
// A Hold (hold.go) is the reason why a row is not sent. Commands and the page show its text. The
// fleet halt of the ledger (funds, key, rate, a restored ledger, a newer version), the client's
// breaker of orders and Redis hold a process (send_state.go). A process shares the last two with
// the others through the ledger. BatchFacts.Holds adds the reasons of one batch: a pause, an
// approval, the recorded balance, another row, no worker. A RunResult (run_result.go) is why a run
// ended.
//
// Three checks keep an order from being sent, in this order. Before the intent, send_state.go and the
// comparison of the company (lookup.CheckRecord) avoid intents that would be refused. The commit of
// the intent decides: the decision's begin (ledger/decide.go) refuses a row that is not ready, a halted
// fleet, a key that another row has, a cost above the approved one, and insufficient funds. After the
// commit, Fleet.MaySend (ledger/process.go) stops a process whose lease has run out.
//
// If Redis loses, repeats or reorders row IDs, that costs time and never money, because every
// decision is made from the ledger in the commit of the intent.
package jobs
