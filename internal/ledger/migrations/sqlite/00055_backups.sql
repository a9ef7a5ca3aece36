-- +goose Up
-- Any statement that places orders waits here, so that no lock of it meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- The backups of the ledger, the failed ones too. Of one that is being made ended_at
-- is 0.
CREATE TABLE backups (
    id         TEXT PRIMARY KEY,
    started_at BIGINT  NOT NULL,
    ended_at   BIGINT  NOT NULL DEFAULT 0,
    host       TEXT    NOT NULL,
    file       TEXT    NOT NULL,
    bytes      BIGINT  NOT NULL DEFAULT 0,
    commits    BIGINT  NOT NULL DEFAULT 0,
    encrypted  INTEGER NOT NULL DEFAULT 0,
    scheduled  INTEGER NOT NULL DEFAULT 0,
    failure    TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX backups_started ON backups (started_at);
