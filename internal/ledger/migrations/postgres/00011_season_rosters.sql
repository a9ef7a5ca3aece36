-- +goose Up
-- Whoever places waits here, so that none of its locks meets ours half-way.
UPDATE control SET id = 1 WHERE id = 1;

-- The rosters that a season has had, and from when on: a report is a season's
-- where the company stood in its roster when it fell due.
CREATE TABLE season_rosters (
    season   TEXT   NOT NULL,
    version  BIGINT NOT NULL,
    roster   TEXT   NOT NULL,
    since    BIGINT NOT NULL,
    PRIMARY KEY (season, version)
);

INSERT INTO season_rosters (season, version, roster, since) SELECT name, version, roster, since FROM seasons;
