-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- Company lists are sealed like uploads: 1 says that the content is. Those that
-- were kept before are sealed when the ledger is opened.
ALTER TABLE rosters ADD COLUMN sealed INTEGER NOT NULL DEFAULT 0;
