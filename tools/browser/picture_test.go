//go:build unix

package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"

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

// packed writes a picture as tightly as PNG can: with a palette where it has few
// colors, as pages have.
func packed(content []byte) ([]byte, error) {
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if few := paletted(picture); few != nil {
		picture = few
	}
	err = encoder.Encode(&out, picture)
	return out.Bytes(), err
}

// paletted is a picture in at most 256 colors, near ones merged;
// nil if it needs more.
func paletted(picture image.Image) *image.Paletted {
	for bits := 8; bits >= 6; bits-- { // fewer show
		near := func(c color.Color) color.RGBA {
			r, g, b, _ := c.RGBA()
			round := func(v uint32) uint8 {
				step := uint32(1) << (8 - bits)
				return uint8(min(255, (v>>8+step/2)/step*step))
			}
			return color.RGBA{round(r), round(g), round(b), 255}
		}
		seen := make(map[color.RGBA]bool)
		box := picture.Bounds()
		for y := box.Min.Y; y < box.Max.Y; y++ {
			for x := box.Min.X; x < box.Max.X; x++ {
				seen[near(picture.At(x, y))] = true
			}
		}
		if len(seen) > 256 {
			continue
		}
		var palette color.Palette
		for _, c := range slices.SortedFunc(maps.Keys(seen), func(a, b color.RGBA) int {
			return cmp.Or(cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
		}) {
			palette = append(palette, c)
		}
		few := image.NewPaletted(box, palette)
		draw.Draw(few, box, picture, box.Min, draw.Src)
		return few
	}
	return nil
}
