package chrome

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"

	"sallyport/chrome/reading"
)

// PictureRequest says what of a page is to be in the picture.
type PictureRequest struct {
	FullPage bool   // not only what the window shows
	Ref      string // of a snapshot: that element only; empty for none
	JPEG     bool
	MaxWidth int // in pixels; 0 means as large as MostPixels lets it be
}

// Screenshot is a picture of a page.
type Screenshot struct {
	reading.Picture
	URL, Title string
	Truncated  bool // the page is longer than the picture
}

// ErrUnknownRef: the document has no such element, or no longer.
var ErrUnknownRef = errors.New("unknown ref; get one from browser_snapshot of the document that the tab shows now")

var errMoves = &NetError{Code: "net::ERR_ABORTED", Detail: "the page moves too much for a picture that leaves out what was not approved; try again"}

const (
	longestPage  = 12_500 // CSS pixels of a full page
	pictureTries = 3
)

// Screenshot makes a picture of the document of a session's tab, without the frames
// that are not approved and without secrets. Errors are those of ReadText, and
// ErrUnknownRef.
func (b *Browser) Screenshot(ctx context.Context, r ReadRequest, p PictureRequest) (Screenshot, error) {
	return readLive(ctx, b, r, func(ctx context.Context, r *reader) (Screenshot, error) {
		if _, err := r.framesOf(ctx); err != nil {
			return Screenshot{}, err
		}
		at, err := decode[textPart](r.views[0].ask(ctx, "at"))
		if err != nil {
			return Screenshot{}, err
		}
		got, err := r.picture(ctx, p)
		got.URL, got.Title = saneURL(at.URL), at.Title
		return got, err
	})
}

func (r *reader) picture(ctx context.Context, p PictureRequest) (Screenshot, error) {
	if _, err := call(ctx, r.tab, dom.Enable, dom.EnableParams{}); err != nil {
		return Screenshot{}, err
	}
	defer func() { _, _ = call(ctx, r.tab, dom.Disable, cdp.Empty{}) }()
	region, truncated, undo, err := r.region(ctx, p)
	if err != nil {
		return Screenshot{}, err
	}
	defer undo()
	ratio, err := decode[float64](r.views[0].ask(ctx, "ratio"))
	if err != nil {
		return Screenshot{}, err
	}
	clip := &page.Viewport{X: region.Left, Y: region.Top, Width: region.Width(), Height: region.Height(), Scale: reading.Scale(region, ratio, p.MaxWidth)}
	for range pictureTries {
		before, err := r.boxes(ctx)
		if err != nil {
			return Screenshot{}, err
		}
		shot, err := call(ctx, r.tab, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng, Clip: clip})
		if err != nil {
			return Screenshot{}, err
		}
		after, err := r.boxes(ctx)
		if err != nil {
			return Screenshot{}, err
		}
		if slices.Equal(before, after) {
			painted, err := reading.Paint(shot.Data, region, after, p.JPEG)
			return Screenshot{Picture: painted, Truncated: truncated}, err
		}
	}
	return Screenshot{}, errMoves
}

// region is what the picture shows, in CSS pixels of the page. undo puts the page
// back as it was.
func (r *reader) region(ctx context.Context, p PictureRequest) (region reading.Box, truncated bool, undo func(), err error) {
	undo = func() {}
	if p.Ref != "" {
		region, err = r.elementRegion(ctx, p.Ref)
		return region, false, undo, err
	}
	m, err := call(ctx, r.tab, page.GetLayoutMetrics, cdp.Empty{})
	if err != nil {
		return region, false, undo, err
	}
	window := m.CSSVisualViewport
	region = reading.Box{Left: window.PageX, Top: window.PageY, Right: window.PageX + window.ClientWidth, Bottom: window.PageY + window.ClientHeight}
	if !p.FullPage || m.CSSContentSize.Height <= window.ClientHeight && m.CSSContentSize.Width <= window.ClientWidth {
		return region, false, undo, nil
	}
	width, height := math.Max(window.ClientWidth, math.Min(m.CSSContentSize.Width, longestPage)), math.Min(m.CSSContentSize.Height, longestPage)
	large := emulation.SetDeviceMetricsOverrideParams{Width: int64(math.Ceil(width)), Height: int64(math.Ceil(height))}
	if _, err := call(ctx, r.tab, emulation.SetDeviceMetricsOverride, large); err != nil {
		return region, false, undo, err
	}
	undo = func() {
		_, _ = call(context.WithoutCancel(ctx), r.tab, emulation.ClearDeviceMetricsOverride, cdp.Empty{})
	}
	return reading.Box{Right: float64(large.Width), Bottom: float64(large.Height)}, m.CSSContentSize.Height > longestPage, undo, nil
}

// elementRegion brings an element into the window, and says where it is there.
func (r *reader) elementRegion(ctx context.Context, ref string) (reading.Box, error) {
	e, known := r.tab.refs.find(r.frame.LoaderID, ref)
	i := slices.IndexFunc(r.views, func(v *view) bool { return v.id == e.frame })
	if !known || i < 0 || !r.views[i].own || !r.views[i].covered {
		return reading.Box{}, ErrUnknownRef
	}
	if _, err := call(ctx, r.tab, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: e.node}); err != nil {
		return reading.Box{}, ErrUnknownRef
	}
	m, err := call(ctx, r.tab, page.GetLayoutMetrics, cdp.Empty{})
	if err != nil {
		return reading.Box{}, err
	}
	box, shown := r.boxOf(ctx, dom.GetBoxModelParams{BackendNodeID: e.node}, m)
	window := m.CSSVisualViewport
	box = box.Intersect(reading.Box{Left: window.PageX, Top: window.PageY, Right: window.PageX + window.ClientWidth, Bottom: window.PageY + window.ClientHeight})
	if !shown || box.Width() < 1 || box.Height() < 1 {
		return reading.Box{}, ErrUnknownRef
	}
	return box, nil
}

// boxOf is where a node is on the page, its border included; false for one that is
// not rendered.
func (r *reader) boxOf(ctx context.Context, node dom.GetBoxModelParams, m page.GetLayoutMetricsResult) (reading.Box, bool) {
	got, err := call(ctx, r.tab, dom.GetBoxModel, node)
	if err != nil || len(got.Model.Border) < 8 {
		return reading.Box{}, false
	}
	q := got.Model.Border // four corners, relative to the window
	box := reading.Box{
		Left: min(q[0], q[2], q[4], q[6]), Top: min(q[1], q[3], q[5], q[7]),
		Right: max(q[0], q[2], q[4], q[6]), Bottom: max(q[1], q[3], q[5], q[7]),
	}
	return moveBox(box, m.CSSVisualViewport.PageX, m.CSSVisualViewport.PageY), true
}

func moveBox(b reading.Box, x, y float64) reading.Box {
	return reading.Box{Left: b.Left + x, Top: b.Top + y, Right: b.Right + x, Bottom: b.Bottom + y}
}
