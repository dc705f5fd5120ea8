package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sallyport/fixtures"
)

func TestAPersonSendsFormsAndSignsIn(t *testing.T) {
	pages := map[string]string{}
	for _, kind := range []string{"own", "agents"} {
		for _, method := range []string{"get", "post"} {
			pages["/"+method+kind] = `<form method=` + method + ` action="https://evil.test/?` + method + kind + `"><input name=` + method + kind + ` autofocus></form>`
		}
	}
	base := servePages(t, pages)
	inBothKindsOfTabs(t, func(t *testing.T, w *walk) {
		kind := "own"
		if w.agents {
			kind = "agents"
		}
		for _, method := range []string{"get", "post"} {
			t.Run("a form by Enter: "+method, func(t *testing.T) {
				w.begin(t, base+"/"+method+kind)
				w.clicks(t, "go")
				w.somewhere(t, base+"/"+method+kind)
				front(t, w.person, "Page")
				w.keys(t, "x", "Return")
				if method == "get" {
					to := "https://evil.test/?get" + kind + "=x"
					w.reached(t, to, "GET", 1)
					w.somewhere(t, to)
					return
				}
				to := "https://evil.test/?post" + kind
				w.reached(t, to, "POST", 1)
				w.somewhere(t, to)
			})
		}
		t.Run("a sign-in over three hosts and back", func(t *testing.T) {
			back := "https://good.test/?signedin" + kind
			third := w.web.URL("shop.test", fixtures.Query("/-/status/303", "to", back))
			second := w.web.URL("news.test", fixtures.Query("/-/js", "how", "form-post", "to", third))
			first := w.web.URL("evil.test", fixtures.Query("/-/status/302", "to", second))
			before := len(w.web.Hits("shop.test"))
			w.begin(t, first)
			w.clicks(t, "go")
			w.somewhere(t, back)
			w.reached(t, first, "GET", 1)
			hits := w.web.Hits("shop.test")
			if len(hits) != before+1 || hits[before].Method != "POST" {
				t.Errorf("the third host heard %v", hits)
			}
		})
		t.Run("back to a form's result", func(t *testing.T) {
			to := "https://evil.test/-/post-result?back" + kind
			w.begin(t, to)
			w.clicks(t, "submit")
			w.reached(t, to, "POST", 1)
			w.somewhere(t, to)
			w.types(t, "https://good2.test/?away"+kind)
			w.somewhere(t, "https://good2.test/?away"+kind)
			w.turns(t, "alt+Left", to)
			w.keys(t, "F5")
			require.Eventually(t, func() bool { // Chromium asks whether to send the form again
				return w.person.Key(t.Context(), "Return") == nil && w.heard(to, "POST") == 2
			}, wait, 200*time.Millisecond)
			w.somewhere(t, to)
		})
	})
}
