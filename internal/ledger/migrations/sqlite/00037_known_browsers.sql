-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- Browsers in which an account signed in before. Of the secret in their cookie
-- only the SHA-256 is kept.
CREATE TABLE known_browsers (
    hash       TEXT PRIMARY KEY,
    account    TEXT   NOT NULL REFERENCES accounts (id),
    network    TEXT   NOT NULL,
    agent      TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL
);
CREATE INDEX known_browsers_of_account ON known_browsers (account);

-- The family of the browser that a session was begun in.
ALTER TABLE sessions ADD COLUMN agent TEXT NOT NULL DEFAULT '';

-- Failures were counted by name alone; now they count by name and address.
DELETE FROM failures;
