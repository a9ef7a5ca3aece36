-- +goose Up
-- Any statement that places orders waits here, so that no lock of it meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- The restores of the ledger from a backup. What was ordered between backup_at and
-- restored_at is not in it.
CREATE TABLE restores (
    generation     TEXT PRIMARY KEY,
    restored_at    BIGINT  NOT NULL,
    restored_by    TEXT    NOT NULL,
    host           TEXT    NOT NULL,
    file           TEXT    NOT NULL,
    backup_at      BIGINT  NOT NULL,
    last_row       BIGINT  NOT NULL, -- the highest of the rows that the backup has
    uncertain      BIGINT  NOT NULL, -- rows that were being sent at the backup
    schedules      TEXT    NOT NULL, -- that were paused: a JSON array
    resumed_at     BIGINT  NOT NULL DEFAULT 0,
    resumed_by     TEXT    NOT NULL DEFAULT '',
    check_ended_at BIGINT  NOT NULL DEFAULT 0,
    check_ended_by TEXT    NOT NULL DEFAULT ''
);

-- While check_generation is set, a row is sent only after it was checked in that
-- generation: a person has said that it was not ordered between the backup and the
-- restore, or has resolved it.
ALTER TABLE control ADD COLUMN check_generation TEXT NOT NULL DEFAULT '';
ALTER TABLE rows ADD COLUMN checked TEXT NOT NULL DEFAULT '';

-- Notifications that are still to be sent have the kinds' present names.
UPDATE notices SET kind = 'approval-needed' WHERE kind = 'approval-wanted';
UPDATE notices SET kind = 'rejected' WHERE kind = 'not-approved';
