-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- What the service tells after placement. An event is stored once, as it came,
-- before it is looked at; what it says is beside its body.
CREATE TABLE events (
    seq            INTEGER PRIMARY KEY,
    id             TEXT   NOT NULL,
    type           TEXT   NOT NULL DEFAULT '',
    created_at     BIGINT NOT NULL DEFAULT 0,
    received_at    BIGINT NOT NULL,
    order_id       TEXT   NOT NULL DEFAULT '',
    order_type     TEXT   NOT NULL DEFAULT '',
    product        TEXT   NOT NULL DEFAULT '',
    filing_status  TEXT   NOT NULL DEFAULT '',
    filing_date    TEXT   NOT NULL DEFAULT '',
    filing_type    TEXT   NOT NULL DEFAULT '',
    exception      BIGINT NOT NULL DEFAULT 0,
    exception_note TEXT   NOT NULL DEFAULT '',
    document_id    TEXT   NOT NULL DEFAULT '',
    document_type  TEXT   NOT NULL DEFAULT '',
    company_id     TEXT   NOT NULL DEFAULT '',
    filing_state   TEXT   NOT NULL DEFAULT '',
    filing_year    TEXT   NOT NULL DEFAULT '',
    body           TEXT   NOT NULL,
    state          TEXT   NOT NULL,
    row            BIGINT NOT NULL DEFAULT 0,
    note           TEXT   NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX events_id ON events (id);
CREATE INDEX events_new ON events (seq) WHERE state = 'new';
CREATE INDEX events_unknown ON events (received_at) WHERE state = 'unknown';
CREATE INDEX events_order ON events (order_id);

CREATE TABLE documents (
    key         TEXT PRIMARY KEY,
    id          TEXT   NOT NULL DEFAULT '',
    type        TEXT   NOT NULL DEFAULT '',
    order_id    TEXT   NOT NULL,
    event       TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    received_at BIGINT NOT NULL
);
CREATE INDEX documents_order ON documents (order_id);

-- What became of an order: the exception it stands at, and when its status was
-- last told.
ALTER TABLE items ADD COLUMN exception BIGINT NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN exception_note TEXT NOT NULL DEFAULT '';
ALTER TABLE items ADD COLUMN told_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX items_nameless ON items (row) WHERE order_id = '';
CREATE INDEX items_exception ON items (row) WHERE exception <> 0;
CREATE INDEX rows_uncertain ON rows (id) WHERE result = 'uncertain';
CREATE INDEX attempts_doubt ON attempts (ended_at, row) WHERE class IN ('unreadable', 'no-answer', 'server-error');
CREATE INDEX rows_doubt ON rows (id) WHERE doubt <> 0;

-- What was spent for items of the row that are decided, while others are not.
ALTER TABLE rows ADD COLUMN spent BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rows ADD COLUMN spent_least INTEGER NOT NULL DEFAULT 0;

-- Where the service's events arrive, with the secret that signs them, sealed.
CREATE TABLE endpoints (
    id         TEXT PRIMARY KEY,
    url        TEXT   NOT NULL DEFAULT '',
    sealed     TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

-- The service's field that each of the input's columns was read as.
ALTER TABLE batches ADD COLUMN fields TEXT NOT NULL DEFAULT '';
