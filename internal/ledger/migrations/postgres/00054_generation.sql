-- +goose Up
-- Any statement that places orders waits here, so that no lock of it meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- A restore begins a new generation of the ledger: a process that has opened it in
-- an earlier one sends nothing more. The generation goes on from the lineage
-- restored_lineage at the moment backup_at, and rows up to restored_rows are the
-- same in both.
ALTER TABLE control ADD COLUMN generation TEXT NOT NULL DEFAULT '';
ALTER TABLE control ADD COLUMN restored_lineage TEXT NOT NULL DEFAULT '';
ALTER TABLE control ADD COLUMN restored_rows BIGINT NOT NULL DEFAULT 0;
ALTER TABLE control ADD COLUMN backup_at BIGINT NOT NULL DEFAULT 0;
