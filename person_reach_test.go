package main

import (
	"fmt"
	"image/color"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/websocket"

	"sallyport/chrome"
)

// router is a device on a private network: its page has an image and a WebSocket,
// and tells when its window is resized.
type router struct {
	addr, port string
	mu         sync.Mutex // guards below
	asked      map[string]int
}

const routerPage = `<!doctype html><title>Router</title><img src="/image">
<script>
	const socket = new WebSocket('ws://' + location.host + '/socket');
	socket.onopen = () => socket.send('hello');
	socket.onmessage = () => fetch('/echoed');
	onresize = () => fetch('/resized');
</script>`

func startRouter(t *testing.T, ip string) *router {
	t.Helper()
	l, err := net.Listen("tcp", ip+":0")
	require.NoError(t, err)
	r := &router{addr: l.Addr().String(), asked: map[string]int{}}
	_, r.port, _ = net.SplitHostPort(r.addr)
	socket := websocket.Handler(func(ws *websocket.Conn) {
		var said string
		if websocket.Message.Receive(ws, &said) == nil {
			_ = websocket.Message.Send(ws, said)
			_ = websocket.Message.Receive(ws, &said) // until the page goes
		}
	})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.asked[req.URL.Path]++
		r.mu.Unlock()
		if req.URL.Path == "/socket" {
			socket.ServeHTTP(w, req)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, routerPage)
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return r
}

func (r *router) times(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[path]
}

// after waits until more has been asked for than before.
func (r *router) after(t *testing.T, before int, path string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Greater(c, r.times(path), before, path) }, wait, tick)
}

// bookmarks makes a bookmark of what the window shows.
func (w *walk) bookmarks(t *testing.T) {
	t.Helper()
	w.keys(t, "ctrl+d")
	require.Eventually(t, func() bool { // the star and the bubble's button have this colour
		at, err := w.person.WaitColor(t.Context(), color.RGBA{0x0b, 0x57, 0xd0, 0xff})
		return err == nil && at.Dy() > 100
	}, wait, tick)
	w.keys(t, "Return", "ctrl+shift+b")
}

func TestAPersonReachesWhatTheyLike(t *testing.T) {
	local, device := startRouter(t, "127.0.0.1"), startRouter(t, "127.0.0.2")
	var last *walk
	inBothKindsOfTabs(t, func(t *testing.T, w *walk) {
		url := func(name string) string { return "https://evil.test/?" + name + w.kind() }
		t.Run("a bookmark", func(t *testing.T) {
			const marked = "https://evil.test/?marked"
			w.begin(t, marked)
			before := w.heard(marked, "GET")
			if !w.agents {
				w.clicks(t, "go")
				w.somewhere(t, marked)
				w.bookmarks(t)
				w.types(t, "https://good2.test/?away")
				w.somewhere(t, "https://good2.test/?away")
				before++
			}
			require.Eventually(t, func() bool { // the bar comes up in its own time
				if w.heard(marked, "GET") > before {
					return true
				}
				w.keys(t, "Escape", "Escape", "ctrl+l", "F6", "F6", "Right", "Return", "End", "Return")
				return false
			}, wait, time.Second)
			w.somewhere(t, marked)
		})
		t.Run("localhost, typed", func(t *testing.T) {
			before := local.times("/echoed")
			w.types(t, "http://localhost:"+local.port+"/"+w.kind())
			local.after(t, before, "/echoed")
			assert.Equal(t, before+1, local.times("/image"))
		})
		t.Run("a router's page, by a link", func(t *testing.T) {
			before := device.times("/echoed")
			w.begin(t, "http://"+device.addr+"/")
			w.clicks(t, "go")
			device.after(t, before, "/echoed")
			assert.Equal(t, before+1, device.times("/image"))
		})
		t.Run("with the developer tools", func(t *testing.T) {
			before := device.times("/resized")
			w.keys(t, "F12")
			device.after(t, before, "/resized")
			loaded := device.times("/echoed")
			require.Eventually(t, func() bool { // the tools come up in their own time
				w.keys(t, "F5")
				return device.times("/echoed") > loaded
			}, wait, 500*time.Millisecond)
			if !w.agents { // where the person types next, and the tools would still take the keys
				before = device.times("/resized")
				w.keys(t, "F12")
				device.after(t, before, "/resized")
			}
			w.begin(t, url("tools"))
			w.clicks(t, "go")
			w.somewhere(t, url("tools"))
		})
		t.Run("a file, and it again", func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file.html")
			script := `<script>document.title = '` + w.kind() + ` ' + performance.getEntriesByType('navigation')[0].type</script>`
			require.NoError(t, os.WriteFile(file, []byte(script), 0o600))
			w.types(t, "file://"+file)
			_, err := w.person.WaitWindow(t.Context(), w.kind()+" navigate")
			require.NoError(t, err)
			w.keys(t, "F5")
			_, err = w.person.WaitWindow(t.Context(), w.kind()+" reload")
			require.NoError(t, err)
		})
		last = w
	})
	for _, url := range []string{"http://" + device.addr + "/refused", "http://localhost:" + local.port + "/refused"} {
		_, err := last.navigate(t, url)
		var denied *chrome.DeniedError
		require.ErrorAs(t, err, &denied)
	}
	assert.Zero(t, device.times("/refused")+local.times("/refused"))
}
