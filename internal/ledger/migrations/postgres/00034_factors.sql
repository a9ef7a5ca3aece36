-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- Second factors. The secret of an authenticator app is sealed, and last is the
-- time step of the code that was used last: an earlier one is refused. A passkey
-- is a public key as JSON, found by its credential id.
CREATE TABLE factors (
    id         TEXT PRIMARY KEY,
    account    TEXT   NOT NULL REFERENCES accounts (id),
    kind       TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    credential TEXT   NOT NULL DEFAULT '',
    data       TEXT   NOT NULL,
    last       BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX factors_of_account ON factors (account);
CREATE UNIQUE INDEX factors_credential ON factors (credential) WHERE credential <> '';

-- Of recovery codes only their SHA-256 is kept: each has 120 random bits.
CREATE TABLE recovery_codes (
    account TEXT NOT NULL REFERENCES accounts (id),
    hash    TEXT NOT NULL,
    PRIMARY KEY (account, hash)
);

-- Sign-ins, enrollments and links to a provider that have begun and wait for
-- their second half. What they remember is sealed, and each is used once.
CREATE TABLE flows (
    hash    TEXT PRIMARY KEY,
    kind    TEXT   NOT NULL,
    data    TEXT   NOT NULL,
    ends_at BIGINT NOT NULL
);
CREATE INDEX flows_end ON flows (ends_at);

-- How the second factor of a session was checked; empty for not at all.
ALTER TABLE sessions ADD COLUMN factor TEXT NOT NULL DEFAULT '';

-- When whoever has the session proved last who they are, beyond having it.
ALTER TABLE sessions ADD COLUMN confirmed_at BIGINT NOT NULL DEFAULT 0;

-- The firm's rules of signing in.
CREATE TABLE sign_in_rules (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    second_factor  INTEGER NOT NULL DEFAULT 0,
    trust_provider INTEGER NOT NULL DEFAULT 0
);
INSERT INTO sign_in_rules (id) VALUES (1);
