-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- Secret addresses at which calendar programs read due dates, by the SHA-256 of
-- the secret. Each is an account's, and ends with it.
CREATE TABLE calendar_feeds (
    hash       TEXT PRIMARY KEY,
    id         TEXT   NOT NULL,
    account    TEXT   NOT NULL REFERENCES accounts (id),
    created_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX calendar_feeds_id ON calendar_feeds (id);
CREATE INDEX calendar_feeds_of_account ON calendar_feeds (account);

-- The firm's own time zone: of its reminders, its statements and its days. Empty
-- for that of its schedules.
CREATE TABLE firm_zone (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    zone       TEXT   NOT NULL DEFAULT '',
    changed_by TEXT   NOT NULL DEFAULT '',
    changed_at BIGINT NOT NULL DEFAULT 0
);
INSERT INTO firm_zone (id) VALUES (1);
