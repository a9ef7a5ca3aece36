-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- What became of a batch's approval, one entry for each step: who did what, why,
-- and for which rows at which cost. The object is a batch's id, or "upload ID"
-- while a batch that was sent back is a draft again.
CREATE TABLE approval_history (
    id        INTEGER PRIMARY KEY,
    object    TEXT    NOT NULL,
    at        BIGINT  NOT NULL,
    person    TEXT    NOT NULL,
    what      TEXT    NOT NULL,
    comment   TEXT    NOT NULL DEFAULT '',
    plan      TEXT    NOT NULL DEFAULT '',
    orders    BIGINT  NOT NULL DEFAULT 0,
    cents     BIGINT  NOT NULL DEFAULT 0,
    certainty INTEGER NOT NULL DEFAULT 0,
    quote     TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX approval_history_of ON approval_history (object, id);

-- From which amount two people approve a batch; 0 for never.
ALTER TABLE approval_policy ADD COLUMN two_from_cents BIGINT NOT NULL DEFAULT 0;

-- Whether a batch needs two approvals, and the first of them with the plan that
-- it was given to.
ALTER TABLE batches ADD COLUMN two INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN first_by TEXT NOT NULL DEFAULT '';
ALTER TABLE batches ADD COLUMN first_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN first_plan TEXT NOT NULL DEFAULT '';

-- What an account may approve at most, 0 for any amount, and where messages to its
-- owner go.
ALTER TABLE accounts ADD COLUMN approve_up_to BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN email TEXT NOT NULL DEFAULT '';

-- A spreadsheet whose batch waits for approval is kept, so that the batch can be
-- sent back; nobody changes it meanwhile.
ALTER TABLE uploads ADD COLUMN submitted INTEGER NOT NULL DEFAULT 0;

-- Email addresses that get a notice beside the firm's targets, between blanks, and
-- the page that it is about.
ALTER TABLE notices ADD COLUMN recipients TEXT NOT NULL DEFAULT '';
ALTER TABLE notices ADD COLUMN path TEXT NOT NULL DEFAULT '';

-- Where people reach the page, for the links of notices.
CREATE TABLE page_address (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    address TEXT NOT NULL
);
