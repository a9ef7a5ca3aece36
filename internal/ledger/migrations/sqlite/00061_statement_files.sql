-- +goose Up
-- Any statement that places orders waits here, so that no lock of it meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- The files of statements, as they were given, and how they are read. One that was never
-- reconciled is deleted after a day.
CREATE TABLE statement_files (
    hash     TEXT PRIMARY KEY,
    file     TEXT    NOT NULL,
    content  BLOB    NOT NULL,
    options  TEXT    NOT NULL, -- JSON
    kept_at  BIGINT  NOT NULL,
    kept_by  TEXT    NOT NULL
);
