-- +goose Up
-- Times are Unix milliseconds, money is cents, flags are 0 or 1, documents are
-- JSON text: the two databases then hold the same values.
CREATE TABLE batches (
    id         TEXT PRIMARY KEY,
    file       TEXT    NOT NULL,
    sheet      TEXT    NOT NULL,
    product    TEXT    NOT NULL,
    options    TEXT    NOT NULL,
    again      TEXT    NOT NULL DEFAULT '',
    columns    TEXT    NOT NULL,
    rows       BIGINT  NOT NULL DEFAULT 0,
    open       INTEGER NOT NULL DEFAULT 0,
    paused     INTEGER NOT NULL DEFAULT 0,
    canceled   INTEGER NOT NULL DEFAULT 0,
    owner      TEXT    NOT NULL,
    created_by TEXT    NOT NULL,
    created_at BIGINT  NOT NULL
);

CREATE TABLE rows (
    id         INTEGER PRIMARY KEY,
    batch      TEXT    NOT NULL REFERENCES batches (id),
    number     BIGINT  NOT NULL,
    cells      TEXT    NOT NULL,
    faults     TEXT    NOT NULL DEFAULT '',
    request    TEXT    NOT NULL DEFAULT '',
    result     TEXT    NOT NULL,
    message    TEXT    NOT NULL DEFAULT '',
    cost       BIGINT  NOT NULL DEFAULT 0,
    at_least   INTEGER NOT NULL DEFAULT 0,
    held       BIGINT  NOT NULL DEFAULT 0,
    attempts   BIGINT  NOT NULL DEFAULT 0,
    tries      BIGINT  NOT NULL DEFAULT 0,
    doubt      INTEGER NOT NULL DEFAULT 0,
    dropped    TEXT    NOT NULL DEFAULT '',
    owner      TEXT    NOT NULL DEFAULT '',
    due        BIGINT  NOT NULL DEFAULT 0,
    waits      TEXT    NOT NULL DEFAULT '',
    updated_at BIGINT  NOT NULL
);
CREATE INDEX rows_of_batch ON rows (batch, id);
CREATE INDEX rows_ready ON rows (batch, id) WHERE result = 'ready' AND waits = '';
CREATE INDEX rows_placing ON rows (owner) WHERE result = 'placing';
CREATE INDEX rows_waiting ON rows (waits) WHERE waits <> '';

-- One business key, one purchase: the primary key is the guard.
CREATE TABLE purchases (
    key     TEXT PRIMARY KEY,
    row     BIGINT  NOT NULL REFERENCES rows (id),
    product TEXT    NOT NULL,
    cover   TEXT    NOT NULL DEFAULT '',
    year    INTEGER NOT NULL DEFAULT 0,
    bought  INTEGER NOT NULL DEFAULT 0,
    why     TEXT    NOT NULL DEFAULT '',
    at      BIGINT  NOT NULL
);
CREATE INDEX purchases_of_row ON purchases (row);
CREATE INDEX purchases_cover ON purchases (cover) WHERE cover <> '';

CREATE TABLE attempts (
    row        BIGINT NOT NULL REFERENCES rows (id),
    try        BIGINT NOT NULL,
    owner      TEXT   NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at   BIGINT NOT NULL DEFAULT 0,
    class      TEXT   NOT NULL DEFAULT '',
    status     INTEGER NOT NULL DEFAULT 0,
    message    TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (row, try)
);

CREATE TABLE items (
    id                  INTEGER PRIMARY KEY,
    row                 BIGINT  NOT NULL REFERENCES rows (id),
    product             TEXT    NOT NULL,
    order_type          TEXT    NOT NULL,
    order_id            TEXT    NOT NULL,
    filing_status       TEXT    NOT NULL DEFAULT '',
    filing_date         TEXT    NOT NULL DEFAULT '',
    subscription_status TEXT    NOT NULL DEFAULT '',
    cost                BIGINT  NOT NULL DEFAULT 0,
    at_least            INTEGER NOT NULL DEFAULT 0,
    created_at          BIGINT  NOT NULL
);
CREATE INDEX items_of_row ON items (row);
CREATE INDEX items_order ON items (order_id);

CREATE TABLE entries (
    id     INTEGER PRIMARY KEY,
    at     BIGINT NOT NULL,
    kind   TEXT   NOT NULL,
    amount BIGINT NOT NULL,
    row    BIGINT NOT NULL DEFAULT 0,
    note   TEXT   NOT NULL DEFAULT ''
);
CREATE INDEX entries_of_row ON entries (row);

-- The one row that every writer locks: the book's sums and what halts the fleet.
CREATE TABLE control (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    mode         TEXT    NOT NULL DEFAULT '',
    declared     INTEGER NOT NULL DEFAULT 0,
    deposits     BIGINT  NOT NULL DEFAULT 0,
    adjustments  BIGINT  NOT NULL DEFAULT 0,
    posted       BIGINT  NOT NULL DEFAULT 0,
    reserved     BIGINT  NOT NULL DEFAULT 0,
    paused       TEXT    NOT NULL DEFAULT '',
    paused_note  TEXT    NOT NULL DEFAULT '',
    paused_at    BIGINT  NOT NULL DEFAULT 0,
    probe_at     BIGINT  NOT NULL DEFAULT 0,
    probe_row    BIGINT  NOT NULL DEFAULT 0,
    probe_wait   BIGINT  NOT NULL DEFAULT 0,
    hold_until   BIGINT  NOT NULL DEFAULT 0,
    hold_wait    BIGINT  NOT NULL DEFAULT 0
);
INSERT INTO control (id) VALUES (1);

CREATE TABLE owners (
    id         TEXT PRIMARY KEY,
    host       TEXT   NOT NULL,
    pid        BIGINT NOT NULL,
    lock       TEXT   NOT NULL,
    started_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE TABLE companies (
    ref    TEXT PRIMARY KEY,
    record TEXT   NOT NULL,
    at     BIGINT NOT NULL
);

CREATE TABLE users (
    ref    TEXT PRIMARY KEY,
    record TEXT   NOT NULL,
    at     BIGINT NOT NULL
);
