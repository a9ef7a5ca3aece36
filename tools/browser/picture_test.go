//go:build unix

package browser

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/page"
)

// largest is what a picture of the README may take.
const largest = 250_000

// saveScreenshot saves a screenshot for the README, if p.pictures is set: a window of
// this size, from the top of the page.
func (p *person) saveScreenshot(name string, width, height int64) {
	p.t.Helper()
	if !p.pictures || p.t.Failed() {
		return
	}
	p.emulate(width, height)
	eval[bool](p, `(document.activeElement?.blur(), scrollTo(0, 0), true)`)
	shown := min(float64(height), eval[float64](p, `document.documentElement.scrollHeight`))
	content := call(p, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng, Clip: &page.Viewport{Width: float64(width), Height: shown, Scale: 1},
	})
	small, err := packed(content.Data)
	if err != nil {
		p.t.Fatalf("%s: pack a picture: %v", p.name, err)
	}
	if len(small) > largest {
		p.t.Errorf("%s.png has %d bytes, at most %d will do", name, len(small), largest)
	}
	if err := os.WriteFile(filepath.Join("..", "..", "docs", "page-"+name+".png"), small, 0o644); err != nil {
		p.t.Fatal(err)
	}
	p.emulate(p.width, p.height)
}

// packed writes a picture as tightly as PNG can.
func packed(content []byte) ([]byte, error) {
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&out, picture)
	return out.Bytes(), err
}
