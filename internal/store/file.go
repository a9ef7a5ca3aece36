package store

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// readers is the number of connections that read an SQLite file. All of them are kept, because a new
// connection parses its statements again.
const readers = 4

// followFile reopens the SQLite file if another file has replaced it, because writes to the old
// file would be lost. A connection that is in use at that moment has the old file open. Each
// connection therefore serves a single use and is not kept, until there was a moment without any
// connection in use.
func (db *DB) followFile() (os.FileInfo, error) {
	db.following.Lock()
	defer db.following.Unlock()
	file, err := os.Stat(db.path())
	if err != nil {
		return nil, fmt.Errorf("the ledger's file has gone while it is open: %w", err)
	}
	pools := []*sql.DB{db.write, db.Read}
	switch {
	case db.file != nil && !os.SameFile(db.file, file):
		db.reopening = true
		for _, pool := range pools {
			pool.SetMaxIdleConns(0)
			// This also applies to callers that wait for a connection.
			pool.SetConnMaxLifetime(time.Nanosecond)
		}
	case db.reopening && db.write.Stats().InUse == 0 && db.Read.Stats().InUse == 0:
		db.reopening = false
		for _, pool := range pools {
			pool.SetConnMaxLifetime(0)
			pool.SetMaxIdleConns(readers)
		}
	}
	db.file = file
	return file, nil
}

// Follow reopens the SQLite file if another file has replaced it. With PostgreSQL it does nothing.
func (db *DB) Follow() error {
	if db.Dialect.IsServer {
		return nil
	}
	_, err := db.followFile()
	return err
}

// checkFile returns an error if another file has replaced the file of a commit. The change is lost
// with the old file, or it is in the new file if it began just in time. If the change was the
// intent of an order, the order is not sent.
func (db *DB) checkFile(committedTo os.FileInfo) error {
	file, err := os.Stat(db.path())
	if err == nil && !os.SameFile(committedTo, file) {
		err = errors.New("the ledger's file was replaced during the commit")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCommit, err)
	}
	return nil
}

// path returns the path of the SQLite file.
func (db *DB) path() string { return filepath.Join(db.Dir, "ledger.db") }
