package main

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/fixtures"
)

func TestTheDemosPicturesShowWhatTheyAreNamedAfter(t *testing.T) {
	needChromium(t)
	fixtures.NeedDisplay(t) // what it needs, the demo's own display needs too
	path, err := buildBinary()
	require.NoError(t, err)
	dir := t.TempDir()
	out, err := exec.Command("go", "run", "./scripts/demoperson", path, dir).CombinedOutput()
	require.NoError(t, err, string(out))
	picture := func(name string) image.Image {
		f, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		defer f.Close()
		decoded, err := png.Decode(f)
		require.NoError(t, err)
		return decoded
	}
	assert.Greater(t, pixels(picture("1-approval.png"), color.RGBA{0x0b, 0x57, 0xd0, 0xff}), 1500, "Allow can be used")
	assert.Greater(t, pixels(picture("2-approved-site.png"), color.RGBA{0xfb, 0xf8, 0xf2, 0xff}), 100_000, "the shop is painted")
}

// pixels counts those of a colour.
func pixels(picture image.Image, c color.RGBA) int {
	n, bounds := 0, picture.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if color.RGBAModel.Convert(picture.At(x, y)) == c {
				n++
			}
		}
	}
	return n
}
