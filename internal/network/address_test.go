package network

import (
	"net/netip"
	"testing"
)

// wantAddresses checks what a function says of addresses, and that it refuses one that is none.
func wantAddresses(t *testing.T, is func(netip.Addr) bool, addresses map[string]bool) {
	t.Helper()
	for address, want := range addresses {
		if got := is(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if is(netip.Addr{}) {
		t.Error("no address is accepted")
	}
}

func TestPublic(t *testing.T) {
	wantAddresses(t, Public, map[string]bool{
		"93.184.216.34": true, "8.8.8.8": true, "172.32.0.1": true, "2606:2800:220:1::1": true,
		"64:ff9b::5db8:d822": true, "::ffff:8.8.8.8": true,
		"10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "127.0.0.1": false,
		"127.255.0.1": false, "0.0.0.0": false, "0.1.2.3": false,
		"169.254.169.254": false, "100.64.0.1": false, "100.100.100.200": false, "168.63.129.16": false,
		"192.0.0.192": false, "224.0.0.1": false, "255.255.255.255": false,
		"198.18.0.1": false, "203.0.113.1": false,
		"::": false, "::1": false, "::127.0.0.1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false,
		"fc00::1": false, "fd00:ec2::254": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "64:ff9b::7f00:1": false,
		"64:ff9b::a9fe:a9fe": false, "64:ff9b:1::a00:1": false,
		"2002:7f00:1::": false, "2002:808:808::": false, "2001:0:808:808::1": false, "2001:db8::1": false,
		"100::1": false,
	})
}

// What a setting names may be private. A cloud's metadata is no host that
// anybody means.
func TestReachable(t *testing.T) {
	wantAddresses(t, Reachable, map[string]bool{
		"127.0.0.1": true, "::1": true, "10.0.0.7": true, "192.168.1.5": true, "fd12:3456::1": true, "8.8.8.8": true,
		"169.254.169.254": false, "::ffff:169.254.169.254": false, "64:ff9b::a9fe:a9fe": false, "fe80::1%eth0": false,
		"0.0.0.0": false, "::": false,
		"224.0.0.251": false, "ff02::1": false, "fd00:ec2::254": false, "100.100.100.200": false,
		"255.255.255.255": false,
	})
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true,
		"::ffff:127.0.0.1": true, "": false, "0.0.0.0": false, "10.0.0.1": false, "localhost.example.com": false,
		"127.0.0.1.example.com": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}
