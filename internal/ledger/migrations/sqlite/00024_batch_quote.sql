-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- The quote that was made of the batch last, as JSON: whoever approves it sees
-- what the preparer saw.
ALTER TABLE batches ADD COLUMN quote TEXT NOT NULL DEFAULT '';
