package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/fixtures"
	"sallyport/gate"
)

// readings are all the ways to read a tab.
func (g *gates) readings() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"text": func(ctx context.Context) error {
			_, err := g.browser.ReadText(ctx, g.read(), 0, 1000)
			return err
		},
		"snapshot": func(ctx context.Context) error {
			_, err := g.browser.ReadSnapshot(ctx, g.read(), 1000)
			return err
		},
		"screenshot": func(ctx context.Context) error {
			_, err := g.browser.Screenshot(ctx, g.read(), chrome.PictureRequest{})
			return err
		},
		"wait": func(ctx context.Context) error {
			_, err := g.browser.WaitFor(ctx, g.read(), chrome.Awaited{State: "load"}, time.Second)
			return err
		},
	}
}

// unreadable holds that no reading of the tab works, and returns why.
func (g *gates) unreadable(t *testing.T) *chrome.UnreadableError {
	t.Helper()
	var unreadable *chrome.UnreadableError
	for name, read := range g.readings() {
		require.ErrorAs(t, read(t.Context()), &unreadable, name)
	}
	return unreadable
}

func (g *gates) readable(t *testing.T) {
	t.Helper()
	for name, read := range g.readings() {
		require.NoError(t, read(t.Context()), name)
	}
}

func TestOnlyADocumentThatTodaysListCoversIsRead(t *testing.T) {
	t.Parallel()
	g := newGates(t, nil, "good.test", "nodns.test")
	assert.Contains(t, g.unreadable(t).Why, "blank")

	g.open(t, "https://good.test/")
	g.readable(t)

	_, err := g.navigate(t, "https://nodns.test/")
	require.Error(t, err)
	g.readable(t) // the tab stayed where it was

	g.allow(t, "good2.test")
	why := g.unreadable(t)
	assert.Equal(t, gate.Host("good.test"), why.At.Host())
	assert.Equal(t, "https://good.test/", why.URL)
	g.allow(t, "good.test")
	g.readable(t)

	other := chrome.ReadRequest{Session: g.BeginSession("other", nil), Tab: g.tab}
	_, err = g.browser.ReadText(t.Context(), other, 0, 10)
	assert.ErrorIs(t, err, chrome.ErrUnknownTab, "another session's")
}

// TestABlobIsReadWhereItsOriginIsCovered is of a document that a page made.
func TestABlobIsReadWhereItsOriginIsCovered(t *testing.T) {
	t.Parallel()
	base := servePages(t, map[string]string{
		"/blob": `<script>setTimeout(() => location = URL.createObjectURL(new Blob(['<p>of a blob'], {type: 'text/html'})), 200)</script>`,
	})
	g := newGates(t, nil, "127.0.0.1")
	g.open(t, base+"/blob")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		got, err := g.browser.ReadText(t.Context(), g.read(), 0, 100)
		if assert.NoError(c, err) {
			assert.Equal(c, "of a blob", got.Text)
			assert.Contains(c, got.URL, "blob:http://127.0.0.1")
		}
	}, 10*time.Second, 50*time.Millisecond)
	g.allow(t, "good.test")
	assert.Equal(t, gate.Host("127.0.0.1"), g.unreadable(t).At.Host())
}

// TestWhereThePersonWentIsNotRead has the person type in the address bar of the
// agent's tab.
func TestWhereThePersonWentIsNotRead(t *testing.T) {
	g, person := headed(t, "good.test", "good2.test")
	g.open(t, "https://good.test/")
	g.readable(t)
	windows, err := person.Windows(t.Context())
	require.NoError(t, err)
	w := &walk{gates: g, person: person, window: windows[len(windows)-1], agents: true}
	require.NoError(t, person.Focus(t.Context(), w.window))
	w.types(t, "https://evil.test/?the-persons")
	w.somewhere(t, "https://evil.test/?the-persons")
	why := g.unreadable(t)
	assert.Contains(t, why.Why, "The person has taken this tab")
	assert.Empty(t, why.URL, "where, is nobody's business")
	assert.True(t, why.At.IsZero())
	w.types(t, "https://good.test:6000/") // a port that Chromium refuses by itself
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := g.browser.ReadText(t.Context(), g.read(), 0, 10)
		assert.ErrorContains(c, err, "error page")
	}, wait, tick)
	w.types(t, "https://good2.test/")
	w.somewhere(t, "https://good2.test/")
	g.readable(t)
}

// TestAPageThatComesAndGoesIsReadWhole reads while the tab goes back and forth
// between two pages: what is said is of one of them.
func TestAPageThatComesAndGoesIsReadWhole(t *testing.T) {
	t.Parallel()
	flip := func(name, to string) string {
		return `<p id="w"></p><script>w.textContent = '` + name + ` '.repeat(2000); document.title = '` + name + `'; setTimeout(() => location = '` + to + `', 30)</script>`
	}
	base := servePages(t, map[string]string{"/one": flip("one", "/two"), "/two": flip("two", "/one")})
	g := newGates(t, nil, "127.0.0.1")
	g.open(t, base+"/one")
	read := 0
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		got, err := g.browser.ReadText(t.Context(), g.read(), 0, 20_000)
		if err != nil {
			var between *chrome.NetError
			require.True(t, errors.As(err, &between), "%v", err)
			continue
		}
		read++
		name := map[string]string{base + "/one": "one", base + "/two": "two"}[got.URL]
		require.NotEmpty(t, name)
		for _, other := range []string{"one", "two"} {
			if other != name {
				require.NotContains(t, got.Text, other)
			}
		}
	}
	assert.Positive(t, read)
}

func TestAPageThatDoesNotAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	base := servePages(t, map[string]string{"/busy": `<script>setTimeout(() => { for (;;); }, 100)</script>`})
	g := newGates(t, nil, "127.0.0.1", "good.test")
	g.open(t, base+"/busy")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	require.Eventually(t, func() bool {
		_, err := g.browser.ReadText(ctx, g.read(), 0, 10)
		return err != nil
	}, 10*time.Second, 10*time.Millisecond)
	g.open(t, g.web.URL("good.test", fixtures.Query("/-/title", "t", "After")))
	assert.Contains(t, g.text(t).Text, "After")
}
