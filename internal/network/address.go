package network

import (
	"net/netip"
	"strings"
)

// special are the address blocks that are not public. They are the blocks in the registries of
// special-purpose addresses (RFC 6890 and later), multicast, and the address at which a cloud
// serves its own machines. IPv6 addresses outside 2000::/3 are not public either.
var special = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // carrier-grade NAT, and the metadata of one cloud
	"127.0.0.0/8",      // loopback
	"169.254.0.0/16",   // link-local, and the metadata of most clouds
	"168.63.129.16/32", // the agent of a cloud, at a public address
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments, and the metadata of one cloud
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, broadcast
	"2001::/23",        // protocol assignments, including Teredo
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4
	"3fff::/20",        // documentation
)

// never are the blocks that no setting allows. A link-local address more often has a cloud's
// metadata than a server of documents.
var never = prefixes(
	"0.0.0.0/8", "169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "224.0.0.0/4",
	"240.0.0.0/4",
	"::/128", "fe80::/10", "fec0::/10", "ff00::/8", "fd00:ec2::/32", "fd20:ce::/32",
)

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(all ...string) []netip.Prefix {
	blocks := make([]netip.Prefix, len(all))
	for i, text := range all {
		blocks[i] = netip.MustParsePrefix(text)
	}
	return blocks
}

// Public reports whether an address is on the public Internet. It is not if it is private,
// loopback, link-local, multicast or reserved, or if it is an IPv6 form of such an IPv4 address.
func Public(a netip.Addr) bool {
	a = plain(a)
	return !within(a, special) && (a.Is4() || globalUnicast.Contains(a))
}

// Reachable reports whether the program may connect to an address of a host that a setting names.
// It may be private, but must not have a cloud's metadata.
func Reachable(a netip.Addr) bool { return a.IsValid() && !within(plain(a), never) }

// plain returns the destination of packets to an address. It extracts an IPv4 address that is
// written as IPv6 or reached through NAT64.
func plain(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

func within(a netip.Addr, blocks []netip.Prefix) bool {
	for _, block := range blocks {
		if block.Contains(a) {
			return true
		}
	}
	return false
}

// IsLoopback reports whether a host is this machine, by its name or IP address. Data sent to it
// does not leave the machine.
func IsLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || (err == nil && a.Unmap().IsLoopback())
}
