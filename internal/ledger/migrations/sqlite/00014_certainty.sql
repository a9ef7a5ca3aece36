-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- How certain a cost is: 0 known, 1 estimated, 2 unknown in part, so that MAX()
-- is the certainty of a SUM(). The columns at_least and spent_least stay as they
-- were, for workers of an older version that are still running; a row that one of
-- those adds meanwhile counts as unknown.
ALTER TABLE rows ADD COLUMN certainty INTEGER NOT NULL DEFAULT 2;
ALTER TABLE rows ADD COLUMN spent_certainty INTEGER NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN certainty INTEGER NOT NULL DEFAULT 2;
UPDATE rows SET certainty = 2 * at_least, spent_certainty = 2 * spent_least;
UPDATE items SET certainty = 2 * at_least;
