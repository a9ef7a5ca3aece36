-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- A prepared batch is recorded whole and waits for its yes: any process may
-- open it.
ALTER TABLE batches ADD COLUMN prepared INTEGER NOT NULL DEFAULT 0;

-- Who handed the batch in, and whether the yes has to be somebody else's.
ALTER TABLE batches ADD COLUMN asked_by TEXT NOT NULL DEFAULT '';
ALTER TABLE batches ADD COLUMN second INTEGER NOT NULL DEFAULT 0;

-- Sheets that were handed over and are not placed yet. They may hold Social
-- Security numbers: content and corrections are sealed.
CREATE TABLE uploads (
    id         TEXT PRIMARY KEY,
    file       TEXT   NOT NULL,
    size       BIGINT NOT NULL,
    hash       TEXT   NOT NULL,
    options    TEXT   NOT NULL DEFAULT '',
    edits      TEXT   NOT NULL DEFAULT '',
    version    BIGINT NOT NULL DEFAULT 1,
    batch      TEXT   NOT NULL DEFAULT '',
    quote      TEXT   NOT NULL DEFAULT '',
    created_by TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);
CREATE INDEX uploads_of_batch ON uploads (batch);

CREATE TABLE upload_parts (
    upload TEXT   NOT NULL,
    part   BIGINT NOT NULL,
    sealed BLOB NOT NULL,
    at     BIGINT NOT NULL,
    PRIMARY KEY (upload, part)
);

-- What somebody said the columns of a sheet are, for the next one of its shape.
CREATE TABLE mappings (
    shape      TEXT PRIMARY KEY,
    headers    TEXT   NOT NULL,
    columns    TEXT   NOT NULL,
    created_by TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

-- Rows are looked for by what became of them. Those on their way to the service
-- are in neither index, so that placing writes none of them.
CREATE INDEX rows_at_rest ON rows (batch, result, number, id) WHERE result IN ('invalid', 'skipped', 'exists', 'rejected', 'uncertain', 'canceled');
CREATE INDEX rows_faulty ON rows (batch, number, id) WHERE faults <> '';
CREATE INDEX entries_at ON entries (at);
