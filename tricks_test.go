package main

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/gate"
)

// trick is a page that tries to take its tab to EVIL.
type trick struct {
	name, html string
	header     http.Header
	// silent tricks are stopped by Chromium itself: no request is ever made.
	silent bool
}

var tricks = []trick{
	{name: "top from srcdoc", html: `<iframe srcdoc="<script>top.location='EVIL'</script>"></iframe>`},
	{name: "top from a sandbox that may", html: `<iframe sandbox="allow-scripts allow-top-navigation" srcdoc="<script>top.location='EVIL'</script>"></iframe>`},
	{name: "top from a frame in a frame", html: `<iframe srcdoc="<iframe src='/top?EVIL'></iframe>"></iframe>`},
	{name: "a form to _top from a frame", html: `<iframe srcdoc="<form id=f action='EVIL' target=_top method=post></form><script>f.submit()</script>"></iframe>`},
	{name: "a link to _top from a frame", html: `<iframe srcdoc="<a href='EVIL' target=_top id=a>x</a><script>a.click()</script>"></iframe>`},
	{name: "an SVG link", html: `<svg><a href="EVIL" id=a><text>x</text></a></svg><script>a.dispatchEvent(new MouseEvent('click',{bubbles:true}))</script>`},
	{name: "an image map", html: `<img usemap=#m width=9 height=9 src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><map name=m><area id=a href="EVIL" coords=0,0,9,9></map><script>a.click()</script>`},
	{name: "a javascript: URL", html: `<script>location="javascript:void(location='EVIL')"</script>`},
	{name: "a blob: document", html: `<script>location=URL.createObjectURL(new Blob(["<script>location='EVIL'<\/script>"],{type:'text/html'}))</script>`},
	{name: "while the page is left", html: `<script>addEventListener('pagehide',()=>{location='EVIL'});location='/ok'</script>`, silent: true},
	{name: "a window by its own name", html: `<script>window.name='me';window.open('EVIL','me')</script>`},
	{name: "after pushState", html: `<script>history.pushState(0,'','/other');location.href='EVIL'</script>`},
	{name: "replacing the entry", html: `<script>navigation.navigate('EVIL',{history:'replace'})</script>`},
	{name: "an odd delay in a meta refresh", html: `<meta http-equiv=refresh content=".1;URL='EVIL'">`},
	{name: "a meta refresh without url=", html: `<meta http-equiv=refresh content="0 EVIL">`},
	{name: "two navigations at once", html: `<script>location='/ok';location='EVIL'</script>`},
	{name: "an embedded document", html: `<embed src="/top?EVIL">`},
	{name: "a Refresh header", html: `hi`, header: http.Header{"Refresh": {"0; url=EVIL"}}},
	{name: "a data: document", html: `<script>location="data:text/html,x"</script>`, silent: true},
	{name: "view-source", html: `<script>location='view-source:EVIL'</script>`, silent: true},
	{name: "a popup from a sandbox", html: `<iframe sandbox="allow-scripts allow-popups allow-popups-to-escape-sandbox" srcdoc="<script>window.open('EVIL')</script>"></iframe>`, silent: true},
}

func TestThePagesTricksAreContained(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	evil := func(name string) string {
		return "https://evil.test/" + strings.ReplaceAll(strings.Trim(name, ":"), " ", "-")
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/top" {
			w.Write([]byte("<script>top.location='" + r.URL.RawQuery + "'</script>"))
		}
		for _, trick := range tricks {
			if r.URL.Path != "/"+trick.name {
				continue
			}
			for key, values := range trick.header {
				w.Header().Set(key, strings.ReplaceAll(values[0], "EVIL", evil(trick.name)))
			}
			w.Write([]byte("<!doctype html><body>" + strings.ReplaceAll(trick.html, "EVIL", evil(trick.name))))
		}
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })

	g := newGates(t, nil, "127.0.0.1")
	for _, trick := range tricks {
		t.Run(trick.name, func(t *testing.T) {
			require.NoError(t, g.visit(t, "http://"+l.Addr().String()+"/"+strings.ReplaceAll(trick.name, " ", "%20")))
			if !trick.silent {
				d := g.denied(t, evil(trick.name))
				assert.Equal(t, gate.Page, d.Initiator)
			}
		})
	}
	assert.Zero(t, g.web.Connections("evil.test"))
	for _, tab := range g.Tabs() {
		assert.NotContains(t, tab.URL, "evil.test")
	}
}
