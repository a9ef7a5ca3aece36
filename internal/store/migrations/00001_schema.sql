-- Times are Unix milliseconds, money is cents, flags are 0 or 1, and documents are JSON
-- text, so both databases hold the same values. The words in double braces differ
-- between the databases; see dialect.words.

CREATE TABLE batches (
    id          TEXT PRIMARY KEY,
    file        TEXT NOT NULL,
    sheet       TEXT NOT NULL,
    product     TEXT NOT NULL,
    options     TEXT NOT NULL,
    again       TEXT NOT NULL DEFAULT '',
    created_by  TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    -- The batch that this one corrects, and the first one of all: its own ID if it corrects none.
    corrects    TEXT NOT NULL DEFAULT '',
    root        TEXT NOT NULL,
    -- Whether its rows are sent instead of those that they correct.
    applied     INTEGER NOT NULL DEFAULT 0,
    -- The last quote, as JSON: the approver sees what the preparer saw.
    quote       TEXT NOT NULL DEFAULT '',
    asked_by    TEXT NOT NULL DEFAULT '',
    columns     TEXT NOT NULL,
    -- The field of the service that each column was read as.
    fields      TEXT NOT NULL DEFAULT '',
    rows        BIGINT NOT NULL DEFAULT 0,
    open        INTEGER NOT NULL DEFAULT 0,
    paused      INTEGER NOT NULL DEFAULT 0,
    canceled    INTEGER NOT NULL DEFAULT 0,
    canceled_by TEXT NOT NULL DEFAULT '',
    canceled_at BIGINT NOT NULL DEFAULT 0,
    owner       TEXT NOT NULL,
    -- Whether the batch waits for approval, and the plan that was approved.
    approval    TEXT NOT NULL DEFAULT '',
    plan        TEXT NOT NULL DEFAULT '',
    approved_by TEXT NOT NULL DEFAULT '',
    approved_at BIGINT NOT NULL DEFAULT 0,
    -- A prepared batch is complete and waits for approval: any process may open it.
    prepared    INTEGER NOT NULL DEFAULT 0,
    -- Whether a second person must approve.
    second      INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE rows (
    id                 {{identity}},
    batch              TEXT NOT NULL REFERENCES batches (id),
    number             BIGINT NOT NULL,
    -- Lower numbers go first; 0 if unknown.
    priority           BIGINT NOT NULL DEFAULT 0,
    -- The number of the row that this one corrects, in the batch that its batch corrects; 0 if
    -- the row was added. corrected_by is the ID of the row whose result stands for this one.
    corrects           BIGINT NOT NULL DEFAULT 0,
    corrected_by       BIGINT NOT NULL DEFAULT 0,
    -- The number of the earlier row of the batch that a skipped row repeats; 0 if it repeats none.
    repeats            BIGINT NOT NULL DEFAULT 0,
    -- Whether it was corrected after it was sent: what was not ordered then is canceled.
    withdrawn          INTEGER NOT NULL DEFAULT 0,
    cells              TEXT NOT NULL,
    faults             TEXT NOT NULL DEFAULT '',
    request            TEXT NOT NULL DEFAULT '',
    -- The ID of the company once known; creating is 1 while its creation is in flight or
    -- uncertain.
    company            TEXT NOT NULL DEFAULT '',
    creating           INTEGER NOT NULL DEFAULT 0,
    result             TEXT NOT NULL,
    message            TEXT NOT NULL DEFAULT '',
    -- cost is expected for what is left to order, reserved is held for it, spent was
    -- charged, and approved is the limit for the whole row: -1 if no cost was approved.
    -- Certainty is 0 known, 1 estimated, 2 unknown in part, so MAX gives that of a SUM.
    cost               BIGINT NOT NULL DEFAULT 0,
    certainty          INTEGER NOT NULL DEFAULT 2,
    reserved           BIGINT NOT NULL DEFAULT 0,
    spent              BIGINT NOT NULL DEFAULT 0,
    spent_certainty    INTEGER NOT NULL DEFAULT 0,
    approved           BIGINT NOT NULL DEFAULT -1,
    approved_certainty INTEGER NOT NULL DEFAULT 0,
    quoted             INTEGER NOT NULL DEFAULT 0,
    attempts           BIGINT NOT NULL DEFAULT 0,
    last_attempt       BIGINT NOT NULL DEFAULT 0,
    uncertain          INTEGER NOT NULL DEFAULT 0,
    -- Products that the row does not order any more, and all that it orders since it was
    -- first sent.
    dropped            TEXT NOT NULL DEFAULT '',
    wanted             TEXT NOT NULL DEFAULT '',
    owner              TEXT NOT NULL DEFAULT '',
    due                BIGINT NOT NULL DEFAULT 0,
    -- What a ready row waits for: funds, approval, key, or '' if it may be sent. A row that
    -- waits for key waits until another row has bought or released awaited_key. An uncertain
    -- row keeps its approval. Within one change, release marks rows that became ready again.
    blocked_on         TEXT NOT NULL DEFAULT '',
    awaited_key        TEXT NOT NULL DEFAULT '',
    updated_at         BIGINT NOT NULL,
    -- The company and the client as the row names them, to be listed and searched. The key is
    -- the company's ID, or a hash of its folded name.
    company_key        TEXT{{bytewise}} NOT NULL DEFAULT '',
    company_name       TEXT NOT NULL DEFAULT '',
    company_words      TEXT{{bytewise}} NOT NULL DEFAULT '',
    client             TEXT NOT NULL DEFAULT '',
    client_folded      TEXT NOT NULL DEFAULT '',
    -- When the row was last checked after the ledger went back in time.
    checked_at         BIGINT NOT NULL DEFAULT 0,
    CHECK ((blocked_on = 'key') = (awaited_key <> ''))
);
CREATE INDEX rows_of_company ON rows (company_key, id);
CREATE INDEX rows_by_company ON rows (company_words, company_key);
CREATE INDEX rows_of_client ON rows (client_folded, batch) WHERE client_folded <> '';
CREATE INDEX rows_placing ON rows (owner) WHERE result = 'placing';
CREATE INDEX rows_uncertain ON rows (id) WHERE result = 'uncertain';
CREATE INDEX rows_unconfirmed ON rows (id) WHERE uncertain <> 0;
-- Read every few seconds to see whether a batch has ended.
CREATE INDEX rows_held_up ON rows (batch) WHERE blocked_on <> '';
CREATE INDEX rows_ready ON rows (batch, priority, id) WHERE result = 'ready' AND blocked_on = '';
CREATE INDEX rows_waiting ON rows (blocked_on, priority, id) WHERE blocked_on <> '';
CREATE INDEX rows_awaiting ON rows (awaited_key) WHERE awaited_key <> '';
CREATE INDEX rows_of_batch ON rows (batch, number, id);
-- Rows in flight are in neither index, so placing writes none of them. The condition has no IN,
-- because SQLite builds a table for a list each time that it writes a row.
CREATE INDEX rows_at_rest ON rows (batch, result, number, id)
    WHERE result <> 'ready' AND result <> 'placing' AND result <> 'placed';
CREATE INDEX rows_faulty ON rows (batch, number, id) WHERE faults <> '';
CREATE INDEX rows_corrected ON rows (corrected_by) WHERE corrected_by <> 0;
CREATE INDEX rows_corrected_in_batch ON rows (batch) WHERE corrected_by <> 0;
CREATE INDEX rows_short_by_cost ON rows (cost, id) WHERE blocked_on = 'funds' AND blocked_on <> '' AND uncertain = 0;

-- The rows of a batch as its results show them. A corrected row has the number and priority of
-- the row that was uploaded, and everything else of the row that was sent instead. A corrected row for which an
-- order is confirmed after all is shown as it is.
CREATE VIEW result_rows AS
    SELECT r.batch, r.number, r.batch AS own_batch, r.number AS own_number, r.id, r.cells,
        r.faults, r.request, r.company, r.creating, r.result, r.message, r.cost,
        r.certainty, r.reserved, r.spent, r.spent_certainty, r.approved, r.approved_certainty,
        r.quoted, r.attempts, r.last_attempt, r.uncertain, r.dropped, r.owner, r.due, r.blocked_on,
        r.priority, r.updated_at
    FROM rows r
    WHERE r.corrected_by = 0 OR r.result <> 'skipped'
    UNION ALL
    SELECT o.batch, o.number, r.batch, r.number, r.id, r.cells,
        r.faults, r.request, r.company, r.creating, r.result, r.message, r.cost,
        r.certainty, r.reserved, r.spent, r.spent_certainty, r.approved, r.approved_certainty,
        r.quoted, r.attempts, r.last_attempt, r.uncertain, r.dropped, r.owner, r.due, r.blocked_on,
        o.priority, r.updated_at
    FROM rows o JOIN rows r ON r.id = o.corrected_by
    WHERE o.corrected_by <> 0 AND o.result = 'skipped';

-- Sealed Social Security numbers, kept until the order of their row is decided.
CREATE TABLE secrets (
    batch  TEXT NOT NULL,
    number BIGINT NOT NULL,
    sealed TEXT NOT NULL,
    PRIMARY KEY (batch, number)
);

-- The sealed spreadsheets that results are written into.
CREATE TABLE originals (
    batch  TEXT NOT NULL,
    part   BIGINT NOT NULL,
    sealed {{bytes}} NOT NULL,
    PRIMARY KEY (batch, part)
);

-- What a row has bought, or may have, while its order is open. An order is sent only if no other
-- row has the key of it.
CREATE TABLE purchases (
    key     TEXT NOT NULL,
    row     BIGINT NOT NULL REFERENCES rows (id),
    product TEXT NOT NULL,
    cover   TEXT NOT NULL DEFAULT '',
    year    INTEGER NOT NULL DEFAULT 0,
    bought  INTEGER NOT NULL DEFAULT 0,
    why     TEXT NOT NULL DEFAULT '',
    at      BIGINT NOT NULL,
    -- The row that had bought the same; the row itself if it bought it twice.
    twin    BIGINT NOT NULL DEFAULT 0,
    -- Whether another row had the key: a late answer, or an order from before a restore.
    beside  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (key, row)
);
-- One business key, one purchase: this index is the guard.
CREATE UNIQUE INDEX purchases_once ON purchases (key) WHERE beside = 0;
CREATE INDEX purchases_beside ON purchases (key) WHERE beside = 1;
CREATE INDEX purchases_of_row ON purchases (row);
CREATE INDEX purchases_cover ON purchases (cover) WHERE cover <> '';
CREATE INDEX purchases_twin ON purchases (row) WHERE twin <> 0;

-- What each attempt ordered, what it bought, and what a person decided about it. The
-- result of a row is a function of its attempts. Products are separated by commas.
CREATE TABLE attempts (
    row          BIGINT NOT NULL REFERENCES rows (id),
    number       BIGINT NOT NULL,
    owner        TEXT NOT NULL,
    started_at   BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL DEFAULT 0,
    outcome      TEXT NOT NULL DEFAULT '',
    status       INTEGER NOT NULL DEFAULT 0,
    message      TEXT NOT NULL DEFAULT '',
    -- What the network reported, where message is in plain words.
    detail       TEXT NOT NULL DEFAULT '',
    products     TEXT NOT NULL DEFAULT '',
    creates      INTEGER NOT NULL DEFAULT 0,
    repeatable   INTEGER NOT NULL DEFAULT 0,
    purchases    TEXT NOT NULL DEFAULT '',
    ordered      INTEGER NOT NULL DEFAULT 0,
    decision     TEXT NOT NULL DEFAULT '',
    decided_over TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (row, number)
);

CREATE TABLE items (
    id                  {{identity}},
    row                 BIGINT NOT NULL REFERENCES rows (id),
    product             TEXT NOT NULL,
    order_type          TEXT NOT NULL,
    order_id            TEXT NOT NULL,
    filing_status       TEXT NOT NULL DEFAULT '',
    filing_date         TEXT NOT NULL DEFAULT '',
    subscription_status TEXT NOT NULL DEFAULT '',
    cost                BIGINT NOT NULL DEFAULT 0,
    created_at          BIGINT NOT NULL,
    -- exception is the code of a filing exception; told_at is the time of the last event.
    exception           BIGINT NOT NULL DEFAULT 0,
    exception_note      TEXT NOT NULL DEFAULT '',
    reported_at         BIGINT NOT NULL DEFAULT 0,
    certainty           INTEGER NOT NULL DEFAULT 2,
    -- The time of the last event about the subscription.
    subscription_at     BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX items_of_row ON items (row);
CREATE INDEX items_order ON items (order_id);
-- An order is of one item of a row, and an item waits once for the ID of its order.
CREATE UNIQUE INDEX items_named ON items (row, order_id) WHERE order_id <> '';
CREATE UNIQUE INDEX items_nameless ON items (row, product) WHERE order_id = '';
CREATE INDEX items_exception ON items (row) WHERE exception <> 0;

CREATE TABLE entries (
    id     {{identity}},
    at     BIGINT NOT NULL,
    kind   TEXT NOT NULL,
    amount BIGINT NOT NULL,
    row    BIGINT NOT NULL DEFAULT 0,
    note   TEXT NOT NULL DEFAULT ''
);
CREATE INDEX entries_of_row ON entries (row);
CREATE INDEX entries_at ON entries (at);

-- The one row that every writer locks: sums of the balance, and what halts the fleet.
CREATE TABLE control (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    mode           TEXT NOT NULL DEFAULT '',
    declared       INTEGER NOT NULL DEFAULT 0,
    deposits       BIGINT NOT NULL DEFAULT 0,
    adjustments    BIGINT NOT NULL DEFAULT 0,
    posted         BIGINT NOT NULL DEFAULT 0,
    reserved       BIGINT NOT NULL DEFAULT 0,
    halt           TEXT NOT NULL DEFAULT '',
    halt_note      TEXT NOT NULL DEFAULT '',
    halted_at      BIGINT NOT NULL DEFAULT 0,
    probe_at       BIGINT NOT NULL DEFAULT 0,
    probe_row      BIGINT NOT NULL DEFAULT 0,
    probe_wait     BIGINT NOT NULL DEFAULT 0,
    hold_until     BIGINT NOT NULL DEFAULT 0,
    hold_wait      BIGINT NOT NULL DEFAULT 0,
    -- Commits are numbered within a lineage, so that a process notices a ledger that went
    -- back in time. While restored_at is set, nothing is sent. Nothing is sent before
    -- restart_wait_until after the database server was restarted (server_started) or the file was
    -- replaced, which was noticed at restarted_at, when the ledger had restart_commits. Orders since
    -- restored_from may be missing.
    commits        BIGINT NOT NULL DEFAULT 0,
    lineage        TEXT NOT NULL DEFAULT '',
    restored_at    BIGINT NOT NULL DEFAULT 0,
    restored_note  TEXT NOT NULL DEFAULT '',
    restored_from  BIGINT NOT NULL DEFAULT 0,
    server_started TEXT NOT NULL DEFAULT '',
    restart_wait_until BIGINT NOT NULL DEFAULT 0,
    restarted_at   BIGINT NOT NULL DEFAULT 0,
    restart_commits BIGINT NOT NULL DEFAULT 0,
    -- The highest migration and the program that ran it: a program that does not know it
    -- sends nothing more.
    schema_version BIGINT NOT NULL DEFAULT 0,
    written_by     TEXT NOT NULL DEFAULT '',
    -- The time of the last change. The clock of an SQLite ledger is clock_base plus the
    -- machine's uptime, in milliseconds, because nobody sets that.
    changed_at     BIGINT NOT NULL DEFAULT 0,
    clock_base     BIGINT NOT NULL DEFAULT 0
);

-- Running processes.
CREATE TABLE processes (
    id         TEXT PRIMARY KEY,
    host       TEXT NOT NULL,
    pid        BIGINT NOT NULL,
    lock       TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    -- The kind of process, and whether it places orders.
    what       TEXT NOT NULL DEFAULT '',
    places     INTEGER NOT NULL DEFAULT 1,
    -- Why it sends no rows, as JSON of another package; empty while it sends them.
    hold       TEXT NOT NULL DEFAULT '',
    -- The time-out of its requests, in milliseconds: after its death the service may work
    -- on one for as long.
    timeout    BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE companies (
    ref    TEXT PRIMARY KEY,
    record TEXT NOT NULL,
    at     BIGINT NOT NULL
);

CREATE TABLE users (
    ref    TEXT PRIMARY KEY,
    record TEXT NOT NULL,
    at     BIGINT NOT NULL
);

-- Rows that order nothing because a subscription covers them, until its renewal is seen.
CREATE TABLE coverage (
    batch  TEXT NOT NULL,
    number BIGINT NOT NULL,
    cover  TEXT NOT NULL,
    year   BIGINT NOT NULL,
    opened BIGINT NOT NULL,
    at     BIGINT NOT NULL,
    PRIMARY KEY (batch, number)
);
CREATE INDEX coverage_cover ON coverage (cover);

-- Events of the filing service. Each is stored once, as received, before it is read.
CREATE TABLE events (
    seq                 {{identity}},
    id                  TEXT NOT NULL,
    type                TEXT NOT NULL DEFAULT '',
    created_at          BIGINT NOT NULL DEFAULT 0,
    received_at         BIGINT NOT NULL,
    order_id            TEXT NOT NULL DEFAULT '',
    order_type          TEXT NOT NULL DEFAULT '',
    product             TEXT NOT NULL DEFAULT '',
    filing_status       TEXT NOT NULL DEFAULT '',
    filing_date         TEXT NOT NULL DEFAULT '',
    filing_type         TEXT NOT NULL DEFAULT '',
    exception           BIGINT NOT NULL DEFAULT 0,
    exception_note      TEXT NOT NULL DEFAULT '',
    document_id         TEXT NOT NULL DEFAULT '',
    document_type       TEXT NOT NULL DEFAULT '',
    company_id          TEXT NOT NULL DEFAULT '',
    filing_state        TEXT NOT NULL DEFAULT '',
    filing_year         TEXT NOT NULL DEFAULT '',
    body                TEXT NOT NULL,
    state               TEXT NOT NULL,
    row                 BIGINT NOT NULL DEFAULT 0,
    note                TEXT NOT NULL DEFAULT '',
    subscription_status TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX events_id ON events (id);
CREATE INDEX events_new ON events (seq) WHERE state = 'new';
CREATE INDEX events_unknown ON events (received_at) WHERE state = 'unknown';
CREATE INDEX events_order ON events (order_id);

CREATE TABLE documents (
    key         TEXT PRIMARY KEY,
    id          TEXT NOT NULL DEFAULT '',
    type        TEXT NOT NULL DEFAULT '',
    order_id    TEXT NOT NULL,
    event       TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    received_at BIGINT NOT NULL
);
CREATE INDEX documents_order ON documents (order_id);

-- Webhook endpoints with their sealed signing secrets.
CREATE TABLE endpoints (
    id         TEXT PRIMARY KEY,
    url        TEXT NOT NULL DEFAULT '',
    sealed     TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

-- Notifications, each sent once by the whole fleet.
CREATE TABLE notifications (
    id         {{identity}},
    kind       TEXT NOT NULL,
    batch      TEXT NOT NULL DEFAULT '',
    subject    TEXT NOT NULL DEFAULT '',
    body       TEXT NOT NULL DEFAULT '',
    at         BIGINT NOT NULL,
    lasts      INTEGER NOT NULL DEFAULT 0,
    due        BIGINT NOT NULL,
    attempts   BIGINT NOT NULL DEFAULT 0,
    reported   TEXT NOT NULL DEFAULT '',
    failure    TEXT NOT NULL DEFAULT '',
    -- Email addresses beside the configured targets, and the page that it is about.
    recipients TEXT NOT NULL DEFAULT '',
    path       TEXT NOT NULL DEFAULT ''
);
-- A lasting condition is notified once until it ends.
CREATE UNIQUE INDEX notifications_lasting ON notifications (kind, batch) WHERE lasts = 1;
CREATE INDEX notifications_due ON notifications (due) WHERE due <> 0;
CREATE INDEX notifications_of_batch ON notifications (kind, batch, at);

-- The rows and items that a notification was about, each at a mark: the number of the
-- uncertain attempt, or the exception code.
CREATE TABLE notified (
    kind         TEXT NOT NULL,
    ref          BIGINT NOT NULL,
    mark         BIGINT NOT NULL,
    notification BIGINT NOT NULL,
    PRIMARY KEY (kind, ref, mark)
);

-- Sealed company lists, by the SHA-256 of their content.
CREATE TABLE company_lists (
    hash       TEXT PRIMARY KEY,
    file       TEXT NOT NULL,
    content    {{bytes}} NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE schedules (
    name            TEXT PRIMARY KEY,
    company_list    TEXT NOT NULL REFERENCES company_lists (hash),
    list_changed_at BIGINT NOT NULL,
    options         TEXT NOT NULL,
    schedule        TEXT NOT NULL,
    approval        INTEGER NOT NULL DEFAULT 0,
    paused          INTEGER NOT NULL DEFAULT 0,
    since           BIGINT NOT NULL,
    created_by      TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    -- Counts changes; a change must name the version that it was made on.
    version         BIGINT NOT NULL DEFAULT 1
);

-- The company lists that a schedule has had, and from when on.
CREATE TABLE schedule_lists (
    schedule     TEXT NOT NULL REFERENCES schedules (name) ON DELETE CASCADE,
    since        BIGINT NOT NULL,
    company_list TEXT NOT NULL REFERENCES company_lists (hash),
    PRIMARY KEY (schedule, since)
);

-- Runs of schedules. The ID consists of the schedule and the due time, so any number of
-- workers creates one batch.
CREATE TABLE schedule_runs (
    id           TEXT PRIMARY KEY,
    schedule     TEXT NOT NULL,
    due          BIGINT NOT NULL,
    company_list TEXT NOT NULL,
    missed       BIGINT NOT NULL DEFAULT 0,
    owner        TEXT NOT NULL,
    began_at     BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL DEFAULT 0,
    state        TEXT NOT NULL,
    batch        TEXT NOT NULL DEFAULT '',
    plan         TEXT NOT NULL DEFAULT '',
    note         TEXT NOT NULL DEFAULT ''
);
CREATE INDEX schedule_runs_of_schedule ON schedule_runs (schedule, due);

-- Names are folded; roles are words separated by spaces.
CREATE TABLE accounts (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL,
    roles        TEXT NOT NULL,
    disabled     INTEGER NOT NULL DEFAULT 0,
    created_at   BIGINT NOT NULL,
    signed_in_at BIGINT NOT NULL DEFAULT 0,
    -- Others through whose links the account signed in last, a JSON list of names.
    link_makers  TEXT NOT NULL DEFAULT '',
    -- The provider that manages the account and its roles; empty for a local account.
    managed_by   TEXT NOT NULL DEFAULT '',
    email        TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX accounts_name ON accounts (name);

-- Sessions, by the SHA-256 of their secret.
CREATE TABLE sessions (
    hash           TEXT PRIMARY KEY,
    account        TEXT NOT NULL REFERENCES accounts (id),
    created_at     BIGINT NOT NULL,
    seen_at        BIGINT NOT NULL,
    ends_at        BIGINT NOT NULL,
    -- The sealed ID token, to sign out at the provider.
    provider_token TEXT NOT NULL DEFAULT ''
);
CREATE INDEX sessions_of_account ON sessions (account);

-- One-time sign-in links, by the SHA-256 of their secret, and who made them. Makers are a JSON list
-- of names.
CREATE TABLE sign_in_links (
    hash       TEXT PRIMARY KEY,
    id         TEXT NOT NULL,
    account    TEXT NOT NULL REFERENCES accounts (id),
    made_by    TEXT NOT NULL,
    makers     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    ends_at    BIGINT NOT NULL
);
CREATE UNIQUE INDEX sign_in_links_id ON sign_in_links (id);
CREATE INDEX sign_in_links_of_account ON sign_in_links (account);

-- People as a sign-in provider knows them: an issuer and a subject never change.
CREATE TABLE identities (
    issuer      TEXT NOT NULL,
    subject     TEXT NOT NULL,
    account     TEXT NOT NULL REFERENCES accounts (id),
    name        TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    used_at     BIGINT NOT NULL,
    -- When the person was unlinked; 0 if linked. They get no second account.
    unlinked_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_of_account ON identities (account);

-- Public keys as JSON.
CREATE TABLE passkeys (
    id         TEXT PRIMARY KEY,
    account    TEXT NOT NULL REFERENCES accounts (id),
    name       TEXT NOT NULL,
    credential TEXT NOT NULL,
    data       TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL
);
CREATE INDEX passkeys_of_account ON passkeys (account);
CREATE UNIQUE INDEX passkeys_credential ON passkeys (credential);

-- The audit log. The client chooses the ID, so a repeated request is recorded once.
CREATE TABLE audit_events (
    seq    {{identity}},
    id     TEXT NOT NULL,
    at     BIGINT NOT NULL,
    person TEXT NOT NULL,
    origin TEXT NOT NULL,
    what   TEXT NOT NULL,
    object TEXT NOT NULL,
    note   TEXT NOT NULL
);
CREATE UNIQUE INDEX audit_events_id ON audit_events (id);
CREATE INDEX audit_events_of_object ON audit_events (object, seq);

-- Who took part in a batch, and may not approve it. The object is the ID of a batch,
-- "upload ID", or "schedule NAME HASH" with the hash of the company list.
CREATE TABLE contributors (
    object TEXT NOT NULL,
    person TEXT NOT NULL,
    part   TEXT NOT NULL,
    PRIMARY KEY (object, person)
);

CREATE TABLE approval_policy (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    second     INTEGER NOT NULL DEFAULT 0,
    from_cents BIGINT NOT NULL DEFAULT 0,
    terminal   INTEGER NOT NULL DEFAULT 0,
    changed_by TEXT NOT NULL DEFAULT '',
    changed_at BIGINT NOT NULL DEFAULT 0
);

-- The steps of an approval. The object is the ID of a batch, or "upload ID" after it was
-- sent back.
CREATE TABLE approval_history (
    id        {{identity}},
    object    TEXT NOT NULL,
    at        BIGINT NOT NULL,
    person    TEXT NOT NULL,
    what      TEXT NOT NULL,
    comment   TEXT NOT NULL DEFAULT '',
    plan      TEXT NOT NULL DEFAULT '',
    orders    BIGINT NOT NULL DEFAULT 0,
    cents     BIGINT NOT NULL DEFAULT 0,
    certainty INTEGER NOT NULL DEFAULT 0,
    quote     TEXT NOT NULL DEFAULT ''
);
CREATE INDEX approval_history_of ON approval_history (object, id);

-- Spreadsheets that are not submitted yet. They may hold Social Security numbers, so
-- content and edits are sealed.
CREATE TABLE uploads (
    id         TEXT PRIMARY KEY,
    file       TEXT NOT NULL,
    size       BIGINT NOT NULL,
    hash       TEXT NOT NULL,
    options    TEXT NOT NULL DEFAULT '',
    edits      TEXT NOT NULL DEFAULT '',
    version    BIGINT NOT NULL DEFAULT 1,
    batch      TEXT NOT NULL DEFAULT '',
    quote      TEXT NOT NULL DEFAULT '',
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    -- A spreadsheet whose batch waits for approval is kept unchanged, so that the batch can
    -- be sent back.
    submitted  INTEGER NOT NULL DEFAULT 0,
    -- A second person must approve whatever the policy says, since one sent it back.
    second     INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX uploads_of_batch ON uploads (batch);

CREATE TABLE upload_parts (
    upload TEXT NOT NULL,
    part   BIGINT NOT NULL,
    sealed {{bytes}} NOT NULL,
    at     BIGINT NOT NULL,
    PRIMARY KEY (upload, part)
);

-- SHA-256 of the results written as CSV: a file with another hash was changed since.
CREATE TABLE written (
    hash TEXT PRIMARY KEY,
    at   BIGINT NOT NULL
);

-- The organization whose orders the ledger holds, as the filing service reports it. If
-- it reports none, unnamed is a hash of the API key and address that a person confirmed.
CREATE TABLE organizations (
    created   TEXT NOT NULL,
    domain    TEXT NOT NULL,
    subdomain TEXT NOT NULL,
    unnamed   TEXT NOT NULL,
    name      TEXT NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (created, domain, subdomain, unnamed)
);

-- Where people reach the page, for links in notifications.
CREATE TABLE page_address (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    address TEXT NOT NULL
);

-- The firm's time zone; empty for that of each schedule.
CREATE TABLE firm_zone (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    zone       TEXT NOT NULL DEFAULT '',
    changed_by TEXT NOT NULL DEFAULT '',
    changed_at BIGINT NOT NULL DEFAULT 0
);

INSERT INTO control (id) VALUES (1);
INSERT INTO approval_policy (id) VALUES (1);
INSERT INTO firm_zone (id) VALUES (1);
