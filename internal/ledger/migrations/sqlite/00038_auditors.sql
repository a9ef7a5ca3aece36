-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- Accounts without a role could look at everything. That is now what an auditor
-- may do, and an account without a role sees nothing: the accounts of before keep
-- what they had, and the audit log says so.
INSERT INTO acts (id, at, person, origin, what, object, note)
    SELECT 'auditor-' || id, (SELECT changed_at FROM control), 'an update of the program', '', 'account-roles', name,
        'roles auditor, before: none; without a role an account no longer sees anything'
    FROM accounts WHERE roles = '';
UPDATE accounts SET roles = 'auditor' WHERE roles = '';
