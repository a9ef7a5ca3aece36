package web

import (
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/importer"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// corrections are the new values of cells of an upload. They may be Social
// Security numbers: the batch's ID contains a hash of them, and the salt prevents
// guessing numbers from it.
type corrections struct {
	Salt     string              `json:"salt"`
	Edits    []importer.Edit     `json:"edits"`
	Excluded importer.Exclusions `json:"excluded,omitempty"`
	Of       string              `json:"of,omitempty"`   // the batch whose rows are corrected
	Rows     []int               `json:"rows,omitempty"` // their numbers there
	// why rows of the corrected batch were refused, by number there
	Refused map[int]string `json:"refused,omitempty"`
	Changes []gridChange   `json:"changes,omitempty"` // in the grid, the oldest first
	Last    int            `json:"last,omitempty"`    // the number of the last change
}

func correctionsOf(u ledger.Upload) (corrections, error) {
	c := corrections{Salt: rand.Text()}
	if len(u.Edits) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(u.Edits, &c); err != nil {
		return c, fmt.Errorf("read the corrections of the spreadsheet %s: %w", u.File, err)
	}
	return c, nil
}
