//go:build unix

package browser

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
)

// film is a recording of the page, a picture at each step.
type film struct {
	frames []image.Image
	delays []time.Duration
}

// The window of a film, and what its pictures are reduced to.
const (
	filmWidth, filmHeight = 1366, 768
	filmScale             = 0.6
	largestFilm           = 2_500_000 // bytes
)

// shoot adds a picture of the page that is shown for d.
func (f *film) shoot(p *person, d time.Duration) {
	p.t.Helper()
	if f == nil || !p.pictures || p.t.Failed() {
		return
	}
	content := call(p, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng,
		Clip: &page.Viewport{Width: filmWidth, Height: filmHeight, Scale: filmScale,
			Y: eval[float64](p, `scrollY`)},
	})
	picture, err := png.Decode(bytes.NewReader(content.Data))
	if err != nil {
		p.t.Fatalf("%s: read a picture of the film: %v", p.name, err)
	}
	f.frames, f.delays = append(f.frames, picture), append(f.delays, d)
}

// save writes the film as a GIF of docs.
func (f *film) save(t *testing.T, name string) {
	t.Helper()
	if f == nil || len(f.frames) == 0 || t.Failed() {
		return
	}
	content, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}
	if len(content) > largestFilm {
		t.Errorf("%s has %d bytes, at most %d are allowed", name, len(content), largestFilm)
	}
	if err := os.WriteFile(filepath.Join("..", "..", "docs", name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// encode writes the frames with a palette each; a frame holds only the part
// that differs from the one before.
func (f *film) encode() ([]byte, error) {
	out := &gif.GIF{Config: image.Config{
		Width:  f.frames[0].Bounds().Dx(),
		Height: f.frames[0].Bounds().Dy(),
	}}
	for i, frame := range f.frames {
		part := frame.Bounds()
		if i > 0 {
			part = changed(f.frames[i-1], frame)
		}
		cut := image.NewRGBA(part)
		draw.Draw(cut, part, frame, part.Min, draw.Src)
		few := paletted(cut)
		if few == nil {
			few = image.NewPaletted(part, color.Palette{color.White, color.Black})
			draw.FloydSteinberg.Draw(few, part, frame, part.Min)
		}
		out.Image = append(out.Image, few)
		out.Delay = append(out.Delay, int(f.delays[i]/(10*time.Millisecond)))
		out.Disposal = append(out.Disposal, gif.DisposalNone)
	}
	var content bytes.Buffer
	err := gif.EncodeAll(&content, out)
	return content.Bytes(), err
}

// changed is the smallest part that has all the points in which b differs from
// a; one point where they are alike.
func changed(a, b image.Image) image.Rectangle {
	box := b.Bounds()
	if a.Bounds() != box {
		return box
	}
	part := image.Rectangle{}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			if a.At(x, y) != b.At(x, y) {
				part = part.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	if part.Empty() {
		return image.Rect(box.Min.X, box.Min.Y, box.Min.X+1, box.Min.Y+1)
	}
	return part
}

// A film keeps what each frame changes.
func TestFilm(t *testing.T) {
	one := image.NewRGBA(image.Rect(0, 0, 40, 30))
	draw.Draw(one, one.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	two := image.NewRGBA(one.Bounds())
	draw.Draw(two, two.Bounds(), one, image.Point{}, draw.Src)
	two.Set(7, 9, color.Black)
	two.Set(12, 11, color.Black)
	f := &film{frames: []image.Image{one, two, two}, delays: []time.Duration{time.Second, time.Second, time.Second}}
	content, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := gif.DecodeAll(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Image) != 3 || got.Image[1].Bounds() != image.Rect(7, 9, 13, 12) || got.Image[2].Bounds().Dx() != 1 ||
		got.Delay[0] != 100 {
		t.Errorf("%d frames, the second %v, delays %v", len(got.Image), got.Image[1].Bounds(), got.Delay)
	}
}
