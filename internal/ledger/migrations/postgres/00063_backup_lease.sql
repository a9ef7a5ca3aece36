-- +goose Up
-- Any statement that places orders waits here, so that no lock of it meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- When the process that makes a backup last said so.
ALTER TABLE backups ADD COLUMN alive_at BIGINT NOT NULL DEFAULT 0;
UPDATE backups SET alive_at = started_at;
