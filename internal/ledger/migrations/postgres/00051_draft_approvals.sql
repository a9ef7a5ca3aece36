-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- Whether what is submitted of a spreadsheet needs a second person, or two, whatever
-- the policy is by then: it was sent back by one who waited for them.
ALTER TABLE uploads ADD COLUMN second INTEGER NOT NULL DEFAULT 0;
ALTER TABLE uploads ADD COLUMN two INTEGER NOT NULL DEFAULT 0;

-- What is a draft again now has what its batch has.
UPDATE uploads SET second = 1 WHERE submitted = 0
    AND EXISTS (SELECT 1 FROM batches b WHERE b.id = uploads.batch AND b.open = 0 AND b.second = 1);
UPDATE uploads SET two = 1 WHERE submitted = 0
    AND EXISTS (SELECT 1 FROM batches b WHERE b.id = uploads.batch AND b.open = 0 AND b.two = 1);
