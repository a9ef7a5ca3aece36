-- +goose Up
-- Any statement that places orders waits here, so that no lock of it meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- The clients that rows are billed to, by their folded names. One that was merged into
-- another, or renamed, leads to where its rows are billed now.
CREATE TABLE clients (
    folded     TEXT PRIMARY KEY,
    name       TEXT   NOT NULL,
    merged     TEXT   NOT NULL DEFAULT '',
    number     TEXT   NOT NULL DEFAULT '',
    rule       TEXT   NOT NULL DEFAULT '',
    rule_value BIGINT NOT NULL DEFAULT 0,
    changed_by TEXT   NOT NULL DEFAULT '',
    changed_at BIGINT NOT NULL DEFAULT 0
);

-- Whom a row is billed to, where its own columns do not say so or a person has changed
-- it. Origin: person, default. An empty text leaves what the row has.
CREATE TABLE row_clients (
    row        BIGINT PRIMARY KEY,
    client     TEXT   NOT NULL DEFAULT '',
    matter     TEXT   NOT NULL DEFAULT '',
    bill_to    TEXT   NOT NULL DEFAULT '',
    reference  TEXT   NOT NULL DEFAULT '',
    origin     TEXT   NOT NULL,
    changed_by TEXT   NOT NULL DEFAULT '',
    changed_at BIGINT NOT NULL
);

-- Whom a company was billed to last: rows that name no client are billed there.
CREATE TABLE company_clients (
    company    TEXT PRIMARY KEY,
    client     TEXT   NOT NULL,
    changed_by TEXT   NOT NULL DEFAULT '',
    changed_at BIGINT NOT NULL
);

-- Bills: drafts with the number 0, and issued ones, whose numbers have no gaps.
CREATE TABLE bills (
    id         TEXT PRIMARY KEY,
    number     BIGINT  NOT NULL DEFAULT 0,
    credit     INTEGER NOT NULL DEFAULT 0,
    client     TEXT    NOT NULL,
    folded     TEXT    NOT NULL,
    client_id  TEXT    NOT NULL DEFAULT '',
    bill_to    TEXT    NOT NULL DEFAULT '',
    matter     TEXT    NOT NULL DEFAULT '',
    month      TEXT    NOT NULL,
    dated      TEXT    NOT NULL DEFAULT '',
    due        TEXT    NOT NULL DEFAULT '',
    total      BIGINT  NOT NULL,
    lines      BIGINT  NOT NULL,
    created_by TEXT    NOT NULL DEFAULT '',
    created_at BIGINT  NOT NULL,
    issued_by  TEXT    NOT NULL DEFAULT '',
    issued_at  BIGINT  NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX bills_number ON bills (number) WHERE number <> 0;
CREATE INDEX bills_of_client ON bills (folded, month);
CREATE INDEX bills_of_month ON bills (month, number);

CREATE TABLE bill_lines (
    bill      TEXT    NOT NULL REFERENCES bills (id),
    position  BIGINT  NOT NULL,
    row       BIGINT  NOT NULL,
    product   TEXT    NOT NULL,
    ordinal   BIGINT  NOT NULL DEFAULT 0,
    kind      TEXT    NOT NULL,
    revision  BIGINT  NOT NULL DEFAULT 0,
    cost      BIGINT  NOT NULL,
    amount    BIGINT  NOT NULL,
    estimated INTEGER NOT NULL DEFAULT 0,
    batch     TEXT    NOT NULL,
    number    BIGINT  NOT NULL,
    order_id  TEXT    NOT NULL DEFAULT '',
    company   TEXT    NOT NULL DEFAULT '',
    state     TEXT    NOT NULL DEFAULT '',
    year      TEXT    NOT NULL DEFAULT '',
    reference TEXT    NOT NULL DEFAULT '',
    posted_at BIGINT  NOT NULL,
    PRIMARY KEY (bill, position)
);
-- A purchase is billed once: the index is the guard. Corrections count up.
CREATE UNIQUE INDEX bill_lines_once ON bill_lines (row, product, ordinal, kind, revision);

-- What a purchase cost in truth, where that is known from elsewhere than its order: a
-- statement of the filing service, or a person.
CREATE TABLE purchase_costs (
    row        BIGINT NOT NULL,
    product    TEXT   NOT NULL,
    ordinal    BIGINT NOT NULL DEFAULT 0,
    cost       BIGINT NOT NULL,
    source     TEXT   NOT NULL,
    changed_by TEXT   NOT NULL DEFAULT '',
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (row, product, ordinal)
);

-- How the firm bills.
CREATE TABLE billing_settings (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    rule       TEXT    NOT NULL DEFAULT 'none',
    rule_value BIGINT  NOT NULL DEFAULT 0,
    estimated  INTEGER NOT NULL DEFAULT 0,
    terms      BIGINT  NOT NULL DEFAULT 30,
    accounts   TEXT    NOT NULL DEFAULT '',
    changed_by TEXT    NOT NULL DEFAULT '',
    changed_at BIGINT  NOT NULL DEFAULT 0
);
INSERT INTO billing_settings (id) VALUES (1);
