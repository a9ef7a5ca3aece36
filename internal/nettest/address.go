// Package nettest provides addresses for servers that tests start later.
package nettest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The ports are below the range of outgoing connections (from 32768 on Linux, 49152 elsewhere), so
// that no connection takes one between Free and the start of its server.
const (
	lowestPort  = 10_000
	highestPort = 32_000
)

// given has the ports that this process has received. The server of one may not have started yet.
var given sync.Map

// Free returns a random loopback address on which no server listens. A process never receives the
// same one twice.
func Free() string {
	for {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		if _, twice := given.LoadOrStore(port, true); twice {
			continue
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		if listener.Close() == nil {
			return address
		}
	}
}
