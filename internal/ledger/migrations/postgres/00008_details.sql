-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- What the network itself said of an attempt, where its message is in plain
-- words.
ALTER TABLE attempts ADD COLUMN detail TEXT NOT NULL DEFAULT '';
