package main

import (
	"context"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// age makes the last news of all orders older, by a number of days.
func age(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: age DAYS")
	}
	days, err := strconv.Atoi(args[0])
	ts.Check(err)
	l, err := ledger.Open(context.Background(), ledger.Config{Dir: ts.Getenv("LEDGER"), Gate: approval.Gate{}})
	ts.Check(err)
	_, err = l.Exec(context.Background(), `UPDATE rows SET updated_at = updated_at - $1`,
		time.Duration(days)*24*time.Hour/time.Millisecond)
	ts.Check(err)
	ts.Check(l.Close())
}
