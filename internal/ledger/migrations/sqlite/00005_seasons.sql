-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- Rosters are kept by their content: every version that a season ever had.
CREATE TABLE rosters (
    hash       TEXT PRIMARY KEY,
    file       TEXT   NOT NULL,
    content    BLOB   NOT NULL,
    created_by TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE seasons (
    name       TEXT PRIMARY KEY,
    roster     TEXT    NOT NULL REFERENCES rosters (hash),
    options    TEXT    NOT NULL,
    schedule   TEXT    NOT NULL,
    approval   INTEGER NOT NULL DEFAULT 0,
    paused     INTEGER NOT NULL DEFAULT 0,
    since      BIGINT  NOT NULL,
    created_by TEXT    NOT NULL,
    created_at BIGINT  NOT NULL
);

-- One firing, one batch, whatever the number of workers: the primary key is
-- made of the season and the moment it was due.
CREATE TABLE firings (
    id       TEXT PRIMARY KEY,
    season   TEXT   NOT NULL,
    due      BIGINT NOT NULL,
    roster   TEXT   NOT NULL,
    missed   BIGINT NOT NULL DEFAULT 0,
    owner    TEXT   NOT NULL,
    began_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL DEFAULT 0,
    state    TEXT   NOT NULL,
    batch    TEXT   NOT NULL DEFAULT '',
    plan     TEXT   NOT NULL DEFAULT '',
    note     TEXT   NOT NULL DEFAULT ''
);
CREATE INDEX firings_of_season ON firings (season, due);

-- A batch may wait for somebody's yes to exactly what it holds and costs.
ALTER TABLE batches ADD COLUMN approval TEXT NOT NULL DEFAULT '';
ALTER TABLE batches ADD COLUMN plan TEXT NOT NULL DEFAULT '';
ALTER TABLE batches ADD COLUMN approved_by TEXT NOT NULL DEFAULT '';
ALTER TABLE batches ADD COLUMN approved_at BIGINT NOT NULL DEFAULT 0;

-- Rows with a lower priority number go first; 0 where nothing is known. They
-- get their ids in this order, and are told in that of their numbers.
ALTER TABLE rows ADD COLUMN priority BIGINT NOT NULL DEFAULT 0;
DROP INDEX rows_ready;
CREATE INDEX rows_ready ON rows (batch, priority, id) WHERE result = 'ready' AND waits = '';
DROP INDEX rows_waiting;
CREATE INDEX rows_waiting ON rows (waits, priority, id) WHERE waits <> '';
DROP INDEX rows_of_batch;
CREATE INDEX rows_of_batch ON rows (batch, number, id);
