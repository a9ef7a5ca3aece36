package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bulkfiling/bulkfiling/internal/approval"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// tell records an event about an order in the ledger:
//
//	tell order_81 annual_report submitted [company=comp_1] [ago=2h]
func tell(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: tell ORDER TYPE STATUS [company=COMPANY] [ago=TIME]")
	}
	given := options(ts, args[3:])
	var ago time.Duration
	if text := given["ago"]; text != "" {
		var err error
		ago, err = time.ParseDuration(text)
		ts.Check(err)
	}
	ts.Check(keepEvent(context.Background(), ts.Getenv("LEDGER"), args[0], args[1], args[2], given["company"],
		time.Now().Add(-ago)))
}

func keepEvent(ctx context.Context, dir, order, orderType, status, company string, at time.Time) error {
	data := map[string]string{"orderId": order, "orderType": orderType, "filingStatus": status}
	if company != "" {
		data["companyId"] = company
	}
	body, err := json.Marshal(map[string]any{
		"id": "evt_" + order + "_" + status, "type": filing.StatusChanged,
		"createdAt": at.UTC().Format(time.RFC3339Nano), "data": data,
	})
	if err != nil {
		return err
	}
	e, err := filing.ParseEvent(body)
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, ledger.Config{Dir: dir, Gate: approval.Gate{}})
	if err != nil {
		return err
	}
	_, err = l.Events().Keep(ctx, e, body)
	return errors.Join(err, l.Close())
}
