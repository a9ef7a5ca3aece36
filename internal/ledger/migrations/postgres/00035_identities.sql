-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- Persons as a sign-in provider knows them. An issuer and a subject are one
-- person for ever; a name or an email address is not.
CREATE TABLE identities (
    issuer     TEXT   NOT NULL,
    subject    TEXT   NOT NULL,
    account    TEXT   NOT NULL REFERENCES accounts (id),
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_of_account ON identities (account);

-- The provider that manages an account: it was made at its first sign-in there,
-- and its roles are those of its groups. Empty for a local account.
ALTER TABLE accounts ADD COLUMN managed_by TEXT NOT NULL DEFAULT '';

-- An account that signs in by its password when all others have to use the
-- provider.
ALTER TABLE accounts ADD COLUMN break_glass INTEGER NOT NULL DEFAULT 0;

-- The sealed ID token of a session that a provider began: the provider ends its
-- own session by it.
ALTER TABLE sessions ADD COLUMN provider_token TEXT NOT NULL DEFAULT '';
