-- +goose Up
-- The company an order is for, once it is known by its id; and whether the
-- attempt under way, or in doubt, is the creation of that company.
ALTER TABLE rows ADD COLUMN company TEXT NOT NULL DEFAULT '';
ALTER TABLE rows ADD COLUMN creating INTEGER NOT NULL DEFAULT 0;

-- Social Security numbers, sealed, for as long as their order is not decided.
CREATE TABLE secrets (
    batch  TEXT   NOT NULL,
    number BIGINT NOT NULL,
    sealed TEXT   NOT NULL,
    PRIMARY KEY (batch, number)
);
