package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/money"
)

// A person takes part in what a batch orders by uploading it, changing it, having
// it sent again, or making the company list behind it. Under the approval policy
// none of them approves it, and neither does anybody through whose sign-in link one
// of them, or the approver, signed in.

// Part is what a person contributed to a batch's orders.
type Part string

// The parts. A direct one goes before PartLink.
const (
	PartUpload   Part = "upload"       // uploaded the spreadsheet
	PartEdit     Part = "edit"         // corrected it on the page
	PartSubmit   Part = "submit"       // submitted it
	PartSchedule Part = "schedule"     // made the schedule
	PartList     Part = "company-list" // changed the company list, or how it is read
	PartRetry    Part = "retry"        // had rows sent again
	PartResolve  Part = "resolve"      // marked a row as not placed
	PartLink     Part = "link"         // made the sign-in link of one who did
)

var partWords = map[Part]string{
	PartUpload:   "uploaded this spreadsheet",
	PartEdit:     "corrected this spreadsheet",
	PartSubmit:   "submitted this batch",
	PartSchedule: "made the schedule",
	PartList:     "changed the company list",
	PartRetry:    "had rows of this batch sent again",
	PartResolve:  "marked a row of this batch as not placed",
}

// SecondError says why a person may not approve. It is ErrSecondPerson.
type SecondError struct {
	By     string // who may not; "" if not known by name
	Part   Part   // what they, or Other, did; "" where they may approve nothing
	Other  string // someone else who did it
	Linked string // who signed in through a link of By or of Other
	Typed  bool   // a command asks, and the policy covers commands: an approver signs in to the page
}

// Is makes it ErrSecondPerson.
func (*SecondError) Is(target error) bool { return target == ErrSecondPerson }

func (e *SecondError) Error() string {
	return ErrSecondPerson.Error() + ": " + e.say(cmp.Or(e.By, "the person who asks"), "does")
}

// ToYou says it to the person it is about.
func (e *SecondError) ToYou() string {
	text := e.say("you", "do")
	return strings.ToUpper(text[:1]) + text[1:] + ", so someone else must approve it."
}

func (e *SecondError) say(who, does string) string {
	switch {
	case e.Typed:
		return "the policy covers commands, so an approver signs in to the page and approves it there"
	case e.Part == "":
		return fmt.Sprintf("%s %s not have an account with the role approver", who, does)
	case e.Other == "":
		return who + " " + partWords[e.Part]
	case e.Linked == e.By:
		return fmt.Sprintf("%s made the link with which %s signed in, and %s %s", e.Other, who,
			e.Other, partWords[e.Part])
	}
	return fmt.Sprintf("%s made the link with which %s signed in, and %s %s", who, e.Linked,
		e.Linked, partWords[e.Part])
}

// person is a name as contributors have it.
func person(name string) string { return cmp.Or(folded(name), name) }

// linkMakers lists others through whose links an account signed in last.
func linkMakers(ctx context.Context, q querier, name string) ([]string, error) {
	a, err := find[Account](ctx, q, nil, "find who made the links of "+name,
		`SELECT link_makers FROM accounts WHERE name = $1`, person(name))
	return a.LinkMakers, err
}

// contribute records who takes part in what an object orders.
func contribute(ctx context.Context, tx *sql.Tx, object, by string, part Part) error {
	if by == "" {
		return nil
	}
	linked, err := linkMakers(ctx, tx, by)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO contributors (object, person, part) VALUES ($1,$2,$3)
		ON CONFLICT (object, person) DO UPDATE SET part = excluded.part WHERE contributors.part LIKE 'link%'`, object,
		person(by), part); err != nil {
		return fmt.Errorf("record the contributors of %s: %w", object, err)
	}
	for _, maker := range linked {
		if _, err := tx.ExecContext(ctx, `INSERT INTO contributors (object, person, part) VALUES ($1,$2,$3)
			ON CONFLICT (object, person) DO NOTHING`, object, maker, linkTo(person(by))); err != nil {
			return fmt.Errorf("record the contributors of %s: %w", object, err)
		}
	}
	return nil
}

// linkTo is the part of the person who made the link of a contributor.
func linkTo(name string) Part { return PartLink + " " + Part(name) }

// copyContributors has those of one object take part in another.
func copyContributors(ctx context.Context, tx *sql.Tx, from, to string) error {
	_, err := tx.ExecContext(
		ctx, `INSERT INTO contributors (object, person, part)
			SELECT $2, person, part FROM contributors
			WHERE object = $1
			ON CONFLICT (object, person) DO UPDATE SET
				part = CASE WHEN contributors.part LIKE 'link%' THEN excluded.part ELSE contributors.part END`,
		from, to)
	return wrap("copy who takes part in "+from, err)
}

func uploadObject(id string) string { return "upload " + id }

// scheduleObject is a company list of a schedule. Each person who gave it to
// the schedule, or said how it is read, takes part in every batch that is made
// from it: the list is theirs too when another person brings it back.
func scheduleObject(name, roster string) string { return "season " + name + " " + roster }

// gather has those who take part in a batch's uploads, or in the schedule that
// made it, take part in the batch.
func gather(ctx context.Context, tx *sql.Tx, batch string) error {
	var from []string
	for _, query := range []string{`SELECT 'upload ' || id FROM uploads WHERE batch = $1`,
		`SELECT 'season ' || season || ' ' || roster FROM firings WHERE batch = $1`} {
		objects, err := list[string](ctx, tx, "read what batch "+batch+" was made from", query, batch)
		if err != nil {
			return err
		}
		from = append(from, objects...)
	}
	for _, object := range from {
		if err := copyContributors(ctx, tx, object, batch); err != nil {
			return err
		}
	}
	if len(from) > 0 {
		return nil
	}
	by, err := find[string](ctx, tx, nil, "read who made batch "+batch, `SELECT created_by FROM batches WHERE id = $1`,
		batch)
	if err != nil {
		return err
	}
	return contribute(ctx, tx, batch, by, PartUpload)
}

// needsSecond reports whether a batch needs the approval of a person who takes no part
// in it as it is now, by the policy as it is now. What needed one once goes on needing
// it, also as a corrected draft.
func (db *database) needsSecond(ctx context.Context, q querier, batch string) (bool, error) {
	p, err := db.policy(ctx, q)
	if err != nil {
		return false, err
	}
	b, err := find[struct{ Needed, Scheduled bool }](ctx, q, ErrNotFound, "read what batch "+batch+" needs",
		`SELECT CASE WHEN b.second = 1
				OR EXISTS (SELECT 1 FROM batches o WHERE o.id = b.corrects AND o.second = 1)
				OR EXISTS (SELECT 1 FROM uploads u WHERE u.batch = b.id AND u.second = 1) THEN 1 ELSE 0 END AS needed,
			EXISTS (SELECT 1 FROM firings f WHERE f.batch = b.id) AS scheduled
		FROM batches b WHERE b.id = $1`, batch)
	switch {
	case err != nil:
		return false, err
	case b.Needed, !p.Second, atTerminal(ctx) && !p.Terminal && !b.Scheduled:
		return b.Needed, nil
	case p.From == 0:
		return true, nil
	}
	cost, err := db.batchCost(ctx, q, batch)
	return p.Covers(cost), err
}

// batchCost is what a batch orders, or has ordered, with the batch that it corrects and the
// other corrections of that. A row without a quote makes it unknown.
func (db *database) batchCost(ctx context.Context, q querier, batch string) (cost money.Cost, err error) {
	var unknown, certainty int
	err = q.QueryRowContext(
		ctx, `WITH RECURSIVE family (id, corrects) AS (
				SELECT id, corrects FROM batches WHERE id = $1
				UNION
				SELECT b.id, b.corrects
				FROM batches b JOIN family f ON b.id = f.corrects OR b.corrects = f.id AND b.open = 1)
			SELECT CAST(COALESCE(SUM(cost + spent), 0) AS BIGINT),
				COALESCE(MAX(CASE WHEN certainty >= $2 OR quoted = 0 AND (tries = 0 OR cost + spent = 0) THEN 1
				ELSE 0 END), 0), COALESCE(MAX(certainty), 0)
			FROM rows
			WHERE batch IN (SELECT id FROM family) AND (result IN (`+ordering+
			`) OR result = 'invalid' AND request <> '' AND quoted = 1)`,
		batch, int(money.Unknown)).Scan(&cost.Amount, &unknown, &certainty)
	if cost.Certainty = money.Certainty(certainty); unknown > 0 {
		cost.Certainty = money.Unknown
	}
	return cost, wrap("sum up batch "+batch, err)
}

// ordering are the results of rows that order something, or did.
const ordering = `'ready', 'placing', 'placed', 'uncertain', 'canceled', 'rejected'`

// mayApprove returns a *SecondError if a person may not approve a batch as its
// second person.
func (db *database) mayApprove(ctx context.Context, q querier, batch, by string) error {
	if atTerminal(ctx) {
		if p, err := db.policy(ctx, q); err != nil || p.Terminal {
			return cmp.Or(err, error(&SecondError{By: by, Typed: true}))
		}
	}
	name := person(by)
	a, err := find[Account](ctx, q, nil, "read the account of "+by,
		`SELECT `+accountColumns+` FROM accounts a WHERE a.name = $1`, name)
	switch {
	case err != nil:
		return err
	case !a.May(Approver):
		return &SecondError{By: by}
	}
	contributors, err := list[struct {
		Person string
		Part   Part
	}](ctx, q, "list the contributors of batch "+batch,
		`SELECT person, part FROM contributors WHERE object = $1`, batch)
	if err != nil {
		return err
	}
	parts := make(map[string]Part, len(contributors))
	for _, c := range contributors {
		parts[c.Person] = c.Part
	}
	part, takesPart := parts[name]
	to, throughLink := strings.CutPrefix(string(part), string(PartLink)+" ")
	switch {
	case throughLink:
		return &SecondError{By: by, Part: parts[to], Other: to, Linked: to}
	case takesPart:
		return &SecondError{By: by, Part: part}
	}
	for _, maker := range a.LinkMakers {
		if part, takesPart := parts[maker]; takesPart && !strings.HasPrefix(string(part), string(PartLink)) {
			return &SecondError{By: by, Part: part, Other: maker, Linked: by}
		}
	}
	return nil
}

// Barred says why a person may not approve what waits in a batch; nil if they
// may.
func (l Approvals) Barred(ctx context.Context, batch, by string) (*SecondError, error) {
	needed, err := l.needsSecond(ctx, l.read, batch)
	if err == nil && needed {
		err = l.mayApprove(ctx, l.read, batch, by)
	}
	var why *SecondError
	if errors.As(err, &why) {
		return why, nil
	}
	return nil, err
}

// ListApprovers lists who may approve a batch as its second person, by name.
func (l Approvals) ListApprovers(ctx context.Context, batch string) ([]string, error) {
	accounts, err := Accounts(l).List(ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, a := range accounts {
		if !a.May(Approver) {
			continue
		}
		err := l.mayApprove(ctx, l.read, batch, a.Name)
		switch {
		case errors.Is(err, ErrSecondPerson):
		case err != nil:
			return nil, err
		default:
			all = append(all, a.Name)
		}
	}
	return all, nil
}

// NeedsSecond reports whether a batch needs the approval of a second person where
// it is submitted under the context.
func (l Approvals) NeedsSecond(ctx context.Context, batch string) (bool, error) {
	return l.needsSecond(ctx, l.read, batch)
}

// waitsAgain marks rows of an open batch that a person has just made ready
// again, until release says whether they go.
const waitsAgain = "again"

// unknownAgain has a quote that was taken off a row count as none.
const unknownAgain = `quoted = CASE WHEN cost = 0 THEN 0 ELSE quoted END`

// release decides on the rows that are marked: they wait for the approval of a
// second person, unless the person of the context may give it or none is
// needed. They are ready by now, so what they cost counts.
func (db *database) release(ctx context.Context, tx *sql.Tx, batch string, approved bool) error {
	waits, message, err := db.reapprove(ctx, tx, batch, PartRetry, approved)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(
		ctx, `UPDATE rows
			SET waits = $2, message = CASE WHEN $2 = '' THEN message ELSE $3 END
			WHERE batch = $1 AND waits = '`+waitsAgain+`'`, batch, waits, message)
	return wrap("release the rows of batch "+batch, err)
}

// reapprove returns what rows of an open batch wait for that a person has made
// ready again: a second person, or, if no cost of theirs is approved, any approval.
func (db *database) reapprove(ctx context.Context, tx *sql.Tx, batch string, part Part,
	approved bool) (waits, message string, err error) {
	switch a, err := approvalOf(ctx, tx, batch); {
	case errors.Is(err, ErrNotFound): // whatever is asked of it changes nothing
		return "", "", nil
	case err != nil || !a.Open || a.State == ApprovalNeeded:
		return "", "", err
	}
	if !approved {
		waits, message = blockedOnApproval, fmt.Sprintf(
			"waiting for approval: no cost of the order was approved; importer approve %s", batch)
	}
	if needed, err := db.needsSecond(ctx, tx, batch); err != nil || !needed {
		return waits, message, err
	}
	if err := gather(ctx, tx, batch); err != nil {
		return "", "", err
	}
	by := auditPerson(ctx)
	if err = db.mayApprove(ctx, tx, batch, by); !errors.Is(err, ErrSecondPerson) {
		return waits, message, err
	}
	if err := contribute(ctx, tx, batch, by, part); err != nil {
		return "", "", err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE batches SET second = 1 WHERE id = $1`, batch); err != nil {
		return "", "", fmt.Errorf("record that batch %s needs a second person: %w", batch, err)
	}
	return blockedOnApproval, fmt.Sprintf(
		"waiting for approval: a second person approves that it is sent; importer approve %s", batch), nil
}
