//go:build browser

package viewer_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"example.com/cardrun"
	"example.com/cardrun/examples"
)

var update = flag.Bool("update", false, "write the pictures instead of comparing")

// TestPictures compares three examples, as mounted, with pictures of them. Fonts differ from machine to machine, so what is
// compared is where there is ink and how much: the size within 12 percent, and the brightness of a grid of cells.
func TestPictures(t *testing.T) {
	s := newService(t)
	b := openTab(t, s)
	b.scheme(t, "light")
	b.do(chromedp.EmulateViewport(480, 900))
	pictures := map[string]image.Image{}
	for _, name := range []string{"tip", "bars", "planets"} {
		data, err := examples.Files.ReadFile(name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		c, seed := cardrun.Decode(data), uint64(1)
		x, _, err := s.rt.Open(t.Context(), &c, cardrun.SessionOptions{RenderOptions: cardrun.RenderOptions{Seed: &seed}})
		if err != nil || x == nil {
			t.Fatal("open", name, err)
		}
		b.visit("/host")
		b.await(t, "window.host")
		b.eval(nil, "host.open({session: "+quote(s.keep(x))+", url: location.origin})")
		b.await(t, "host.view.state === 'live' && host.seen.snapshots > 0 && host.view.frame.card.getBoundingClientRect().height <= host.view.frame.iframe.clientHeight")
		b.eval(nil, "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
		var r struct{ X, Y, W, H float64 }
		b.eval(&r, "(() => { const r = host.view.frame.iframe.getBoundingClientRect(); return {X: r.x + scrollX, Y: r.y + scrollY, W: r.width, H: r.height} })()")
		shot, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
			Clip: &page.Viewport{X: r.X, Y: r.Y, Width: r.W, Height: r.H, Scale: 1}, CaptureBeyondViewport: new(true),
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := png.Decode(bytes.NewReader(shot.Data))
		if err != nil {
			t.Fatal(err)
		}
		pictures[name] = got
		path := filepath.Join("testdata", name+".png")
		if *update {
			write(t, path, fewColours(got))
			continue
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := png.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if off := apart(want, got); off != "" {
			out := filepath.Join(t.ArtifactDir(), name+".png")
			write(t, out, got)
			t.Errorf("%s: %s; the picture is at %s, and -update makes it the right one", name, off, out)
		}
	}
	for a, x := range pictures { // what notices nothing would prove nothing
		for c, y := range pictures {
			if a != c && apart(x, y) == "" {
				t.Errorf("%s and %s are taken for the same", a, c)
			}
		}
	}
}

// apart says how two pictures differ, or "".
func apart(want, got image.Image) string {
	w, g := want.Bounds(), got.Bounds()
	if w.Dx() != g.Dx() || math.Abs(float64(g.Dy()-w.Dy())) > 0.12*float64(w.Dy()) {
		return fmt.Sprintf("it is %d by %d, not %d by %d", g.Dx(), g.Dy(), w.Dx(), w.Dy())
	}
	const columns, rows = 12, 16
	worst, sum := 0.0, 0.0
	for i := range columns {
		for k := range rows {
			d := math.Abs(brightness(want, i, k, columns, rows) - brightness(got, i, k, columns, rows))
			worst, sum = max(worst, d), sum+d
		}
	}
	if mean := sum / (columns * rows); worst > 0.45 || mean > 0.03 {
		return fmt.Sprintf("cells differ by %.3f, and one by %.2f", mean, worst)
	}
	return ""
}

// brightness is that of one cell, from 0 to 1.
func brightness(p image.Image, column, row, columns, rows int) float64 {
	b := p.Bounds()
	sum, n := 0.0, 0
	for y := b.Min.Y + b.Dy()*row/rows; y < b.Min.Y+b.Dy()*(row+1)/rows; y++ {
		for x := b.Min.X + b.Dx()*column/columns; x < b.Min.X+b.Dx()*(column+1)/columns; x++ {
			r, g, bl, _ := p.At(x, y).RGBA()
			sum += float64(r+g+bl) / 3 / 65535
			n++
		}
	}
	return sum / float64(max(n, 1))
}

func write(t *testing.T, path string, p image.Image) {
	t.Helper()
	var out bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestCompression}
	if err := e.Encode(&out, p); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestReadmePictures makes the pictures of the README with -update, and looks that they are there.
func TestReadmePictures(t *testing.T) {
	if !*update {
		for _, name := range []string{"light", "dark", "narrow"} {
			if info, err := os.Stat(filepath.Join("..", "docs", "playground-"+name+".png")); err != nil || info.Size() > 150<<10 {
				t.Errorf("picture %s: %v", name, err)
			}
		}
		return
	}
	s := newService(t)
	b := openTab(t, s)
	for _, c := range []struct {
		name, scheme, example string
		width, height         int64
	}{{"light", "light", "tip", 1200, 820}, {"dark", "dark", "planets", 1200, 820}, {"narrow", "light", "loan", 320, 820}} {
		b.scheme(t, c.scheme)
		b.do(chromedp.EmulateViewport(c.width, c.height))
		openPlayground(t, b)
		if c.example != "tip" { // which is there already
			b.eval(nil, fmt.Sprintf("(() => { const e = document.getElementById('example'); e.value = %q; e.dispatchEvent(new Event('change')) })()", c.example))
			b.await(t, ready+" && document.title.startsWith("+quote(s.render(t, c.example).Card.Title)+")")
		}
		if c.name == "light" {
			b.eval(nil, inCard+".getElementById('percent').focus()")
			b.do(chromedp.KeyEvent(kb.ArrowRight))
			b.eval(nil, inCard+".getElementById('people').focus()")
		}
		b.eval(nil, "new Promise(done => setTimeout(done, 500))")
		shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		p, err := png.Decode(bytes.NewReader(shot))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join("..", "docs", "playground-"+c.name+".png"), fewColours(p))
	}
}

// fewColours is a picture in its 256 most frequent colours, which is a third of the bytes.
func fewColours(p image.Image) image.Image {
	count := map[color.Color]int{}
	b := p.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[color.NRGBAModel.Convert(p.At(x, y))]++
		}
	}
	list := slices.SortedFunc(maps.Keys(count), func(x, y color.Color) int {
		return cmp.Or(count[y]-count[x], cmp.Compare(fmt.Sprint(x), fmt.Sprint(y)))
	})
	out := image.NewPaletted(b, color.Palette(list[:min(256, len(list))]))
	draw.Draw(out, b, p, b.Min, draw.Src)
	return out
}
