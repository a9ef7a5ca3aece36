package approval

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkfiling/bulkfiling/internal/account"
	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// A person contributes to the orders of a batch by uploading it, changing it, having it sent again,
// or making the company list behind it. Under the approval policy no contributor approves the
// batch. Nor does a person who made the sign-in link of a contributor, or who signed in through a
// link of a contributor.

// Part is the way in which a person contributed to a batch's orders.
type Part string

// The parts. A direct part takes precedence over PartLink.
const (
	// PartUpload means that the person uploaded the spreadsheet.
	PartUpload Part = "upload"
	// PartEdit means that the person corrected it on the page.
	PartEdit Part = "edit"
	// PartSubmit means that the person submitted it.
	PartSubmit Part = "submit"
	// PartSchedule means that the person made the schedule.
	PartSchedule Part = "schedule"
	// PartList means that the person changed the company list, or how it is read.
	PartList Part = "company-list"
	// PartRetry means that the person had rows sent again.
	PartRetry Part = "retry"
	// PartResolve means that the person marked a row as not placed.
	PartResolve Part = "resolve"
	// PartLink means that the person made the sign-in link of a contributor.
	PartLink Part = "link"
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

// SecondError is the reason why a person may not approve. It matches ErrSecondPerson.
type SecondError struct {
	// By is the name of the person who may not approve. Empty if unknown.
	By string
	// Part is the contribution of By, or of Other if set. Empty if By may approve nothing.
	Part Part
	// Other is another person who contributed.
	Other string
	// Linked is the person who signed in through a link of By or of Other.
	Linked string
	// Typed reports whether a command asks and the policy covers commands. An approver must then
	// sign in to the page.
	Typed bool
}

// Is reports whether target is ErrSecondPerson.
func (*SecondError) Is(target error) bool { return target == ErrSecondPerson }

func (e *SecondError) Error() string {
	return ErrSecondPerson.Error() + ": " + e.say(cmp.Or(e.By, "the person who asks"), "does")
}

// ToYou returns the message for the person who may not approve.
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

// contribute records that a person contributes to the orders of an object. It also records the
// makers of the links through which the person signed in last.
func contribute(ctx context.Context, tx *sql.Tx, object, by string, part Part) error {
	if by == "" {
		return nil
	}
	linked, err := account.LinkMakers(ctx, tx, by)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO contributors (object, person, part) VALUES ($1,$2,$3)
		ON CONFLICT (object, person) DO UPDATE SET part = excluded.part WHERE contributors.part LIKE 'link%'`, object,
		account.PersonName(by), part); err != nil {
		return fmt.Errorf("record the contributors of %s: %w", object, err)
	}
	for _, maker := range linked {
		if _, err := tx.ExecContext(ctx, `INSERT INTO contributors (object, person, part) VALUES ($1,$2,$3)
			ON CONFLICT (object, person) DO NOTHING`, object, maker, linkTo(account.PersonName(by))); err != nil {
			return fmt.Errorf("record the contributors of %s: %w", object, err)
		}
	}
	return nil
}

// linkTo is the part of the person who made the link of a contributor.
func linkTo(name string) Part { return PartLink + " " + Part(name) }

// copyContributors makes the contributors to one object contributors to another.
func copyContributors(ctx context.Context, tx *sql.Tx, from, to string) error {
	_, err := tx.ExecContext(
		ctx, `INSERT INTO contributors (object, person, part)
			SELECT $2, person, part FROM contributors
			WHERE object = $1
			ON CONFLICT (object, person) DO UPDATE SET
				part = CASE WHEN contributors.part LIKE 'link%' THEN excluded.part ELSE contributors.part END`,
		from, to)
	return store.Wrap("copy who takes part in "+from, err)
}

func uploadObject(id string) string { return "upload " + id }

// scheduleObject identifies a company list of a schedule. Each person who gave it to the schedule,
// or set how it is read, contributes to every batch that is made from it. They remain contributors
// if another person restores the list.
func scheduleObject(name, list string) string { return "schedule " + name + " " + list }

// ContributeToSchedule records within a change that a person contributes to every batch that a schedule
// makes from a company list.
func ContributeToSchedule(ctx context.Context, tx *sql.Tx, schedule, companyList, by string, part Part) error {
	return contribute(ctx, tx, scheduleObject(schedule, companyList), by, part)
}

// gather makes the contributors to a batch's uploads, or to the schedule that made the batch,
// contributors to the batch. Without either, the creator of the batch contributes to it.
func gather(ctx context.Context, tx *sql.Tx, batch string) error {
	var from []string
	for _, query := range []string{`SELECT 'upload ' || id FROM uploads WHERE batch = $1`,
		`SELECT 'schedule ' || schedule || ' ' || company_list FROM schedule_runs WHERE batch = $1`} {
		objects, err := store.List[string](ctx, tx, "read what batch "+batch+" was made from", query, batch)
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
	by, err := store.Find[string](ctx, tx, nil, "read who made batch "+batch,
		`SELECT created_by FROM batches WHERE id = $1`, batch)
	if err != nil {
		return err
	}
	return contribute(ctx, tx, batch, by, PartUpload)
}

// needsSecond reports whether a batch needs the approval of a person who does not contribute to it,
// according to its current rows and the current policy. A batch that once needed such an approval
// keeps needing it, also as a corrected draft.
func needsSecond(ctx context.Context, q store.Querier, batch string) (bool, error) {
	p, err := policy(ctx, q)
	if err != nil {
		return false, err
	}
	b, err := store.Find[struct{ Needed, Scheduled bool }](ctx, q, ledger.ErrNotFound,
		"read what batch "+batch+" needs",
		`SELECT CASE WHEN b.second = 1
				OR EXISTS (SELECT 1 FROM batches o WHERE o.id = b.corrects AND o.second = 1)
				OR EXISTS (SELECT 1 FROM uploads u WHERE u.batch = b.id AND u.second = 1) THEN 1 ELSE 0 END AS needed,
			EXISTS (SELECT 1 FROM schedule_runs f WHERE f.batch = b.id) AS scheduled
		FROM batches b WHERE b.id = $1`, batch)
	switch {
	case err != nil:
		return false, err
	case b.Needed, !p.Second, audit.IsAtTerminal(ctx) && !p.Terminal && !b.Scheduled:
		return b.Needed, nil
	case p.From == 0:
		return true, nil
	}
	cost, err := batchCost(ctx, q, batch)
	return p.Covers(cost), err
}

// batchCost returns the cost of everything that a batch orders or has ordered, together with the
// batch that it corrects and the other corrections of that batch. A row without a quote makes the
// cost unknown.
func batchCost(ctx context.Context, q store.Querier, batch string) (cost money.Cost, err error) {
	var unknown, certainty int
	err = q.QueryRowContext(
		ctx, `WITH RECURSIVE family (id, corrects) AS (
				SELECT id, corrects FROM batches WHERE id = $1
				UNION
				SELECT b.id, b.corrects
				FROM batches b JOIN family f ON b.id = f.corrects OR b.corrects = f.id AND b.open = 1)
			SELECT CAST(COALESCE(SUM(cost + spent), 0) AS BIGINT),
				COALESCE(MAX(CASE WHEN certainty >= $2 OR quoted = 0 AND (last_attempt = 0 OR cost + spent = 0) THEN 1
				ELSE 0 END), 0), COALESCE(MAX(certainty), 0)
			FROM rows
			WHERE batch IN (SELECT id FROM family) AND (result IN (`+ordering+
			`) OR result = 'invalid' AND request <> '' AND quoted = 1)`,
		batch, int(money.Unknown)).Scan(&cost.Amount, &unknown, &certainty)
	if cost.Certainty = money.Certainty(certainty); unknown > 0 {
		cost.Certainty = money.Unknown
	}
	return cost, store.Wrap("sum up batch "+batch, err)
}

// ordering lists the results of rows that order something, or did.
const ordering = `'ready', 'placing', 'placed', 'uncertain', 'canceled', 'rejected'`

// mayApprove returns a *SecondError if a person may not approve a batch as its
// second person.
func mayApprove(ctx context.Context, q store.Querier, batch, by string) error {
	if audit.IsAtTerminal(ctx) {
		if p, err := policy(ctx, q); err != nil || p.Terminal {
			return cmp.Or(err, error(&SecondError{By: by, Typed: true}))
		}
	}
	name := account.PersonName(by)
	a, err := account.Find(ctx, q, name)
	switch {
	case err != nil && !errors.Is(err, ledger.ErrNotFound):
		return err
	case !a.May(account.Approver):
		return &SecondError{By: by}
	}
	contributors, err := store.List[struct {
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

// Barred returns the reason why a person may not approve a batch, or nil if the person may.
func (l *Approvals) Barred(ctx context.Context, batch, by string) (*SecondError, error) {
	needed, err := needsSecond(ctx, l.ledger.Read, batch)
	if err == nil && needed {
		err = mayApprove(ctx, l.ledger.Read, batch, by)
	}
	var why *SecondError
	if errors.As(err, &why) {
		return why, nil
	}
	return nil, err
}

// ListApprovers lists who may approve a batch as its second person, by name.
func (l *Approvals) ListApprovers(ctx context.Context, batch string) ([]string, error) {
	accounts, err := account.List(ctx, l.ledger.Read)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, a := range accounts {
		if !a.May(account.Approver) {
			continue
		}
		err := mayApprove(ctx, l.ledger.Read, batch, a.Name)
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

// NeedsSecond reports whether a batch needs the approval of a second person if it is submitted
// under the context.
func (l *Approvals) NeedsSecond(ctx context.Context, batch string) (bool, error) {
	return needsSecond(ctx, l.ledger.Read, batch)
}
