-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- Commits are numbered within a lineage, so that a process notices a ledger
-- that went back in time. restored_at is when one did; nothing is sent from then
-- until a person ends it. settling_until is the moment before which nothing is
-- sent after the database server was started anew (server_started).
ALTER TABLE control ADD COLUMN commits BIGINT NOT NULL DEFAULT 0;
ALTER TABLE control ADD COLUMN lineage TEXT NOT NULL DEFAULT '';
ALTER TABLE control ADD COLUMN restored_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE control ADD COLUMN restored_note TEXT NOT NULL DEFAULT '';
ALTER TABLE control ADD COLUMN server_started TEXT NOT NULL DEFAULT '';
ALTER TABLE control ADD COLUMN settling_until BIGINT NOT NULL DEFAULT 0;

-- The highest migration and the program that ran it: a running program that does
-- not know it sends nothing more.
ALTER TABLE control ADD COLUMN schema_version BIGINT NOT NULL DEFAULT 0;
ALTER TABLE control ADD COLUMN written_by TEXT NOT NULL DEFAULT '';

-- changed_at is the time of the last change. An SQLite ledger's clock is
-- clock_base plus how long its machine has been up, in milliseconds: nobody sets
-- that one ahead or back.
ALTER TABLE control ADD COLUMN changed_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE control ADD COLUMN clock_base BIGINT NOT NULL DEFAULT 0;

-- The time-out of the requests that a process sends, in milliseconds: for so long
-- after its death the service may still be at work on one.
ALTER TABLE owners ADD COLUMN timeout BIGINT NOT NULL DEFAULT 0;

-- Moments before this version were those of many clocks.
UPDATE control SET hold_until = 0, probe_at = 0;
UPDATE rows SET due = 0 WHERE due > 0;
