-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- Names are folded, roles are words between spaces, a password is what argon2id
-- made of it.
CREATE TABLE accounts (
    id           TEXT PRIMARY KEY,
    name         TEXT    NOT NULL,
    roles        TEXT    NOT NULL,
    disabled     INTEGER NOT NULL DEFAULT 0,
    password     TEXT    NOT NULL DEFAULT '',
    created_at   BIGINT  NOT NULL,
    signed_in_at BIGINT  NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX accounts_name ON accounts (name);

-- Of the secrets of sessions and links only their SHA-256 is kept.
CREATE TABLE sessions (
    hash       TEXT PRIMARY KEY,
    account    TEXT   NOT NULL REFERENCES accounts (id),
    origin     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    ends_at    BIGINT NOT NULL
);
CREATE INDEX sessions_of_account ON sessions (account);

CREATE TABLE tickets (
    hash       TEXT PRIMARY KEY,
    account    TEXT   NOT NULL REFERENCES accounts (id),
    created_at BIGINT NOT NULL,
    ends_at    BIGINT NOT NULL
);
CREATE INDEX tickets_of_account ON tickets (account);

-- Failures to sign in, by the SHA-256 of the name that was given: people type
-- their passwords into the wrong field.
CREATE TABLE failures (
    hash   TEXT PRIMARY KEY,
    count  BIGINT NOT NULL,
    until  BIGINT NOT NULL,
    at     BIGINT NOT NULL,
    origin TEXT   NOT NULL
);
CREATE INDEX failures_at ON failures (at);

-- Who did what. The id is the asker's: what is asked twice is done once.
CREATE TABLE acts (
    seq    INTEGER PRIMARY KEY,
    id     TEXT   NOT NULL,
    at     BIGINT NOT NULL,
    person TEXT   NOT NULL,
    origin TEXT   NOT NULL,
    what   TEXT   NOT NULL,
    object TEXT   NOT NULL,
    note   TEXT   NOT NULL
);
CREATE UNIQUE INDEX acts_id ON acts (id);
CREATE INDEX acts_of_object ON acts (object, seq);

-- The firm's own rules.
CREATE TABLE firm (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    second_person INTEGER NOT NULL DEFAULT 0
);
INSERT INTO firm (id) VALUES (1);

-- What a process is, and whether it places. One of an earlier version does not
-- say, and counts as one that does.
ALTER TABLE owners ADD COLUMN what TEXT NOT NULL DEFAULT '';
ALTER TABLE owners ADD COLUMN places INTEGER NOT NULL DEFAULT 1;
