-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- The companies of submitted rows, to be found by the words of their names, by
-- their ids and by client. It is made from the rows, some at a time, after a batch
-- is submitted: placing writes none of it, and what is lost is made again.
CREATE TABLE search_companies (
    key    TEXT PRIMARY KEY,
    id     TEXT NOT NULL DEFAULT '',
    name   TEXT NOT NULL,
    folded TEXT NOT NULL,
    client TEXT NOT NULL DEFAULT ''
);
CREATE INDEX search_companies_name ON search_companies (folded, key);

CREATE TABLE search_words (
    word    TEXT NOT NULL,
    company TEXT NOT NULL,
    PRIMARY KEY (word, company)
);
CREATE INDEX search_words_company ON search_words (company, word);

CREATE TABLE search_rows (
    row     BIGINT PRIMARY KEY,
    company TEXT NOT NULL,
    client  TEXT NOT NULL DEFAULT '',
    named   INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX search_rows_company ON search_rows (company, row);
CREATE INDEX search_rows_client ON search_rows (client, row) WHERE client <> '';
CREATE INDEX search_rows_unnamed ON search_rows (row) WHERE named = 0;

CREATE TABLE search_clients (
    folded TEXT PRIMARY KEY,
    name   TEXT NOT NULL
);

-- The batches whose rows are all in it.
CREATE TABLE search_batches (
    batch TEXT PRIMARY KEY,
    at    BIGINT NOT NULL
);
