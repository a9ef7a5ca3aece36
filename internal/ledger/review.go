package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/audit"
	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/outbox"
	"github.com/bulkfiling/bulkfiling/internal/store"
)

// Reviewed is the result of a comparison of a row with the filing service's record of its company.
type Reviewed struct {
	Row int64
	// Result is Ready, or Invalid if the row must not be sent.
	Result  filing.Result
	Message string
	// Faults are all faults of the row.
	Faults []Fault
	// Request replaces the row's request if the review completed it. Nil otherwise.
	Request *filing.Request
}

// HeldBack reports whether a row was read as an order and is not sent because it differs from the
// filing service's record. A row that could not be read as an order has no request.
func (r *Row) HeldBack() bool { return r.Result == filing.Invalid && r.Request != nil }

// RecordReview records comparisons. It changes only rows that were never sent and rows that an
// earlier comparison held back. A row that was sent since stays unchanged.
func (l *Ledger) RecordReview(ctx context.Context, batch string, all []Reviewed) error {
	if len(all) == 0 {
		return nil
	}
	records := make([]store.Record, len(all))
	for i, r := range all {
		faults, err := encodeJSON(r.Faults, len(r.Faults) == 0)
		if err != nil {
			return fmt.Errorf("encode the faults of row %d: %w", r.Row, err)
		}
		stored, _ := withoutSecret(r.Request)
		request, err := encodeJSON(stored, stored == nil)
		if err != nil {
			return fmt.Errorf("encode row %d: %w", r.Row, err)
		}
		records[i] = store.Record{
			store.Number("id", r.Row),
			store.Text("result", r.Result),
			store.Text("message", r.Message),
			store.Text("faults", faults),
			store.Text("request", request),
			store.Number("at", store.ToMillis(l.Now())),
			store.Text("batch", batch),
		}
	}
	released := slices.ContainsFunc(all, func(r Reviewed) bool { return r.Result == filing.Ready })
	err := l.change(audit.Without(ctx), func(tx *Tx) error {
		// Rows that were held back may wait for a second person. A ready row stays unchanged.
		err := l.ExecRecords(
			ctx, tx.Tx, `UPDATE rows
				SET result = v.result,
					message = CASE WHEN v.result = rows.result OR rows.blocked_on = 'approval' THEN rows.message
						ELSE v.message END,
					faults = v.faults,
					request = CASE WHEN v.request = '' THEN rows.request ELSE v.request END,
					blocked_on = CASE WHEN v.result <> 'ready' THEN ''
						WHEN rows.result = 'invalid' THEN '`+blockedOnRelease+`' ELSE rows.blocked_on END,
					awaited_key = CASE WHEN v.result <> 'ready' OR rows.result = 'invalid' THEN ''
						ELSE rows.awaited_key END,
					quoted = CASE WHEN rows.result = 'invalid' AND cost = 0 THEN 0 ELSE quoted END,
					updated_at = CASE WHEN v.result = rows.result THEN rows.updated_at ELSE v.at END {{v}}
				WHERE rows.id = v.id AND rows.uncertain = 0 AND rows.withdrawn = 0 AND (rows.result = 'ready'
					OR rows.result = 'invalid' AND rows.request <> '' AND rows.batch = v.batch)`,
			records)
		if err != nil {
			return err
		}
		if released {
			if err := tx.release(ctx, batch, false); err != nil {
				return err
			}
			// The batch may end again.
			if err := outbox.EndWithin(ctx, tx, outbox.KindBatch, batch); err != nil {
				return err
			}
		}
		return tx.AllocateFunds(ctx)
	})
	return store.Wrap(fmt.Sprintf("save the review of %d rows", len(all)), err)
}

// NamedCompany is a known company that a row names without its ID.
type NamedCompany struct {
	// Company has an empty ID while the ID is unknown.
	Company filing.Company
	// Row is the row that formed the company. Zero if the company was created or looked up.
	Row    int64
	Number int
	Batch  string
	// Formed reports whether the formation is placed. False while its request is in flight.
	Formed bool
}

// FindNamed finds the companies that were formed, created or looked up here by user, name and
// state. The result is by the keys of their creation.
func (l Companies) FindNamed(ctx context.Context, wanted []filing.NewCompany) (map[filing.Key]NamedCompany, error) {
	found := make(map[filing.Key]NamedCompany)
	if len(wanted) == 0 {
		return found, nil
	}
	var refs, formations []string
	// of maps the keys of formations to the keys of creations.
	of := make(map[string]filing.Key)
	for _, c := range wanted {
		key := c.Key()
		refs, formations = append(refs, string(key)), append(formations, string(c.FormationKey()))
		of[string(c.FormationKey())] = key
	}
	companies, err := l.Find(ctx, refs)
	if err != nil {
		return nil, err
	}
	for ref, c := range companies {
		found[filing.Key(ref)] = NamedCompany{Company: c, Formed: true}
	}
	for some := range slices.Chunk(formations, pageSize) {
		in, args := store.Among(l.Dialect, some)
		rows, err := store.List[struct {
			Key string
			NamedCompany
			ID      string
			Request *filing.Request
		}](ctx, l.Read, "find the companies that were formed",
			`SELECT p.key, p.bought AS formed, r.id AS row, r.number, r.batch, r.company AS "id", r.request
				FROM purchases p JOIN rows r ON r.id = p.row
				WHERE p.key `+in+` ORDER BY p.bought`, args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if found[of[r.Key]].Company.ID != "" {
				continue
			}
			if r.Request != nil && r.Request.Order.Formation != nil {
				formed := r.Request.Order.Formation.Company
				formed.ID, formed.FormationState, formed.Officers = r.ID, r.Request.Order.FilingState, nil
				r.Company = formed
			}
			found[of[r.Key]] = r.NamedCompany
		}
	}
	return found, nil
}

// RememberNames saves companies under the keys of their creation, so that rows that name them
// without an ID find them. A known name stays unchanged, unless it was confirmed for one company
// and is the legal name of another.
func (l Companies) RememberNames(ctx context.Context, named map[filing.Key]filing.Company) error {
	if len(named) == 0 {
		return nil
	}
	refs := make([]string, 0, len(named))
	for key := range named {
		refs = append(refs, string(key))
	}
	slices.Sort(refs)
	known, err := l.Find(ctx, refs)
	if err != nil {
		return err
	}
	var records []store.Record
	for _, ref := range refs {
		isLegal := func(c filing.Company) bool {
			return filing.NewCompany{LegalName: c.LegalName, FormationState: c.FormationState}.Key() == filing.Key(ref)
		}
		if old, ok := known[ref]; ok && (isLegal(old) || !isLegal(named[filing.Key(ref)])) {
			continue
		}
		body, err := json.Marshal(named[filing.Key(ref)])
		if err != nil {
			return fmt.Errorf("save the company %s: %w", ref, err)
		}
		// They count as a lookup for no batch.
		records = append(records,
			store.Record{store.Text("ref", ref), store.Text("record", string(body)), store.Number("at", 0)})
	}
	if len(records) == 0 {
		return nil
	}
	err = l.change(audit.Without(ctx), func(tx *Tx) error {
		return l.ExecRecords(
			ctx, tx.Tx, `INSERT INTO companies (ref, record, at)
				SELECT v.ref, v.record, v.at {{v}}
				WHERE TRUE ON CONFLICT (ref) DO UPDATE SET record = excluded.record, at = excluded.at`,
			records)
	})
	return store.Wrap(fmt.Sprintf("save the names of %d companies", len(records)), err)
}

// NameOnFile is the name of a company that was bought or looked up here.
type NameOnFile struct {
	Name  string
	State filing.State
	// Company is the company's ID. Empty if unknown.
	Company string
	// Bought is empty if the company was looked up.
	Bought filing.Product
	Batch  string
	File   string
	Number int
	At     time.Time
}

// ListNames lists the names of companies that were formed, created or looked up here.
func (l Companies) ListNames(ctx context.Context) ([]NameOnFile, error) {
	var all []NameOnFile
	seen := make(map[string]bool)
	bought, err := store.List[struct {
		NameOnFile
		Request *filing.Request
	}](ctx, l.Read, "list the names that were bought",
		`SELECT p.product AS bought, p.at, r.batch, r.number, r.company, r.request, b.file
			FROM purchases p JOIN rows r ON r.id = p.row JOIN batches b ON b.id = r.batch
			WHERE r.request <> '' AND p.product IN ('`+string(filing.Formation)+`', '`+string(filing.CompanyRecord)+`')
			ORDER BY p.at, p.key`)
	if err != nil {
		return nil, err
	}
	for _, n := range bought {
		n.Name, n.State = n.Request.LegalName(), n.Request.Company.Sheet.FormationState
		if n.Request.Order.Formation != nil {
			n.State = n.Request.Order.FilingState
		}
		// A formation may also have an older key.
		if one := n.Batch + "|" + fmt.Sprint(n.Number); !seen[one] {
			seen[one] = true
			all = append(all, n.NameOnFile)
		}
		seen[n.Company] = true
	}
	known, err := store.List[struct {
		Record filing.Company
		At     time.Time
	}](ctx, l.Read, "list the companies on file",
		`SELECT record, at FROM companies WHERE ref NOT LIKE 'company|%' ORDER BY at, ref`)
	for _, k := range known {
		if c := k.Record; c.LegalName != "" && !seen[c.ID] {
			seen[c.ID] = true
			all = append(all, NameOnFile{Name: c.LegalName, State: c.FormationState, Company: c.ID, At: k.At})
		}
	}
	return all, err
}
