-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- Links that let somebody in once, by the SHA-256 of their secret, and who made
-- them. Those of before do not say who did: they end here.
DROP TABLE tickets;
CREATE TABLE sign_in_links (
    hash       TEXT PRIMARY KEY,
    id         TEXT   NOT NULL,
    account    TEXT   NOT NULL REFERENCES accounts (id),
    made_by    TEXT   NOT NULL,
    behind     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    ends_at    BIGINT NOT NULL
);
CREATE UNIQUE INDEX sign_in_links_id ON sign_in_links (id);
CREATE INDEX sign_in_links_of_account ON sign_in_links (account);

-- Through whose links the account's present credentials came: a JSON list of
-- names. Where they replaced others they stay until somebody vouches for the
-- account. What the owner is to know of the last link, made by somebody else.
ALTER TABLE accounts ADD COLUMN behind TEXT NOT NULL DEFAULT '';
ALTER TABLE accounts ADD COLUMN replaced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN link_by TEXT NOT NULL DEFAULT '';
ALTER TABLE accounts ADD COLUMN link_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN link_used_at BIGINT NOT NULL DEFAULT 0;
