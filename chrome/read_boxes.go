package chrome

import (
	"context"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"

	"sallyport/chrome/reading"
)

// sensitive finds what may have to be left out of a picture, in closed shadow roots
// too, which no script sees into.
const sensitive = "iframe, frame, object, embed, fencedframe, input, textarea, select"

// boxes are the places on the page that a picture must not show.
func (r *reader) boxes(ctx context.Context) ([]reading.Box, error) {
	m, err := call(ctx, r.tab, page.GetLayoutMetrics, cdp.Empty{})
	if err != nil {
		return nil, err
	}
	nodes, err := r.search(ctx, sensitive)
	if err != nil {
		return nil, err
	}
	var all []reading.Box
	for _, id := range nodes {
		got, err := call(ctx, r.tab, dom.DescribeNode, dom.DescribeNodeParams{NodeID: id})
		if err != nil || r.harmless(ctx, got.Node) {
			continue
		}
		if box, shown := r.boxOf(ctx, dom.GetBoxModelParams{NodeID: id}, m); shown {
			all = append(all, box)
		}
	}
	return r.addMirrors(ctx, m, all)
}

// search asks the browser for the nodes of a selector, in every frame of the tab's
// process.
func (r *reader) search(ctx context.Context, selector string) ([]cdp.NodeID, error) {
	one := int64(1)
	if _, err := call(ctx, r.tab, dom.GetDocument, dom.GetDocumentParams{Depth: &one}); err != nil {
		return nil, err // it begins what the search numbers its nodes by
	}
	found, err := call(ctx, r.tab, dom.PerformSearch, dom.PerformSearchParams{Query: selector})
	if err != nil || found.ResultCount == 0 {
		return nil, err
	}
	defer func() {
		_, _ = call(ctx, r.tab, dom.DiscardSearchResults, dom.DiscardSearchResultsParams{SearchID: found.SearchID})
	}()
	got, err := call(ctx, r.tab, dom.GetSearchResults, dom.GetSearchResultsParams{SearchID: found.SearchID, ToIndex: found.ResultCount})
	return got.NodeIDs, err
}

// harmless reports that a node may be in a picture.
func (r *reader) harmless(ctx context.Context, n *cdp.Node) bool {
	switch n.NodeName {
	case "INPUT", "TEXTAREA", "SELECT":
		return r.plainField(ctx, n.BackendNodeID)
	case "OBJECT", "EMBED":
		if n.FrameID == "" {
			return true // a picture, or nothing
		}
	}
	for _, v := range r.views {
		if v.id == n.FrameID {
			return v.covered && (v.own || v.alone(ctx))
		}
	}
	return n.NodeName != "IFRAME" && n.NodeName != "FRAME" && n.NodeName != "OBJECT" && n.NodeName != "EMBED" && n.NodeName != "FENCEDFRAME" // text that has the selector in it
}

// plainField asks the frame that a field is in, whichever that is.
func (r *reader) plainField(ctx context.Context, id cdp.BackendNodeID) bool {
	for _, v := range r.views {
		if !v.own || !v.covered {
			continue
		}
		object, err := v.element(ctx, id)
		if err != nil {
			continue
		}
		if secret, err := decode[bool](v.askOf(ctx, object, "secret")); err == nil {
			return !secret
		}
	}
	return false
}

// alone reports that a frame of another process has nothing in it that would have
// to be left out: its fields nobody watched, and its frames are not looked into.
func (v *view) alone(ctx context.Context) bool {
	alone, err := decode[bool](v.ask(ctx, "alone"))
	return err == nil && alone
}

// addMirrors adds the boxes of text that repeats a secret.
func (r *reader) addMirrors(ctx context.Context, m page.GetLayoutMetricsResult, all []reading.Box) ([]reading.Box, error) {
	for i, v := range r.views {
		if !v.own || !v.covered {
			continue
		}
		boxes, err := decode[[][4]float64](v.ask(ctx, "mirrors"))
		if err != nil || len(boxes) == 0 {
			if i == 0 && err != nil {
				return nil, err
			}
			continue
		}
		x, y := m.CSSVisualViewport.PageX, m.CSSVisualViewport.PageY
		if v.parent != nil { // what the browser says of its element is relative to the window
			owner, err := call(ctx, r.tab, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: v.id})
			if err != nil {
				return nil, err
			}
			got, err := call(ctx, r.tab, dom.GetBoxModel, dom.GetBoxModelParams{BackendNodeID: owner.BackendNodeID})
			if err != nil {
				return nil, err
			}
			x, y = x+got.Model.Content[0], y+got.Model.Content[1]
		}
		for _, b := range boxes {
			all = append(all, moveBox(reading.Box{Left: b[0], Top: b[1], Right: b[2], Bottom: b[3]}, x, y))
		}
	}
	return slices.Clip(all), nil
}
