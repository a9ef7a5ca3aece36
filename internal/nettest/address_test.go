package nettest

import (
	"net"
	"testing"
)

// Fifty open connections take no free address.
func TestConnectionsTakeNoFreeAddress(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	for range 50 {
		connection, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		if port := connection.LocalAddr().(*net.TCPAddr).Port; port >= lowestPort && port < highestPort {
			t.Fatalf("a connection has port %d", port)
		}
	}
	listener, err := net.Listen("tcp", Free())
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
}

// An address whose server has not started yet is not given again.
func TestNoAddressIsGivenTwice(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		address := Free()
		if seen[address] {
			t.Fatalf("%s was given twice", address)
		}
		seen[address] = true
	}
}
