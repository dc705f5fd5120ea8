package main

import (
	"bytes"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
)

func (g *gates) read() chrome.ReadRequest {
	return chrome.ReadRequest{Session: g.session, Tab: g.tab}
}

// text is all of the page's text.
func (g *gates) text(t *testing.T) chrome.PageText {
	t.Helper()
	got, err := g.browser.ReadText(t.Context(), g.read(), 0, 1<<20)
	require.NoError(t, err)
	return got
}

func (g *gates) outline(t *testing.T) string {
	t.Helper()
	got, err := g.browser.ReadSnapshot(t.Context(), g.read(), 1<<20)
	require.NoError(t, err)
	return got.Text
}

func (g *gates) picture(t *testing.T, p chrome.PictureRequest) (chrome.Screenshot, image.Image) {
	t.Helper()
	got, err := g.browser.Screenshot(t.Context(), g.read(), p)
	require.NoError(t, err)
	return got, decode(t, got.Data)
}

func decode(t *testing.T, raw []byte) image.Image {
	t.Helper()
	picture, _, err := image.Decode(bytes.NewReader(raw))
	require.NoError(t, err)
	return picture
}

// open shows one of the pages in the tab.
func (g *gates) open(t *testing.T, url string) {
	t.Helper()
	_, err := g.navigate(t, url)
	require.NoError(t, err)
}

const hiddenPage = `<style>
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden }
.white { color: white } .dark { background: #222; color: #222 } .clear { color: transparent }
.off { position: absolute; left: -9999px } .cut { clip-path: inset(100%) } .flat { height: 0; overflow: hidden }
</style>
<nav>Menu</nav>
<main><h1>Title</h1><p>First <b>bold</b>  words.</p>
<p style="display:none">hidden 1</p><p style="opacity:0">hidden 2</p><p class="sr">hidden 3</p><p class="white">hidden 4</p>
<p class="off">hidden 5</p><p style="font-size:0">hidden 6</p><p style="visibility:hidden">hidden 7</p><div class="flat">hidden 8</div>
<p class="dark">hidden 9</p><p class="clear">hidden 10</p><p class="cut">hidden 11</p><details><summary>More</summary>hidden 12</details>
<canvas>hidden 13</canvas><template>hidden 14</template><noscript>hidden 15</noscript><p hidden>hidden 16</p>
<ul><li>one<li>two</ul><pre>a  b
c</pre><table><tr><td>x<td>y<tr><td>z</table>
<select><option>not picked<option selected>picked</select><form><input name="childNodes"><input name="shadowRoot">in the form</form>
</main><footer>Foot</footer>`

func TestAnAgentReadsWhatAPersonSees(t *testing.T) {
	t.Parallel()
	base := servePages(t, map[string]string{"/hidden": hiddenPage})
	g := newGates(t, nil, "127.0.0.1", "good.test")
	g.open(t, base+"/hidden")
	got := g.text(t)
	assert.Equal(t, "Title\n\nFirst bold words.\n\nMore\n\none\ntwo\n\na  b\nc\n\nx\ty\nz\n\npicked\n\nin the form\n\nMenu\n\nFoot", got.Text)
	assert.Equal(t, base+"/hidden", got.URL)
	assert.Equal(t, "Page", got.Title)
	assert.Equal(t, len(got.Text), got.Total)
	assert.Zero(t, got.Next)

	g.inParts(t, 7)

	g.open(t, g.web.URL("good.test", "/-/read/shadow"))
	assert.Contains(t, g.text(t).Text, "In an open shadow.")
	assert.Contains(t, g.text(t).Text, "Before. In a slot. After.")
	assert.Contains(t, g.outline(t), "In a closed shadow.")
	g.open(t, g.web.URL("good.test", "/-/read/arabic"))
	assert.True(t, strings.HasPrefix(g.text(t).Text, "كيف يعد الميناء سفنه\n\n"))
}

// inParts holds that the text is the same in parts as at once.
func (g *gates) inParts(t *testing.T, most int) {
	t.Helper()
	whole := g.text(t)
	var parts strings.Builder
	for offset := 0; ; {
		part, err := g.browser.ReadText(t.Context(), g.read(), offset, most)
		require.NoError(t, err)
		assert.Equal(t, whole.Total, part.Total)
		parts.WriteString(part.Text)
		if offset = part.Next; offset == 0 {
			break
		}
	}
	assert.Equal(t, whole.Text, parts.String())
}

// TestAFrameThatIsNotApprovedIsNotRead is of frames in the page's own process and
// in others.
func TestAFrameThatIsNotApprovedIsNotRead(t *testing.T) {
	t.Parallel()
	g := newGates(t, nil, "good.test")
	g.open(t, g.web.URL("good.test", "/-/read/dashboard"))
	text, outline := g.text(t).Text, g.outline(t)
	assert.Contains(t, text, "The east gate is closed.", "what the page made itself is the page's")
	assert.Contains(t, outline, `text "The east gate is closed."`)
	assert.Contains(t, outline, `iframe "Weather" (not approved) -> news.test`)
	assert.Contains(t, outline, `iframe "Advertisement" (not approved) -> evil.test`)
	for _, read := range []string{text, outline} {
		assert.NotContains(t, read, "Weather from the news")
		assert.NotContains(t, read, "Advertisement words")
	}
	g.allow(t, "good.test", "news.test")
	text, outline = g.text(t).Text, g.outline(t)
	assert.Contains(t, text, "Weather from the news")
	g.inParts(t, 10)
	assert.Contains(t, outline, `"Weather from the news"`)
	assert.NotContains(t, text+outline, "Advertisement words")

	base := servePages(t, map[string]string{"/near": `<iframe src="https://sub.good.test/-/title?t=Near+words"></iframe>`})
	g.allow(t, "127.0.0.1")
	g.open(t, base+"/near")
	assert.NotContains(t, g.text(t).Text+g.outline(t), "Near words")
}

func TestRefsStayWhileTheDocumentDoes(t *testing.T) {
	t.Parallel()
	base := servePages(t, map[string]string{
		"/a": `<button onclick="1">Old</button><script>setTimeout(() => document.body.insertAdjacentHTML('afterbegin', '<button>New</button>'), 300)</script>`,
		"/b": `<button>Other</button>`,
	})
	g := newGates(t, nil, "127.0.0.1")
	g.open(t, base+"/a")
	assert.Contains(t, g.outline(t), `e1 button "Old"`)
	waited, err := g.browser.WaitFor(t.Context(), g.read(), chrome.Awaited{Text: "new"}, 10*time.Second)
	require.NoError(t, err)
	assert.Equal(t, chrome.Waited{URL: base + "/a", Found: true}, waited)
	assert.Equal(t, "e2 button \"New\"\ne1 button \"Old\"", g.outline(t))
	shot, _ := g.picture(t, chrome.PictureRequest{Ref: "e1"})
	assert.Less(t, shot.Width, 200, "of the button alone")
	g.open(t, base+"/b")
	assert.Equal(t, `e1 button "Other"`, g.outline(t))
	_, err = g.browser.Screenshot(t.Context(), g.read(), chrome.PictureRequest{Ref: "e2"})
	assert.ErrorIs(t, err, chrome.ErrUnknownRef)
}

func TestWaitingEndsWhenThePageIsAsAwaitedOrTheTimeIsUp(t *testing.T) {
	t.Parallel()
	base := servePages(t, map[string]string{
		"/slow": `<p id="a">Loading  it</p><img src="/never"><script>setTimeout(() => a.textContent = 'Ready now', 400)</script>`,
	})
	g := newGates(t, nil, "127.0.0.1")
	g.open(t, base+"/slow")
	wait := func(a chrome.Awaited, most time.Duration) bool {
		got, err := g.browser.WaitFor(t.Context(), g.read(), a, most)
		require.NoError(t, err)
		return got.Found
	}
	assert.True(t, wait(chrome.Awaited{Gone: "loading it"}, 10*time.Second))
	assert.True(t, wait(chrome.Awaited{Text: "READY\nnow", State: "load"}, 10*time.Second))
	assert.False(t, wait(chrome.Awaited{Text: "never"}, 300*time.Millisecond))
	assert.False(t, wait(chrome.Awaited{Gone: "ready"}, 0))
	g.allow(t, "good.test")
	_, err := g.browser.WaitFor(t.Context(), g.read(), chrome.Awaited{Text: "never"}, 10*time.Second)
	var unreadable *chrome.UnreadableError
	assert.ErrorAs(t, err, &unreadable)
}

func TestAPictureHasAtMostFourMegapixels(t *testing.T) {
	t.Parallel()
	g := newGates(t, nil, "good.test")
	g.open(t, g.web.URL("good.test", "/-/read/big"))
	shot, decoded := g.picture(t, chrome.PictureRequest{FullPage: true, JPEG: true})
	assert.Equal(t, "image/jpeg", shot.Type)
	assert.True(t, shot.Truncated)
	assert.LessOrEqual(t, shot.Width*shot.Height, 4_040_000)
	assert.Equal(t, decoded.Bounds().Max, image.Pt(shot.Width, shot.Height))
	shot, _ = g.picture(t, chrome.PictureRequest{MaxWidth: 320})
	assert.InDelta(t, 320, shot.Width, 1)
	assert.Equal(t, "image/png", shot.Type)
	assert.False(t, shot.Truncated)
}
