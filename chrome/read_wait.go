package chrome

import (
	"context"
	"errors"
	"time"
)

// Awaited is what a call waits for in a page; all that is set must hold.
type Awaited struct {
	Text  string // is in the rendered text; case and spacing don't matter
	Gone  string // is not
	State string // "domcontentloaded" or "load"
}

// Waited is how it stood at last.
type Waited struct {
	URL   string
	Found bool
}

// The pauses between two looks at a page.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = time.Second
)

type pageState struct {
	URL, State  string
	Found, Gone bool
}

// WaitFor looks at the tab's live document, whichever it is by then, until it is as
// awaited or the time is up. Errors are those of ReadText.
func (b *Browser) WaitFor(ctx context.Context, r ReadRequest, a Awaited, most time.Duration) (Waited, error) {
	deadline := time.Now().Add(most)
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		s, err := b.look(ctx, r, a)
		if err != nil && !errors.Is(err, errUnsettled) {
			return Waited{}, err
		}
		if err == nil && s.is(a) {
			return Waited{saneURL(s.URL), true}, nil
		}
		left := time.Until(deadline)
		if left <= 0 {
			return Waited{saneURL(s.URL), false}, err
		}
		select {
		case <-time.After(min(pause, left)):
		case <-ctx.Done():
			return Waited{}, context.Cause(ctx)
		}
	}
}

func (b *Browser) look(ctx context.Context, r ReadRequest, a Awaited) (pageState, error) {
	return readLive(ctx, b, r, func(ctx context.Context, r *reader) (pageState, error) {
		return decode[pageState](r.main().ask(ctx, "waits", a.Text, a.Gone))
	})
}

func (s pageState) is(a Awaited) bool {
	ready := a.State == "" || s.State == "complete" || a.State == "domcontentloaded" && s.State == "interactive"
	return s.Found && s.Gone && ready
}
