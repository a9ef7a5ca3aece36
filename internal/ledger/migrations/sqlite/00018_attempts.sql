-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- What each attempt asked for, what it bought, and what was decided of it: where
-- a row stands is a function of its attempts. Products are separated by commas;
-- '*' stands for all that the row ordered, for attempts of an earlier version.
ALTER TABLE attempts ADD COLUMN products TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN creates INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN repeatable INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN made TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN ordered INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN decision TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN decided_over TEXT NOT NULL DEFAULT '';

-- rows.cost is what is left to order is expected to cost, rows.held what is
-- reserved for it, rows.spent what the row has bought, and rows.approved what may
-- be spent for it in all: -1 where nobody approved a cost.
ALTER TABLE rows ADD COLUMN approved BIGINT NOT NULL DEFAULT -1;
ALTER TABLE rows ADD COLUMN approved_certainty INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rows ADD COLUMN quoted INTEGER NOT NULL DEFAULT 0;
CREATE INDEX rows_short_by_cost ON rows (cost, id) WHERE waits = 'funds' AND waits <> '' AND doubt = 0;
UPDATE rows SET spent = cost, spent_certainty = certainty WHERE result = 'placed';

-- Another row, or the same row twice, bought the same: the row that owns the key.
ALTER TABLE purchases ADD COLUMN twin BIGINT NOT NULL DEFAULT 0;
CREATE INDEX purchases_twin ON purchases (row) WHERE twin <> 0;

-- Decisions and purchases of an earlier version, from what became of the rows.
UPDATE attempts SET products = '*', made = '*' WHERE class = 'accepted' OR (class = 'has-item'
    AND EXISTS (SELECT 1 FROM rows r WHERE r.id = attempts.row AND r.result = 'placed'));
UPDATE attempts SET ordered = 1 WHERE class = 'has-item';
UPDATE attempts SET products = '*', made = '*', decision = 'placed', decided_over = class
    WHERE class IN ('unreadable', 'no-answer', 'server-error')
    AND EXISTS (SELECT 1 FROM rows r WHERE r.id = attempts.row AND r.result = 'placed' AND r.tries = attempts.try);
UPDATE attempts SET decision = 'not-placed', decided_over = class
    WHERE class IN ('unreadable', 'no-answer', 'server-error') AND decision = ''
    AND EXISTS (SELECT 1 FROM rows r WHERE r.id = attempts.row AND r.result <> 'uncertain' AND r.doubt = 0 AND r.result <> 'placing');
