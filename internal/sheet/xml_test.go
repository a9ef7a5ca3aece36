package sheet

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// piecewise gives what it has in pieces of odd sizes, as a decompressor does.
type piecewise struct {
	r    io.Reader
	rand *rand.Rand
	most int
}

func (p piecewise) Read(b []byte) (int, error) {
	return p.r.Read(b[:min(len(b), 1+p.rand.IntN(p.most))])
}

// Texts that are longer than the scanner's buffer come in several pieces, none
// of which breaks a reference or a letter's escape in two.
func TestScannerOverItsBuffer(t *testing.T) {
	text := strings.Repeat("abc &amp; d&#x65;f &lt;", 30_000)
	document := "<a><!-- " + strings.Repeat("comment ", 40_000) + "--><b x='" + strings.Repeat(">", 200_000) + "'>" +
		text + "</b><c>" + text + "</c><![CDATA[" + strings.Repeat("]]", 100_000) + "]]></a>"
	want, err := decoderTokens(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{7, 1000, 100_000, 1 << 20} {
		got, err := scannerTokens(piecewise{strings.NewReader(document), rand.New(rand.NewPCG(1, 2)), most})
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("in pieces of %d: %d bytes of tokens, want %d", most, len(got), len(want))
		}
	}
}

func TestUnescape(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "a_x000D_b": "a\rb", "_x005F_x000D_": "_x000D_", "_x41_": "_x41_", "_x0041": "_x0041",
		"_x00e9__x00E9_": "éé",
		"__x0041_":       "_A", "_xZZZZ_": "_xZZZZ_", "_x000D": "_x000D", "_xD83D_": "\uFFFD",
	} {
		if got := string(unescape([]byte(text))); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
