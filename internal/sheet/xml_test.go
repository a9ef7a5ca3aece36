package sheet

import (
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
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

func TestTexts(t *testing.T) {
	goldentest.Lines(t, "testdata/texts.txt", func(t *testing.T, fields []string) string {
		text := []byte(fields[1])
		if fields[0] == "unescape" {
			return strconv.Quote(string(unescape(text)))
		}
		if got := string(appendClean([]byte("kept"), text)); got != "kept"+string(appendClean(nil, text)) {
			t.Errorf("%q becomes %q", text, got)
		}
		return strconv.Quote(string(appendClean(nil, text)))
	})
}
