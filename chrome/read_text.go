package chrome

import (
	"context"

	"github.com/chromedp/cdproto/dom"

	"sallyport/gate"
)

// PageText is a part of a page's rendered text. Lengths are in UTF-16 units, as
// JavaScript counts.
type PageText struct {
	URL, Title, Text string
	Total            int // of the whole text
	Next             int // where the next part begins; 0 after the last
}

type textPart struct {
	URL, Title, Text, State string
	Total                   int
}

// ReadText reads at most so much of the text of a session's tab, from offset.
// Errors: *UnreadableError, *NetError, ErrUnknownTab, ErrGone.
func (b *Browser) ReadText(ctx context.Context, r ReadRequest, offset, most int) (PageText, error) {
	return readLive(ctx, b, r, func(ctx context.Context, r *reader) (PageText, error) {
		return r.text(ctx, offset, most)
	})
}

// text reads the main frame, and after it the covered frames of other origins that
// a person sees. A frame of the page's own origin is read in its place.
func (r *reader) text(ctx context.Context, offset, most int) (PageText, error) {
	var all PageText
	frames, err := r.framesOf(ctx)
	if err != nil {
		return all, err
	}
	got := 0
	for i, v := range frames {
		if i > 0 && (!v.covered || v.origin == frames[0].origin || r.hidden(ctx, v)) {
			continue
		}
		between := ""
		if all.Total > 0 {
			between = "\n\n"
		}
		begins := all.Total + len(between)
		between = cutOut(between, offset-all.Total, most-got)
		part, err := decode[textPart](v.ask(ctx, "text", max(0, offset-begins), max(0, most-got-len(between))))
		switch {
		case err != nil && i == 0:
			return all, err
		case err != nil:
			continue // a frame that went away
		case i == 0:
			if at, err := r.place(part.URL); err != nil {
				return all, err
			} else if !r.in.covers(r.tab, at) {
				return all, unreadable(frames[0].frame, at, true)
			}
			all.URL, all.Title = saneURL(part.URL), part.Title
		case part.Total == 0:
			continue
		}
		all.Text += between + part.Text
		got += len(between) + units(part.Text)
		all.Total = begins + part.Total
	}
	if offset+got < all.Total {
		all.Next = offset + got
	}
	return all, nil
}

// place is where a document that read itself is.
func (r *reader) place(url string) (gate.Target, error) {
	d := document{url: url}
	d.target, _ = gate.Parse(url) // zero for what has no host
	return d.place(), nil
}

// hidden reports that a person does not see a frame.
func (r *reader) hidden(ctx context.Context, v *view) bool {
	parent := v.parent
	if parent == nil {
		parent = r.views[0]
	}
	owner, err := inFrame(ctx, parent, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: v.id})
	if err != nil {
		return true
	}
	object, err := parent.element(ctx, owner.BackendNodeID)
	if err != nil {
		return true
	}
	hides, err := decode[bool](parent.askOf(ctx, object, "hides"))
	return err != nil || hides
}

// cutOut is the part of a text from offset on, of at most so many bytes.
func cutOut(text string, offset, most int) string {
	text = text[min(max(offset, 0), len(text)):]
	return text[:min(max(most, 0), len(text))]
}

// units is a text's length as JavaScript counts.
func units(text string) int {
	n := 0
	for _, c := range text {
		n++
		if c > 0xffff {
			n++
		}
	}
	return n
}
