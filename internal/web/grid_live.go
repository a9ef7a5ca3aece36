package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// gridLive are the parts of a grid that it follows while it is open, by the names
// of their events.
type gridLive struct {
	Version gridVersion `json:"version"`
	State   gridState   `json:"state"`
	Counts  gridCounts  `json:"counts"`
	Groups  []gridGroup `json:"groups"`
	Cost    gridCost    `json:"cost"`
}

// gridVersion grows when someone changes the rows. Learned grows when look-ups
// add to them.
type gridVersion struct {
	Version int `json:"version"`
	Learned int `json:"learned"`
}

// followGrid streams the changes of an upload: an event for each part that has
// changed. Where the upload has gone, the event is "gone".
func (s *Site) followGrid(v *request) error {
	id := v.r.PathValue("sheet")
	if _, err := s.findUpload(v); err != nil {
		return err
	}
	var last gridLive
	counted := 0
	return s.stream(v, "grid "+id, s.gridSnapshots(id), func(g snapshot, n int) {
		if n == counted {
			return
		}
		first := counted == 0
		counted = n
		if g.Gone {
			event(v.w, "gone", "")
			return
		}
		var now gridLive
		if json.Unmarshal(g.Panel, &now) != nil {
			return
		}
		for _, part := range []struct {
			name        string
			before, now any
		}{
			{"version", last.Version, now.Version}, {"state", last.State, now.State},
			{"counts", last.Counts, now.Counts},
			{"groups", last.Groups, now.Groups}, {"cost", last.Cost, now.Cost},
		} {
			before, _ := json.Marshal(part.before)
			after, _ := json.Marshal(part.now)
			if first || string(before) != string(after) {
				event(v.w, part.name, string(after))
			}
		}
		last = now
	})
}

// gridSnapshots returns a function that looks at the grid of an upload. Rows are
// counted and grouped where they have changed since the last look.
func (s *Site) gridSnapshots(id string) func(context.Context) (snapshot, error) {
	var last gridLive
	return func(ctx context.Context) (snapshot, error) {
		var now gridLive
		err := s.drafts.withDraft(ctx, id, func(h *heldDraft, u ledger.Upload) error {
			s.queue.prepareIfIdle(u)
			now = gridLive{
				Version: gridVersion{h.version, h.learned},
				State:   s.gridState(u),
				Cost:    gridCostOf(u),
				Counts:  last.Counts,
				Groups:  last.Groups,
			}
			if now.Version != last.Version || last.Groups == nil {
				now.Counts, now.Groups = countRows(h.draft), shownGroups(groupProblems(h.draft))
			}
			return nil
		})
		if errors.Is(err, ledger.ErrNotFound) {
			return snapshot{Gone: true}, nil
		}
		if err != nil {
			return snapshot{}, err
		}
		last = now
		panel, err := json.Marshal(now)
		if err != nil {
			return snapshot{}, fmt.Errorf("encode the grid of %s: %w", id, err)
		}
		return snapshot{Panel: panel}, nil
	}
}
