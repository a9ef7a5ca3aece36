-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- The organization whose orders the ledger holds, as the filing service reported
-- it. Where it reports nothing, unnamed is a hash of the key and the address for
-- which a person decided.
CREATE TABLE organizations (
    created   TEXT   NOT NULL,
    domain    TEXT   NOT NULL,
    subdomain TEXT   NOT NULL,
    unnamed   TEXT   NOT NULL,
    name      TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (created, domain, subdomain, unnamed)
);

-- Who canceled a batch, and when.
ALTER TABLE batches ADD COLUMN canceled_by TEXT NOT NULL DEFAULT '';
ALTER TABLE batches ADD COLUMN canceled_at BIGINT NOT NULL DEFAULT 0;

-- A batch of corrected rows names the batch whose rows it corrects, and each of
-- its rows the number of the row that it corrects. When the batch is approved
-- its rows take the places of those.
ALTER TABLE batches ADD COLUMN corrects TEXT NOT NULL DEFAULT '';
ALTER TABLE rows ADD COLUMN corrects BIGINT NOT NULL DEFAULT 0;

-- The SHA-256 of the results files that were written as CSV: one that has
-- another was changed since, or is not ours.
CREATE TABLE written (
    hash TEXT PRIMARY KEY,
    at   BIGINT NOT NULL
);
