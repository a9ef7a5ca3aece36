//go:build unix

package browser

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"strings"
	"testing"
)

// axeScript is axe-core 4.14.1 (axe/LICENSE), unchanged.
//
//go:embed axe/axe.min.js
var axeScript string

const axeHash = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"

// The accessibility rules are those that were released, not a changed copy.
func TestAxeIsUnchanged(t *testing.T) {
	sum := sha256.Sum256([]byte(axeScript))
	if got := hex.EncodeToString(sum[:]); got != axeHash {
		t.Errorf("axe.min.js has the hash %s, want %s", got, axeHash)
	}
}

// inaccessible lists what axe-core finds on the page, with its best practices. A
// page that loads again meanwhile is looked at again. Only the named rules apply, or all
// if none is named.
func (p *person) inaccessible(rules ...string) []string {
	p.t.Helper()
	options := `{}`
	if len(rules) > 0 {
		options = `{runOnly: ` + quoted(strings.Join(rules, ",")) + `.split(",")}`
	}
	for range 3 {
		query[bool](p, `window.axe !== undefined || (`+"() => {"+axeScript+"\n return true; })()")
		query[bool](p, `(() => {
			window.found = undefined;
			const sentence = (v) => v.nodes.map((n) => v.id + " (" + v.impact + "): " + n.html.slice(0, 160) + " " +
				(n.failureSummary ?? "").replace(/\s+/g, " ").slice(0, 200));
			if (!window.axe) return false;
			axe.run(document, `+options+`).then((r) => { window.found = r.violations.flatMap(sentence); },
				(err) => { window.found = ["axe failed: " + err]; });
			return true;
		})()`)
		if p.soon(patience/3, `window.found !== undefined`) {
			return query[[]string](p, `window.found ?? []`)
		}
	}
	return []string{"axe-core did not end"}
}

// wantAccessible reports what axe-core finds on the page.
func (p *person) wantAccessible(rules ...string) {
	p.t.Helper()
	if found := p.inaccessible(rules...); len(found) > 0 {
		p.t.Errorf("%s: %s: axe-core finds\n  %s", p.name, query[string](p, `location.pathname`),
			strings.Join(found, "\n  "))
	}
}
