package ledger

import "context"

// SynchronousCommit is how a connection to a server waits for its commits.
func SynchronousCommit(ctx context.Context, databaseURL string) (setting string, err error) {
	db, err := openPostgres(databaseURL)
	if err != nil {
		return "", err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, `SHOW synchronous_commit`).Scan(&setting)
	return setting, err
}

// HashFor makes passwords cost what a test can wait for.
func (l *Ledger) HashFor(memoryKiB, passes uint32) {
	l.hashing = hashing{memory: memoryKiB, time: passes, lanes: 1}
}

// OccupyHashing keeps everybody from hashing until it is ended.
func (l *Ledger) OccupyHashing() (end func()) {
	for range maxHashing {
		l.hashers <- struct{}{}
	}
	return func() {
		for range maxHashing {
			<-l.hashers
		}
	}
}
