package network

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the addresses of trusted proxies. The zero value trusts none.
type Proxies struct{ blocks []netip.Prefix }

// ParseProxies parses addresses and blocks of addresses, separated by commas. An empty text trusts
// none.
func ParseProxies(text string) (Proxies, error) {
	var p Proxies
	for one := range strings.SplitSeq(text, ",") {
		one = strings.TrimSpace(one)
		if one == "" {
			continue
		}
		block, err := netip.ParsePrefix(one)
		if err != nil {
			var a netip.Addr
			if a, err = netip.ParseAddr(one); err == nil {
				block, err = a.Unmap().Prefix(a.Unmap().BitLen())
			}
		}
		if err != nil {
			return Proxies{}, fmt.Errorf(
				"%q is not an address, such as 127.0.0.1, or a block of addresses, such as 10.42.0.0/16", one)
		}
		if block.Bits() == 0 {
			return Proxies{}, fmt.Errorf("%s is every address there is: name those of the proxy", one)
		}
		p.blocks = append(p.blocks, block.Masked())
	}
	return p, nil
}

// Any reports whether there is a trusted proxy.
func (p Proxies) Any() bool { return len(p.blocks) > 0 }

// ClientAddress returns the address of the client. It reads X-Forwarded-For from the right while
// the hop that wrote the entry is a trusted proxy, because anyone could have written the earlier
// entries. It reads no other header.
func (p Proxies) ClientAddress(r *http.Request) string {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	client := remote.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && p.trusts(client); i-- {
		hop, err := parseHop(hops[i])
		if err != nil {
			break
		}
		client = hop
	}
	return client.String()
}

func (p Proxies) trusts(a netip.Addr) bool { return within(a.WithZone(""), p.blocks) }

// parseHop parses an entry of X-Forwarded-For. Some proxies also write the port.
func parseHop(text string) (netip.Addr, error) {
	text = strings.TrimSpace(text)
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		var whole netip.AddrPort
		whole, err = netip.ParseAddrPort(text)
		a = whole.Addr()
	}
	return a.Unmap(), err
}
