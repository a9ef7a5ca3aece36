-- +goose Up
-- Any statement that places orders waits here, so that no lock of it meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- The spreadsheet of a batch without Social Security numbers, which its results
-- are written into. It is sealed part by part.
CREATE TABLE originals (
    batch  TEXT   NOT NULL,
    part   BIGINT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (batch, part)
);
