package main

import (
	"image"
	"image/color"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/proxy"
)

// Red are the secrets of these pages, and blue is what is not approved.
var (
	red  = color.RGBA{0xff, 0, 0, 0xff}
	blue = color.RGBA{0, 0, 0xff, 0xff}
)

// small makes windows of which a picture is soon looked through.
func small(_ *proxy.Config, c *chrome.Config) { c.Width, c.Height = 500, 400 }

// count is how many pixels of a picture have a colour.
func count(picture image.Image, c color.RGBA) (n int) {
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			if color.RGBAModel.Convert(picture.At(x, y)) == c {
				n++
			}
		}
	}
	return n
}

const redFields = `<style>.s { background: rgb(255, 0, 0); color: rgb(255, 0, 0); width: 200px }</style>`

// secretPages hold, each, "hunter2-secret" where it must not be read.
var secretPages = map[string]string{
	"/password":    `<input class="s" type="password" value="hunter2-secret">`,
	"/shown":       `<input class="s" id="p" type="password" value="hunter2-secret"><script>p.type = 'text'</script>`,
	"/shown-later": `<input class="s" id="p" type="password" value="hunter2-secret"><script>setTimeout(() => { p.setAttribute('type', 'text'); document.body.append('done') }, 100)</script>`,
	"/made-anew": `<span id="f"><input class="s" id="p" type="password"></span><script>p.value = 'hunter2-secret'; p.dispatchEvent(new Event('change', {bubbles: true}));
		setTimeout(() => { f.innerHTML = '<input class="s" type="text">'; f.firstChild.value = 'hunter2-secret'; document.body.append('done') }, 100)</script>`,
	"/script-made": `<script>const p = document.createElement('input'); p.className = 's'; document.body.append(p); p.type = 'password'; p.value = 'hunter2-secret'; p.type = 'text'</script>`,
	"/echoed":      `<input class="s" type="password" value="hunter2-secret"><p><span class="s">You typed hunter2-secret</span></p>`,
	"/in-title":    `<input class="s" type="password" value="hunter2-secret"><script>document.title = 'hunter2-secret'</script>`,
	"/in-a-name":   `<input class="s" type="password" value="hunter2-secret"><button aria-label="Copy hunter2-secret">Copy</button>`,
	"/masked":      `<input class="s" style="-webkit-text-security: disc" value="hunter2-secret">`,
	"/code":        `<input class="s" autocomplete="one-time-code" value="hunter2-secret">`,
	"/code-named":  `<label>Verification code <input class="s" value="hunter2-secret"></label>`,
	"/card":        `<input class="s" autocomplete="cc-number" value="hunter2-secret"><select class="s" autocomplete="cc-exp-year"><option selected>hunter2-secret</select>`,
	"/card-named":  `<input class="s" name="cardNumber" value="hunter2-secret">`,
	"/area":        `<textarea class="s" autocomplete="one-time-code">hunter2-secret</textarea>`,
	"/open-shadow": `<div id="h"></div><script>h.attachShadow({mode: 'open'}).innerHTML = '<style>.s{background:red;color:red}</style><input class="s" type="password" value="hunter2-secret">';
		setTimeout(() => { h.shadowRoot.querySelector('input').type = 'text'; document.body.append('done') }, 100)</script>`,
	"/closed-shadow": `<div id="h"></div><script>const r = h.attachShadow({mode: 'closed'}); r.innerHTML = '<style>.s{background:red;color:red}</style><input class="s" type="password" value="hunter2-secret">'; r.querySelector('input').type = 'text'</script>`,
	"/inner":         `<iframe srcdoc="<style>.s{background:red;color:red}</style><input class=s id=p type=password value=hunter2-secret><script>p.type = 'text'</script>"></iframe>`,
}

// TestASecretIsNeverRead is of fields that are, or once were, a password, a code or
// a card's number, however the page goes about it.
func TestASecretIsNeverRead(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"/plain": redFields + `<input class="s" value="hunter2-secret">`}
	for path, page := range secretPages {
		pages[path] = redFields + page
	}
	base := servePages(t, pages)
	g := newGates(t, small, "127.0.0.1")
	g.open(t, base+"/plain")
	assert.Contains(t, g.outline(t), "hunter2-secret", "a field that is no secret is read")
	_, picture := g.picture(t, chrome.PictureRequest{})
	require.Positive(t, count(picture, red), "and can be seen")
	for path, page := range secretPages {
		t.Run(path, func(t *testing.T) {
			g.open(t, base+path)
			if strings.Contains(page, "'done'") {
				waited, err := g.browser.WaitFor(t.Context(), g.read(), chrome.Awaited{Text: "done"}, 10*time.Second)
				require.NoError(t, err)
				require.True(t, waited.Found)
			}
			text := g.text(t)
			snapshot, err := g.browser.ReadSnapshot(t.Context(), g.read(), 20_000)
			require.NoError(t, err)
			assert.NotContains(t, text.Text+text.Title, "hunter2")
			assert.NotContains(t, snapshot.Text+snapshot.Title, "hunter2")
			shot, picture := g.picture(t, chrome.PictureRequest{})
			assert.Zero(t, count(picture, red))
			assert.NotContains(t, shot.Title, "hunter2")
			found, err := g.browser.WaitFor(t.Context(), g.read(), chrome.Awaited{Text: "hunter2"}, 0)
			require.NoError(t, err)
			assert.False(t, found.Found, "nor can it be guessed at")
		})
	}
}

// TestAFrameThatIsNotApprovedIsPaintedOver puts frames where they are hard to find.
func TestAFrameThatIsNotApprovedIsPaintedOver(t *testing.T) {
	t.Parallel()
	other := servePages(t, map[string]string{"/blue": `<style>html { background: rgb(0, 0, 255) }</style>`})
	other = strings.Replace(other, "127.0.0.1", "localhost", 1)
	frame := `<iframe src="` + other + `/blue" width="200" height="100"></iframe>`
	pages := map[string]string{
		"/plain":     frame,
		"/turned":    `<div style="transform: rotate(20deg) translate(60px, 80px)">` + frame + `</div>`,
		"/shadow":    `<div id="h"></div><script>h.attachShadow({mode: 'closed'}).innerHTML = '` + frame + `'</script>`,
		"/object":    `<object data="` + other + `/blue" width="200" height="100"></object><embed src="` + other + `/blue" width="200" height="100">`,
		"/frameset":  `<script>document.body.outerHTML = '<frameset cols="50%,50%"><frame src="` + other + `/blue"></frameset>'</script>`,
		"/scrolled":  `<div style="height: 3000px"></div>` + frame + `<script>onload = () => scrollTo(0, 9999)</script>`,
		"/in-a-page": `<iframe srcdoc='` + frame + `' width="400" height="300"></iframe>`,
		"/moving":    `<style>@keyframes m { to { transform: translateX(300px) } } iframe { animation: m 1s infinite alternate }</style>` + frame,
	}
	base := servePages(t, pages)
	g := newGates(t, small, "127.0.0.1", "localhost")
	sees := func(p chrome.PictureRequest) int {
		t.Helper()
		got, err := g.browser.Screenshot(t.Context(), g.read(), p)
		var moves *chrome.NetError
		if err != nil {
			require.ErrorAs(t, err, &moves)
			return 0
		}
		return count(decode(t, got.Data), blue)
	}
	for path := range pages {
		t.Run(path, func(t *testing.T) {
			g.allow(t, "127.0.0.1", "localhost")
			g.open(t, base+path)
			if path == "/plain" || path == "/turned" {
				require.Eventually(t, func() bool { return sees(chrome.PictureRequest{}) > 0 }, 10*time.Second, 100*time.Millisecond, "it is there to be seen")
			}
			g.allow(t, "127.0.0.1")
			assert.Zero(t, sees(chrome.PictureRequest{}))
			assert.Zero(t, sees(chrome.PictureRequest{FullPage: true}))
		})
	}
}
