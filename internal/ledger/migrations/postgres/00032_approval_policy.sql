-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- The firm's approval policy, in place of the switch that it had. Products are
-- words between spaces; none stands for all.
CREATE TABLE approval_policy (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    second     INTEGER NOT NULL DEFAULT 0,
    from_cents BIGINT  NOT NULL DEFAULT 0,
    products   TEXT    NOT NULL DEFAULT '',
    terminal   INTEGER NOT NULL DEFAULT 0,
    changed_by TEXT    NOT NULL DEFAULT '',
    changed_at BIGINT  NOT NULL DEFAULT 0
);
INSERT INTO approval_policy (id, second) SELECT id, second_person FROM firm;
DROP TABLE firm;

-- Who has a part in what a batch orders, and which part: none of them approves
-- it. The object is a batch's id, or "upload ID", or "season NAME HASH" with the
-- hash of its company list.
CREATE TABLE contributors (
    object TEXT NOT NULL,
    person TEXT NOT NULL,
    part   TEXT NOT NULL,
    PRIMARY KEY (object, person)
);
INSERT INTO contributors (object, person, part) SELECT id, asked_by, 'submit' FROM batches WHERE asked_by <> '';
INSERT INTO contributors (object, person, part) SELECT id, created_by, 'upload' FROM batches WHERE created_by <> ''
    ON CONFLICT (object, person) DO NOTHING;
INSERT INTO contributors (object, person, part) SELECT 'upload ' || id, created_by, 'upload' FROM uploads WHERE created_by <> '';
INSERT INTO contributors (object, person, part) SELECT 'season ' || s.name || ' ' || s.roster, r.created_by, 'company-list'
    FROM seasons s JOIN rosters r ON r.hash = s.roster WHERE r.created_by <> '';
