-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- The network that a flow was begun from: nobody begins more than a number of
-- them at once.
ALTER TABLE flows ADD COLUMN origin TEXT NOT NULL DEFAULT '';
CREATE INDEX flows_of_origin ON flows (origin);
