package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/audit"

	"github.com/bulkfiling/bulkfiling/internal/store"

	wording "github.com/bulkfiling/bulkfiling/internal/text"
)

// SetPageAddress stores the address at which people reach the page, such as
// https://filings.example.com. Notifications use it for their links.
func (l Notifications) SetPageAddress(ctx context.Context, address string) error {
	_, err := l.Exec(audit.Without(ctx), `INSERT INTO page_address (id, address) VALUES (1, $1)
		ON CONFLICT (id) DO UPDATE SET address = excluded.address`, strings.TrimSuffix(address, "/"))
	return store.Wrap("store the address of the page", err)
}

// PageAddress returns the address at which people reach the page, or an empty string if unknown.
func (l Notifications) PageAddress(ctx context.Context) (string, error) {
	var address string
	err := l.Read.QueryRowContext(ctx, `SELECT address FROM page_address WHERE id = 1`).Scan(&address)
	return address, store.Wrap("read the address of the page", store.OrElse(err, nil))
}

// approvalPath returns the path of the page on which a batch is approved.
func approvalPath(batch string) string { return "/batches/" + batch + "/approve" }

// describeOrders describes the orders of a batch for a message: their number and cost.
func (db *database) describeOrders(ctx context.Context, tx *sql.Tx, batch string) (string, error) {
	f, err := db.figures(ctx, tx, `rows`, batch)
	return fmt.Sprintf("%s, %s", wording.Count(f.Orders, "order"), f.Needed), err
}

// notifyApprovalNeeded notifies everyone who may approve a batch that it waits for approval.
func (db *database) notifyApprovalNeeded(ctx context.Context, tx *sql.Tx, batch string, a approvalRow) error {
	orders, err := db.describeOrders(ctx, tx, batch)
	if err != nil {
		return err
	}
	accounts, err := (Accounts{db}).accounts(ctx, tx)
	if err != nil {
		return err
	}
	var to []string
	for _, one := range accounts {
		if !one.May(Approver) || one.Email == "" {
			continue
		}
		switch err := db.mayApprove(audit.NotAtTerminal(ctx), tx, batch, one.Name); {
		case errors.Is(err, ErrSecondPerson):
		case err != nil:
			return err
		default:
			to = append(to, one.Email)
		}
	}
	file := filepath.Base(a.File)
	what, who := file, nameOr(a.AskedBy)+" submitted "+file
	var schedule string
	switch err := tx.QueryRowContext(ctx, `SELECT COALESCE(MIN(schedule), '') FROM schedule_runs WHERE batch = $1`,
		batch).Scan(&schedule); {
	case err != nil:
		return fmt.Errorf("find the schedule of batch %s: %w", batch, err)
	case schedule != "":
		what, who = "the schedule "+schedule, fmt.Sprintf("The schedule %s submitted %s", schedule, file)
	}
	return db.addNotification(ctx, tx, Notification{
		Kind:    NotifyApprovalNeeded,
		Batch:   batch,
		Subject: "waiting for approval: " + what + ", " + orders,
		Body: fmt.Sprintf("%s: %s.\nNothing is sent until it is approved.\nApprove it on the page, "+
			"or run: importer approve %s\n", who, orders, batch),
		Recipients: to,
		Path:       approvalPath(batch),
	})
}

// notifyApproved notifies the person who submitted a batch that it was approved.
func (db *database) notifyApproved(ctx context.Context, tx *sql.Tx, batch, by string) error {
	a, err := approvalOf(ctx, tx, batch)
	if err != nil {
		return err
	}
	file := filepath.Base(a.File)
	orders, err := db.describeOrders(ctx, tx, batch)
	if err != nil {
		return err
	}
	to, err := db.mailTo(ctx, tx, a.AskedBy)
	if err != nil {
		return err
	}
	return db.addNotification(ctx, tx, Notification{
		Kind:       NotifyApproved,
		Batch:      batch,
		Subject:    "approved: " + file + ", " + orders,
		Body:       fmt.Sprintf("%s approved %s: %s.\nThe orders are being placed.\n", nameOr(by), file, orders),
		Recipients: to,
		Path:       "/batches/" + batch,
	})
}

// notifyRefused notifies the person who submitted a batch that it was sent back or rejected, and
// why.
func (db *database) notifyRefused(ctx context.Context, tx *sql.Tx, batch string, a approvalRow, kind NotificationKind,
	by, comment string) error {
	to, err := db.mailTo(ctx, tx, a.AskedBy)
	if err != nil {
		return err
	}
	file := filepath.Base(a.File)
	n := Notification{Kind: kind, Batch: batch, Recipients: to, Path: approvalPath(batch)}
	what, next := "rejected", "The rows are canceled. Nothing was sent for them."
	n.Subject = "rejected: " + file
	if kind == NotifySentBack {
		what, next = "sent back", "Nothing was sent. Correct the spreadsheet on the page, then submit it again."
		n.Subject = "sent back: " + file
		var upload string
		if err := tx.QueryRowContext(ctx, `SELECT COALESCE(MIN(id), '') FROM uploads WHERE batch = $1`,
			batch).Scan(&upload); err != nil {
			return err
		}
		n.Path = "/sheets/" + upload
	}
	n.Body = fmt.Sprintf("%s %s %s: %s\n%s\n", nameOr(by), what, file, comment, next)
	return db.addNotification(ctx, tx, n)
}

// mailTo returns the email address of the account with a name. It returns no address if the account
// does not exist, is disabled or has no address.
func (db *database) mailTo(ctx context.Context, q store.Querier, name string) ([]string, error) {
	a, err := (Accounts{db}).account(ctx, q, name)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil, a.Disabled, a.Email == "":
		return nil, err
	}
	return []string{a.Email}, nil
}
