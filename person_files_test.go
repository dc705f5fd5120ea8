package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serveEndless serves a page that takes a file without an end by itself, and one
// that has it in a frame. Who stops taking shows in ended.
func serveEndless(t *testing.T) (base string, ended chan struct{}) {
	t.Helper()
	ended = make(chan struct{}, 8) // more than the test takes
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(`<a id="a" download="taken" href="/endless">x</a><script>document.getElementById("a").click()</script>`))
	})
	mux.HandleFunc("/frame", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(`<iframe src="/page"></iframe>`))
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(make([]byte, 4<<10)) // enough for Chromium to know what it is
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		ended <- struct{}{}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL, ended
}

// kind names the kind of tab, so that each has URLs of its own.
func (w *walk) kind() string {
	if w.agents {
		return "agents"
	}
	return "own"
}

// saves saves the page that the window shows.
func (w *walk) saves(t *testing.T, saved func() []string, name string) {
	t.Helper()
	w.keys(t, "ctrl+s")
	dialog, err := w.person.WaitWindow(t.Context(), "Save File")
	require.NoError(t, err)
	require.Eventually(t, func() bool { // the dialog does not hear at once
		_ = w.person.ClickIn(t.Context(), dialog, dialog.Width-40, dialog.Height-20)
		return assert.ObjectsAreEqual([]string{name}, saved())
	}, wait, 300*time.Millisecond)
	require.NoError(t, w.person.WaitNoWindow(t.Context(), "Save File"))
}

// TestAPersonSavesPagesAndDownloads holds that files come to a person, and none to
// an agent or to a page in its tab.
func TestAPersonSavesPagesAndDownloads(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	folder := filepath.Join(home, "Downloads")
	saved := func() (names []string) {
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if !e.IsDir() && filepath.Ext(e.Name()) != ".crdownload" {
				names = append(names, e.Name())
			}
		}
		return names
	}
	base, ended := serveEndless(t)
	inBothKindsOfTabs(t, func(t *testing.T, w *walk) {
		t.Run("a page", func(t *testing.T) {
			w.begin(t, "https://evil.test/?save"+w.kind())
			w.clicks(t, "go")
			w.somewhere(t, "https://evil.test/?save"+w.kind())
			w.saves(t, saved, "Evil.html")
			require.NoError(t, os.RemoveAll(folder))
		})
		t.Run("a link to a download", func(t *testing.T) {
			w.begin(t, "https://evil.test/-/download?"+w.kind())
			w.clicks(t, "go")
			require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, []string{"fixture.bin"}, saved()) }, wait, tick)
			require.NoError(t, os.RemoveAll(folder))
		})
		for _, path := range []string{"/page", "/frame"} {
			if !w.agents {
				break
			}
			t.Run("but none that the page takes: "+path, func(t *testing.T) {
				_, err := w.navigate(t, base+path)
				require.NoError(t, err)
				select {
				case <-ended:
				case <-time.After(wait):
					t.Error("the download goes on")
				}
				require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, saved()) }, wait, tick)
			})
		}
	})
}
