// Package jobs moves rows from the ledger to the service and back.
//
// The pump reads from the ledger which rows may be sent and puts their ids on
// the queue; a handler takes a handful of ids, looks up what the orders need,
// and the placer sends them one by one through the free sending slots, each
// after its own durable intent. The sweeper settles what dead processes left.
//
// The seasons make batches of rosters when they are due: the rules of due dates
// and schedules are package season's, their rosters and firings the ledger's,
// and what is to be filed this time is decided here, once for any number of
// processes.
//
// What a person does by a command or on the page is here as well, so that both
// do the same: LookUp and QuoteBatch before a yes, Propose and Approve, AddSeason
// and what else is done with seasons, CatchUp before something is shown.
//
// Redis carries row ids and nothing else. Whatever it loses, repeats or
// reorders costs time, never money: every decision is taken from the ledger
// under the intent's commit.
package jobs
