package reading

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"
)

// MostPixels bounds a picture.
const MostPixels = 4_000_000

// jpegQuality is what text stays readable at.
const jpegQuality = 80

// Box is a place on a page, in CSS pixels.
type Box struct{ Left, Top, Right, Bottom float64 }

// Width is a box's width in CSS pixels, as Height is its height.
func (b Box) Width() float64  { return b.Right - b.Left }
func (b Box) Height() float64 { return b.Bottom - b.Top }

// Intersect is the part that two boxes share; empty boxes have no positive size.
func (b Box) Intersect(o Box) Box {
	return Box{math.Max(b.Left, o.Left), math.Max(b.Top, o.Top), math.Min(b.Right, o.Right), math.Min(b.Bottom, o.Bottom)}
}

// Scale is how much smaller a region must be drawn, so that it has at most
// mostWidth pixels across (0 for no bound) and MostPixels in all. ratio is the
// screen's pixels to a CSS pixel.
func Scale(region Box, ratio float64, mostWidth int) float64 {
	width, height := region.Width()*ratio, region.Height()*ratio
	scale := math.Min(1, math.Sqrt(MostPixels/(width*height)))
	if mostWidth > 0 {
		scale = math.Min(scale, float64(mostWidth)/width)
	}
	return scale
}

// cover is what is painted over: a grey that no page is likely to have by chance.
var cover = image.NewUniform(color.RGBA{0x5f, 0x63, 0x68, 0xff})

// Picture is an image that may be shown.
type Picture struct {
	Data          []byte
	Type          string // its media type
	Width, Height int
	Covered       int // places that were painted over
}

// Paint takes a PNG of a region of a page, paints boxes over, and writes it anew.
func Paint(raw []byte, region Box, boxes []Box, asJPEG bool) (Picture, error) {
	config, err := png.DecodeConfig(bytes.NewReader(raw))
	if err != nil {
		return Picture{}, fmt.Errorf("reading the browser's picture: %w", err)
	}
	if config.Width*config.Height > MostPixels+MostPixels/100 {
		return Picture{}, fmt.Errorf("the browser's picture is larger than was asked for: %d by %d", config.Width, config.Height)
	}
	decoded, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return Picture{}, fmt.Errorf("reading the browser's picture: %w", err)
	}
	picture, writable := decoded.(draw.Image)
	if !writable {
		return Picture{}, fmt.Errorf("the browser's picture is of a kind that can't be painted on: %T", decoded)
	}
	p := Picture{Type: "image/png", Width: config.Width, Height: config.Height}
	for _, box := range boxes {
		if at := pixels(box, region, picture.Bounds()); !at.Empty() {
			draw.Draw(picture, at, cover, image.Point{}, draw.Src)
			p.Covered++
		}
	}
	var out bytes.Buffer
	if asJPEG {
		p.Type = "image/jpeg"
		err = jpeg.Encode(&out, picture, &jpeg.Options{Quality: jpegQuality})
	} else {
		err = png.Encode(&out, picture)
	}
	p.Data = out.Bytes()
	return p, err
}

// pixels is where a box of a page is in the picture of a region, and a pixel more
// on each side.
func pixels(box, region Box, picture image.Rectangle) image.Rectangle {
	across, down := float64(picture.Dx())/region.Width(), float64(picture.Dy())/region.Height()
	part := box.Intersect(region)
	if part.Width() <= 0 || part.Height() <= 0 {
		return image.Rectangle{}
	}
	return image.Rect(
		int(math.Floor((part.Left-region.Left)*across))-1, int(math.Floor((part.Top-region.Top)*down))-1,
		int(math.Ceil((part.Right-region.Left)*across))+1, int(math.Ceil((part.Bottom-region.Top)*down))+1,
	).Intersect(picture)
}
