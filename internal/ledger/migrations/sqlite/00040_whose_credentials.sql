-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- Since when the account's credentials have come through links of people in
-- "behind" without anybody vouching for the account; 0 for its owner's own. A
-- second factor shows that the owner signs in if it is older than this. Of
-- accounts from before, the first such link is not known: no factor of theirs is
-- older than the account.
ALTER TABLE accounts ADD COLUMN unvouched_since BIGINT NOT NULL DEFAULT 0;
UPDATE accounts SET unvouched_since = created_at WHERE behind <> '';
ALTER TABLE accounts DROP COLUMN replaced;

-- When a person of the sign-in provider was unlinked from the account; 0 for who
-- is linked. Who was unlinked stays known: they get no second account.
ALTER TABLE identities ADD COLUMN unlinked_at BIGINT NOT NULL DEFAULT 0;
