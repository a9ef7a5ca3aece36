-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- What the service says of the subscription that an order established, and when
-- it was last heard of after the order's own answer.
ALTER TABLE events ADD COLUMN subscription_status TEXT NOT NULL DEFAULT '';
ALTER TABLE items ADD COLUMN subscription_at BIGINT NOT NULL DEFAULT 0;

-- Rows that order nothing because a subscription covers them: which one, and who
-- opened it. They are watched until the renewal is seen.
CREATE TABLE coverage (
    batch    TEXT   NOT NULL,
    number   BIGINT NOT NULL,
    cover    TEXT   NOT NULL,
    year     BIGINT NOT NULL,
    opened   BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (batch, number)
);
CREATE INDEX coverage_cover ON coverage (cover);
