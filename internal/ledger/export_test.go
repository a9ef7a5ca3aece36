package ledger

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
