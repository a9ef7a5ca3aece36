package approval

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/store"
	wording "github.com/bulkfiling/bulkfiling/internal/text"
)

// approvalPath returns the path of the page on which a batch is approved.
func approvalPath(batch string) string { return "/batches/" + batch + "/approve" }

// describeOrders describes the orders of a batch for a message: their number and cost.
func describeOrders(ctx context.Context, tx *ledger.Tx, batch string) (string, error) {
	f, err := tx.Figures(ctx, batch)
	return fmt.Sprintf("%s, %s", wording.Count(f.Orders, "order"), f.Needed), err
}

// notifyApprovalNeeded notifies everyone who may approve a batch that it waits for approval.
func notifyApprovalNeeded(ctx context.Context, tx *ledger.Tx, batch string, a approvalRow) error {
	orders, err := describeOrders(ctx, tx, batch)
	if err != nil {
		return err
	}
	accounts, err := account.List(ctx, tx)
	if err != nil {
		return err
	}
	var to []string
	for _, one := range accounts {
		if !one.May(account.Approver) || one.Email == "" {
			continue
		}
		switch err := mayApprove(audit.NotAtTerminal(ctx), tx, batch, one.Name); {
		case errors.Is(err, ErrSecondPerson):
		case err != nil:
			return err
		default:
			to = append(to, one.Email)
		}
	}
	file := filepath.Base(a.File)
	what, who := file, account.NameOr(a.AskedBy)+" submitted "+file
	var schedule string
	switch err := tx.QueryRowContext(ctx, `SELECT COALESCE(MIN(schedule), '') FROM schedule_runs WHERE batch = $1`,
		batch).Scan(&schedule); {
	case err != nil:
		return fmt.Errorf("find the schedule of batch %s: %w", batch, err)
	case schedule != "":
		what, who = "the schedule "+schedule, fmt.Sprintf("The schedule %s submitted %s", schedule, file)
	}
	return notify(ctx, tx, outbox.Notification{
		Kind:    outbox.KindApprovalNeeded,
		Batch:   batch,
		Subject: "waiting for approval: " + what + ", " + orders,
		Body: fmt.Sprintf("%s: %s.\nNothing is sent until it is approved.\nApprove it on the page, "+
			"or run: importer approve %s\n", who, orders, batch),
		Recipients: to,
		Path:       approvalPath(batch),
	})
}

// notifyApproved notifies the person who submitted a batch that it was approved.
func notifyApproved(ctx context.Context, tx *ledger.Tx, batch, by string) error {
	a, err := approvalOf(ctx, tx, batch)
	if err != nil {
		return err
	}
	file := filepath.Base(a.File)
	orders, err := describeOrders(ctx, tx, batch)
	if err != nil {
		return err
	}
	to, err := mailTo(ctx, tx, a.AskedBy)
	if err != nil {
		return err
	}
	return notify(ctx, tx, outbox.Notification{
		Kind:    outbox.KindApproved,
		Batch:   batch,
		Subject: "approved: " + file + ", " + orders,
		Body: fmt.Sprintf("%s approved %s: %s.\nThe orders are being placed.\n", account.NameOr(by), file,
			orders),
		Recipients: to,
		Path:       "/batches/" + batch,
	})
}

// notifyRefused notifies the person who submitted a batch that it was sent back or rejected, and
// why.
func notifyRefused(ctx context.Context, tx *ledger.Tx, batch string, a approvalRow, kind outbox.Kind,
	by, comment string) error {
	to, err := mailTo(ctx, tx, a.AskedBy)
	if err != nil {
		return err
	}
	file := filepath.Base(a.File)
	n := outbox.Notification{Kind: kind, Batch: batch, Recipients: to, Path: approvalPath(batch)}
	what, next := "rejected", "The rows are canceled. Nothing was sent for them."
	n.Subject = "rejected: " + file
	if kind == outbox.KindSentBack {
		what, next = "sent back", "Nothing was sent. Correct the spreadsheet on the page, then submit it again."
		n.Subject = "sent back: " + file
		var upload string
		if err := tx.QueryRowContext(ctx, `SELECT COALESCE(MIN(id), '') FROM uploads WHERE batch = $1`,
			batch).Scan(&upload); err != nil {
			return err
		}
		n.Path = "/sheets/" + upload
	}
	n.Body = fmt.Sprintf("%s %s %s: %s\n%s\n", account.NameOr(by), what, file, comment, next)
	return notify(ctx, tx, n)
}

// mailTo returns the email address of the account with a name. It returns no address if the account
// does not exist, is disabled or has no address.
func mailTo(ctx context.Context, q store.Querier, name string) ([]string, error) {
	a, err := account.Find(ctx, q, name)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return nil, nil
	case err != nil, a.Disabled, a.Email == "":
		return nil, err
	}
	return []string{a.Email}, nil
}

// notify adds a notification within a change.
func notify(ctx context.Context, tx *ledger.Tx, n outbox.Notification) error {
	_, err := outbox.Insert(ctx, tx.Tx, tx.Now(), n)
	return err
}
