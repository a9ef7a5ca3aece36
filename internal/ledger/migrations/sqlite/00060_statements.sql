-- +goose Up
-- Any statement that places orders waits here, so that no lock of it meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- The statements of the filing service that were reconciled, by the SHA-256 of their
-- files. A balance counts where its flag is set.
CREATE TABLE statements (
    hash          TEXT PRIMARY KEY,
    file          TEXT    NOT NULL,
    sheet         TEXT    NOT NULL,
    from_at       BIGINT  NOT NULL,
    to_at         BIGINT  NOT NULL,
    complete      INTEGER NOT NULL,
    opening       BIGINT  NOT NULL,
    opening_known INTEGER NOT NULL,
    closing       BIGINT  NOT NULL,
    closing_known INTEGER NOT NULL,
    missing       BIGINT  NOT NULL,
    rest          BIGINT  NOT NULL, -- what was left unexplained
    proof         TEXT    NOT NULL, -- JSON
    reconciled_at BIGINT  NOT NULL,
    reconciled_by TEXT    NOT NULL
);
CREATE INDEX statements_reconciled ON statements (reconciled_at);

-- Their lines. A line that another statement has, too, does not count. The row is 0
-- for a deposit and for a charge that is not ours; the entry is the recorded deposit.
CREATE TABLE statement_lines (
    statement  TEXT    NOT NULL REFERENCES statements (hash),
    number     BIGINT  NOT NULL,
    cell       TEXT    NOT NULL,
    at         BIGINT  NOT NULL,
    kind       TEXT    NOT NULL,
    amount     BIGINT  NOT NULL,
    order_id   TEXT    NOT NULL,
    company_id TEXT    NOT NULL,
    company    TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    product    TEXT    NOT NULL,
    year       TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    part       TEXT    NOT NULL, -- the group
    note       TEXT    NOT NULL,
    row        BIGINT  NOT NULL,
    entry      BIGINT  NOT NULL,
    counts     INTEGER NOT NULL,
    PRIMARY KEY (statement, number)
);
CREATE INDEX statement_lines_at ON statement_lines (at);
CREATE INDEX statement_lines_row ON statement_lines (row) WHERE row <> 0;
CREATE INDEX statement_lines_entry ON statement_lines (entry) WHERE entry <> 0;

-- The entries of the balance that a statement led to. The number is 0 where no line did.
CREATE TABLE statement_adjustments (
    statement TEXT   NOT NULL REFERENCES statements (hash),
    seq       BIGINT NOT NULL,
    number    BIGINT NOT NULL,
    row       BIGINT NOT NULL,
    reason    TEXT   NOT NULL,
    amount    BIGINT NOT NULL,
    entry     BIGINT NOT NULL, -- of a deposit; 0 for an adjustment
    note      TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (statement, seq)
);
CREATE INDEX statement_adjustments_row ON statement_adjustments (row) WHERE row <> 0;
