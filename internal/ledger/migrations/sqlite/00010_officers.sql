-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- The officers that a workbook lists on a sheet of their own, with the row of
-- filings that each belongs to, and the headers of that sheet: rows to correct
-- are given back with their officers.
ALTER TABLE batches ADD COLUMN officers TEXT NOT NULL DEFAULT '';

CREATE TABLE officers (
    batch   TEXT   NOT NULL,
    number  BIGINT NOT NULL,
    listed  BIGINT NOT NULL,
    cells   TEXT   NOT NULL,
    PRIMARY KEY (batch, number, listed)
);
