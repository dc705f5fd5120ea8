package chrome

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"log/slog"

	"sallyport/fixtures"
	"sallyport/gate"
	"sallyport/ledger"
)

// desk is a display with a real Chromium on it, whose approval windows a person
// with real mouse and keys answers.
type desk struct {
	t      *testing.T
	in     *instance
	person *fixtures.Person
	window atomic.Pointer[promptWindow] // the last that asked
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	display := fixtures.NeedDisplay(t)
	t.Setenv("DISPLAY", display.Name)
	t.Setenv("WAYLAND_DISPLAY", "")
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("SALLYPORT_TEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	l := ledger.New(ledger.Config{})
	c := &Config{Ledger: l, ProxyAddr: "127.0.0.1:9", Pin: "none", Width: 900, Height: 700, Log: log, Witness: l.Witness, Decide: gate.Decide, NavigateTimeout: 30 * time.Second}
	d := &desk{t: t, person: display.Person()}
	c.opened = func() {
		if w := d.window.Load(); w != nil {
			w.Raise()
		}
	}
	in, err := launch(c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, in.stop(context.Background())) })
	d.in = in
	return d
}

// shown is a window on the screen, and the answer to come.
type shown struct {
	*desk
	w      *promptWindow
	screen fixtures.Window
	answer chan Answer
}

func (d *desk) ask(q Question) *shown {
	d.t.Helper()
	opened, err := d.in.openPrompt(d.t.Context())
	require.NoError(d.t, err)
	s := &shown{desk: d, w: opened.(*promptWindow), answer: make(chan Answer, 1)}
	d.window.Store(s.w)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	d.t.Cleanup(func() { cancel(); <-done; s.w.Close() })
	go func() {
		defer close(done)
		got, err := s.w.Ask(ctx, q)
		if err == nil {
			s.answer <- got
		}
	}()
	s.screen, err = d.person.WaitWindow(d.t.Context(), "Sallyport: "+q.Client+" asks")
	require.NoError(d.t, err)
	<-s.w.up
	return s
}

// eval asks the window's own isolated world; the answer is JSON.
func (s *shown) eval(expression string) string {
	byValue := true
	r, err := chromedp.Call(s.w.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ContextID: s.w.world, ReturnByValue: &byValue})
	if err != nil || r.Result == nil {
		return ""
	}
	return strings.Trim(string(r.Result.Value), `"`)
}

// ready waits, with the pointer in the window, until it says that it can be
// answered.
func (s *shown) ready() {
	s.t.Helper()
	require.EventuallyWithT(s.t, func(c *assert.CollectT) {
		at, err := s.person.WaitWindow(s.t.Context(), s.screen.Title) // it may have been placed anew
		assert.NoError(c, err)
		assert.NoError(c, s.person.Move(s.t.Context(), at.X+at.Width/2, at.Y+at.Height/2))
		assert.Equal(c, "true", s.eval(`String(document.documentElement.matches(':hover'))`))
	}, 10*time.Second, 100*time.Millisecond)
	s.quiet()
}

// quiet waits for the same, wherever the pointer is.
func (s *shown) quiet() {
	s.t.Helper()
	s.until(`document.documentElement.dataset.ready`, "true")
}

func (s *shown) until(expression, want string) {
	s.t.Helper()
	require.EventuallyWithT(s.t, func(c *assert.CollectT) {
		assert.Equal(c, want, s.eval(expression))
	}, 10*time.Second, 20*time.Millisecond)
}

func (s *shown) open() {
	s.t.Helper()
	select {
	case got := <-s.answer:
		s.t.Fatalf("the window was answered: %s", got)
	default:
	}
}

func (s *shown) expect(want Answer) {
	s.t.Helper()
	select {
	case got := <-s.answer:
		assert.Equal(s.t, want, got)
	case <-time.After(10 * time.Second):
		s.t.Fatal("no answer")
	}
}

// click presses a button with the mouse.
func (s *shown) click(id string) {
	s.t.Helper()
	x, y := s.spot(id)
	require.NoError(s.t, s.person.Click(s.t.Context(), x, y))
}

// spot is where a button is on the screen.
func (s *shown) spot(id string) (x, y int) {
	s.t.Helper()
	at := func(axis string) int {
		var n int
		for _, r := range s.eval(`String(Math.round(` + axis + `))`) {
			n = n*10 + int(r-'0')
		}
		return n
	}
	return at(`screenX + (outerWidth-innerWidth)/2 + (document.getElementById('` + id + `').getBoundingClientRect().left+20)`),
		at(`screenY + (outerHeight-innerHeight) + document.getElementById('` + id + `').getBoundingClientRect().top+12`)
}

func (s *shown) keys(keys ...string) {
	s.t.Helper()
	require.NoError(s.t, s.person.Key(s.t.Context(), keys...))
}

func (s *shown) picture(name string) {
	dir := os.Getenv("SALLYPORT_TEST_PICTURES")
	if dir == "" {
		return
	}
	require.NoError(s.t, os.MkdirAll(dir, 0o755))
	require.NoError(s.t, s.person.Screenshot(s.t.Context(), filepath.Join(dir, name+".png")))
}

func patterns(t *testing.T, entries ...string) []gate.Pattern {
	t.Helper()
	list, err := gate.ParseAllowlist(entries)
	require.NoError(t, err)
	return list.Patterns()
}

func TestTheApprovalWindow(t *testing.T) {
	d := newDesk(t)
	simple := Question{Client: "Tester", Added: patterns(t, "example.com", "*.news.example.com")}
	run := func(name string, f func(*testing.T, *desk)) {
		t.Run(name, func(t *testing.T) { f(t, &desk{t: t, in: d.in, person: d.person}) })
	}

	run("a click on Allow approves, once the window was quiet", func(t *testing.T, d *desk) {
		s := d.ask(simple)
		s.picture("fresh")
		s.click("allow") // too early: the window has just come up
		s.open()
		s.ready()
		s.picture("ready")
		s.click("allow")
		s.expect(Allowed)
	})
	run("a click on Don't allow declines", func(t *testing.T, d *desk) {
		s := d.ask(simple)
		s.ready()
		s.click("deny")
		s.expect(Declined)
	})
	run("the heading has the focus, and the page", func(t *testing.T, d *desk) {
		s := d.ask(simple)
		s.until(`document.activeElement.id`, "heading")
		s.until(`String(document.hasFocus())`, "true")
	})
	run("stray typing approves nothing", func(t *testing.T, d *desk) {
		s := d.ask(simple)
		for range 3 { // forth and back: further on, Tab leaves the page
			s.keys("Return", "Tab", "Return", "space", "Tab", "Return", "space", "shift+Tab", "Return", "shift+Tab", "Return")
		}
		require.NoError(t, s.person.Type(t.Context(), "hello"))
		s.open()
		s.until(`document.documentElement.dataset.ready`, "true")
		s.open()
	})
	run("the keyboard approves once Allow has had the focus for its time", func(t *testing.T, d *desk) {
		s := d.ask(simple)
		s.until(`document.activeElement.id`, "heading")
		s.keys("Tab")
		s.until(`document.activeElement.id`, "deny")
		s.keys("Tab")
		s.until(`document.activeElement.id`, "allow")
		s.keys("Return") // too early
		s.open()
		s.ready()
		s.keys("Return")
		s.expect(Allowed)
	})
	run("Escape declines after the quiet time only", func(t *testing.T, d *desk) {
		s := d.ask(simple)
		s.until(`document.activeElement.id`, "heading")
		s.keys("Escape")
		s.open()
		s.ready()
		s.keys("Escape")
		s.expect(Declined)
	})
	run("closing the window declines", func(t *testing.T, d *desk) {
		s := d.ask(simple)
		s.ready()
		require.NoError(t, s.person.CloseWindow(t.Context(), s.screen))
		s.expect(Declined)
	})
	run("a URL typed into its address bar declines", func(t *testing.T, d *desk) {
		s := d.ask(simple)
		s.ready()
		s.keys("ctrl+l")
		require.NoError(t, s.person.Type(t.Context(), "example.com"))
		s.keys("Return")
		s.expect(Declined)
	})
	run("a data: URL typed there declines too", func(t *testing.T, d *desk) {
		s := d.ask(simple)
		s.ready()
		s.keys("ctrl+l")
		require.NoError(t, s.person.Type(t.Context(), "data:text/html,x"))
		s.keys("Return")
		s.expect(Declined)
	})
	run("a new tab beside it declines", func(t *testing.T, d *desk) {
		s := d.ask(simple)
		s.ready()
		s.keys("ctrl+t")
		s.expect(Declined)
	})
	run("a page's script can neither call the binding nor press the button", func(t *testing.T, d *desk) {
		s := d.ask(simple)
		s.ready()
		for _, attack := range []string{
			`globalThis[` + "`" + s.w.binding + "`" + `]?.('{"answer":"allowed"}')`,
			`document.getElementById('allow').click()`,
			`document.getElementById('allow').dispatchEvent(new MouseEvent('click', {bubbles: true, detail: 1}))`,
			`document.getElementById('allow').focus(), document.getElementById('allow').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))`,
		} {
			_, err := chromedp.Call(s.w.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: attack})
			require.NoError(t, err)
		}
		r, err := chromedp.Call(s.w.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: "typeof globalThis['" + s.w.binding + "']"})
		require.NoError(t, err)
		assert.Equal(t, `"undefined"`, string(r.Result.Value))
		s.open()
	})
	run("a long list must be scrolled to its end before Allow acts", func(t *testing.T, d *desk) {
		var many []string
		for i := range 60 {
			many = append(many, "site"+string(rune('a'+i%26))+string(rune('a'+i/26))+".example.com")
		}
		s := d.ask(Question{Client: "Tester", Added: patterns(t, many...)})
		s.ready()
		s.picture("long")
		s.click("allow")
		s.open()
		s.until(`String(document.getElementById('allow').getBoundingClientRect().bottom <= innerHeight)`, "true")
		s.keys("End")
		s.until(`document.documentElement.dataset.seenEnd`, "true")
		s.ready()
		s.click("allow")
		s.expect(Allowed)
	})
	run("the second question takes the place of the first and begins anew", func(t *testing.T, d *desk) {
		s := d.ask(simple)
		s.ready()
		s.click("allow")
		s.expect(Allowed)
		second := &shown{desk: d, w: s.w, screen: s.screen, answer: make(chan Answer, 1)}
		go func() {
			got, err := s.w.Ask(context.Background(), Question{Client: "Tester", Local: []LocalHost{{Host: "router.example.com", Addrs: addrs("192.168.1.1")}}})
			assert.NoError(t, err)
			second.answer <- got
		}()
		second.until(`document.getElementById('heading').textContent`, "Allow private addresses?")
		second.until(`document.activeElement.id`, "heading")
		second.ready()
		second.picture("private")
		second.click("allow")
		second.expect(Allowed)
	})
	run("a screen reader hears a heading, a list and two named buttons", func(t *testing.T, d *desk) {
		s := d.ask(simple)
		s.ready()
		tree, err := chromedp.Call(s.w.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		require.NoError(t, err)
		names := map[string][]string{}
		for _, n := range tree.Nodes {
			if n.Role != nil && n.Name != nil {
				role := strings.Trim(string(n.Role.Value), `"`)
				names[role] = append(names[role], strings.Trim(string(n.Name.Value), `"`))
			}
		}
		assert.Equal(t, []string{"Don't allow", "Allow"}, names["button"])
		assert.Contains(t, names["heading"], "Allow these sites?")
		assert.NotEmpty(t, names["list"])
		assert.NotEmpty(t, names["status"])
	})
	run("ten patterns fit without scrolling, in the dark and at 200 % too the buttons stay in view", func(t *testing.T, d *desk) {
		s := d.ask(Question{Client: "Tester", Added: patterns(t, "example.com", "*.news.example.com", "docs.example.org", "api.example.net", "shop.example.com", "*.example.edu", "xn--bcher-kva.example", "www.example.org", "status.example.net", "mail.example.com")})
		s.ready()
		s.picture("ten")
		assert.Equal(t, "true", s.eval(`String(document.getElementById('scroll').scrollHeight <= document.getElementById('scroll').clientHeight)`))
		_, err := chromedp.Call(s.w.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
		require.NoError(t, err)
		s.until(`getComputedStyle(document.body).color`, "rgb(236, 239, 242)")
		s.picture("dark")
		s.keys("ctrl+plus", "ctrl+plus", "ctrl+plus", "ctrl+plus", "ctrl+plus") // 110, 125, 150, 175, 200
		s.until(`String(devicePixelRatio)`, "2")
		s.picture("zoomed")
		for _, id := range []string{"deny", "allow"} {
			assert.Equal(t, "true", s.eval(`(() => {const r = document.getElementById('`+id+`').getBoundingClientRect(); return String(r.top >= 0 && r.bottom <= innerHeight && r.right <= innerWidth)})()`), id)
		}
		assert.Equal(t, "true", s.eval(`String(document.documentElement.scrollWidth <= innerWidth)`), "nothing runs out at the side")
		s.keys("ctrl+0")
	})
	run("warnings and what stays and goes", func(t *testing.T, d *desk) {
		s := d.ask(Question{Client: "Tester", Added: patterns(t, "localhost", "*.github.io", "xn--pple-43d.com"), Kept: patterns(t, "example.com"), Removed: patterns(t, "old.example.com")})
		s.ready()
		s.picture("warnings")
		assert.Equal(t, "3", s.eval(`String(document.querySelectorAll('.warning').length)`))
	})
}
