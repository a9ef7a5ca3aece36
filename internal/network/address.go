package network

import (
	"net/netip"
	"strings"
)

// special are the address blocks that are not public: those of the registries of
// special-purpose addresses (RFC 6890 and later), multicast, and the address at
// which a cloud answers its own machines. What is not listed of IPv6 and lies
// outside 2000::/3 is not public either.
var special = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // carrier-grade NAT; the metadata of one cloud
	"127.0.0.0/8",      // loopback
	"169.254.0.0/16",   // link-local; the metadata of most clouds
	"168.63.129.16/32", // a cloud's own agent, at a public address
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments; the metadata of one cloud
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, broadcast
	"2001::/23",        // protocol assignments, Teredo among them
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4
	"3fff::/20",        // documentation
)

// never are the blocks that no setting allows: a link-local address is that of a
// cloud's metadata more often than of anything that gives documents out.
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

// Public reports whether an address is one of the Internet at large: not
// private, loopback, link-local, multicast, reserved, nor an IPv6 form of such
// an IPv4 address.
func Public(a netip.Addr) bool {
	a = plain(a)
	return !within(a, special) && (a.Is4() || globalUnicast.Contains(a))
}

// Reachable reports whether an address may be connected to where a setting names
// the host: private ones may, those of a cloud's metadata may not.
func Reachable(a netip.Addr) bool { return a.IsValid() && !within(plain(a), never) }

// plain is the address that packets go to: an IPv4 address that is written as
// IPv6, or reached through a NAT64, is taken out of it.
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

// IsLoopback reports whether a host of an address is this machine, by its name or
// its IP address. Nothing that is sent there leaves the machine.
func IsLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || (err == nil && a.Unmap().IsLoopback())
}
