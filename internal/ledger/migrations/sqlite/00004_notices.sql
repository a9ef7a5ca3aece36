-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- What a person was told, or is to be told, once for a whole fleet.
CREATE TABLE notices (
    id      INTEGER PRIMARY KEY,
    kind    TEXT    NOT NULL,
    batch   TEXT    NOT NULL DEFAULT '',
    subject TEXT    NOT NULL DEFAULT '',
    body    TEXT    NOT NULL DEFAULT '',
    at      BIGINT  NOT NULL,
    lasts   INTEGER NOT NULL DEFAULT 0,
    due     BIGINT  NOT NULL,
    tries   BIGINT  NOT NULL DEFAULT 0,
    told    TEXT    NOT NULL DEFAULT '',
    failure TEXT    NOT NULL DEFAULT ''
);
-- What lasts is told once, until it is over: the index is the guard.
CREATE UNIQUE INDEX notices_lasting ON notices (kind, batch) WHERE lasts = 1;
CREATE INDEX notices_due ON notices (due) WHERE due <> 0;
CREATE INDEX notices_of_batch ON notices (kind, batch, at);

-- Which rows and items were told of, each at one mark: the attempt in doubt,
-- the code of the exception.
CREATE TABLE told (
    kind   TEXT   NOT NULL,
    ref    BIGINT NOT NULL,
    mark   BIGINT NOT NULL,
    notice BIGINT NOT NULL,
    PRIMARY KEY (kind, ref, mark)
);

-- Whether a batch has ended is asked every few seconds.
CREATE INDEX rows_held_up ON rows (batch) WHERE waits <> '';
