// Package jobs moves rows from the ledger to the service and back.
//
// The pump reads from the ledger which rows may be sent and puts their ids on
// the queue; a handler takes a handful of ids, looks up what the orders need,
// and the placer sends them one by one through the free sending slots, each
// after its own durable intent. The sweeper settles what dead processes left. The
// seasons make batches of rosters when they are due.
//
// Redis carries row ids and nothing else. Whatever it loses, repeats or
// reorders costs time, never money: every decision is taken from the ledger
// under the intent's commit.
package jobs
