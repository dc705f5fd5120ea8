package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sallyport/chrome"
	"sallyport/fixtures"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/proxy"
)

// demonstration is the small web, the product before it, and a scripted agent.
type demonstration struct {
	web    *fixtures.Web
	houses *houses
	agent  *agent
	out    io.Writer
	tab    string
	failed int
}

// runDemo shows the main job on the fixture web, over the real MCP server.
func runDemo(ctx context.Context, c Config, s streams) (err error) {
	if !chrome.HasDisplay() {
		return errors.New("the demo needs a display, so that you can answer its window; run: make demo")
	}
	web, err := fixtures.StartWeb()
	if err != nil {
		return err
	}
	defer web.Close()
	for _, entry := range web.Resolve() {
		pin, err := proxy.ParsePin(entry)
		if err != nil {
			return err
		}
		c.Proxy.pins = append(c.Proxy.pins, pin)
	}
	c.Proxy.ExtraRoots = append(c.Proxy.ExtraRoots, web.RootFile())
	if c.Log.Level == "info" {
		_ = c.Log.level.UnmarshalText([]byte("warn")) // the demo tells its own story
	}
	h, err := openHouses(c, newLog(c, s.err))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close(stopWithin)) }()

	toServer, fromAgent := io.Pipe()
	toAgent, fromServer := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- h.front.Serve(ctx, toServer, fromServer); fromServer.Close() }()
	d := &demonstration{web: web, houses: h, out: s.out, agent: newAgent(toAgent, fromAgent, nil)}
	err = d.play(ctx)
	fromAgent.Close()
	return errors.Join(err, <-served)
}

// step is one line of the demo.
type step struct {
	url    string
	opens  bool
	reason string // why it is tried
}

func (d *demonstration) play(ctx context.Context) error {
	if err := d.agent.initialize(ctx, "Demo agent"); err != nil {
		return err
	}
	fmt.Fprintln(d.out, "A small web runs on this machine: a shop, a newspaper, and evil.test.")
	fmt.Fprintln(d.out, "The agent asks to visit shop.test and news.test. Please answer the window that comes up.")
	_, err := d.agent.tool(ctx, "browser_set_allowed_domains", map[string]any{"domains": []string{"shop.test", "news.test"}})
	var refused *agentError
	if errors.As(err, &refused) {
		fmt.Fprintf(d.out, "  You did not allow it (%s). So nothing can be opened, and the demo ends here.\n", refused.Message)
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(d.out, "  You allowed it.")
	if d.tab, err = d.firstTab(ctx); err != nil {
		return err
	}
	leave := func(path string, pairs ...string) string {
		return "https://news.test" + fixtures.Query(path, append(pairs, "to", "https://evil.test/prize.html")...)
	}
	for _, s := range []step{
		{"https://shop.test/", true, "an approved site"},
		{"https://news.test/", true, "another one"},
		{"https://www.shop.test/", false, "a name below an approved one: it is another host"},
		{"https://evil.test/prize.html", false, "a site that nobody approved"},
		{leave("/-/status/302"), false, "an approved page that redirects to evil.test"},
		{leave("/-/js", "how", "location"), true, "an approved page whose script goes to evil.test"},
		{leave("/-/meta"), true, "an approved page that refreshes to evil.test"},
		{"https://shop.test/", true, "the approved site still opens"},
	} {
		if err := d.visit(ctx, s); err != nil {
			return err
		}
	}
	if err := d.withoutTicket(ctx); err != nil {
		return err
	}
	n := d.web.Connections("evil.test")
	fmt.Fprintf(d.out, "evil.test saw %d connections.\n", n)
	if n > 0 || d.failed > 0 {
		return fmt.Errorf("%d steps went another way than they should", d.failed+n)
	}
	fmt.Fprintln(d.out, "All as it should be. The browser closes in a moment.")
	select {
	case <-time.After(lookAround):
	case <-ctx.Done():
	}
	return nil
}

// lookAround is for the person to see the last page.
const lookAround = 3 * time.Second

func (d *demonstration) firstTab(ctx context.Context) (string, error) {
	got, err := d.agent.tool(ctx, "browser_tab_list", map[string]any{})
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal(got)
	if err != nil {
		return "", err
	}
	var list struct {
		Tabs []struct {
			ID    string `json:"tab_id"`
			Owner string `json:"owner"`
		} `json:"tabs"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", err
	}
	for _, t := range list.Tabs {
		if t.Owner == "session" {
			return t.ID, nil
		}
	}
	return "", errors.New("the session has no tab")
}

// visit tries one URL, says what came of it, and which gate decided.
func (d *demonstration) visit(ctx context.Context, s step) error {
	before := len(d.houses.ledger.Recent())
	_, err := d.agent.tool(ctx, "browser_navigate", map[string]any{"tab_id": d.tab, "url": s.url})
	var refused *agentError
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	word := "opened "
	if err != nil {
		word = "refused"
	}
	fmt.Fprintf(d.out, "  %s  %s\n           (%s)\n", word, gate.Redact(s.url), s.reason)
	if (err == nil) != s.opens {
		d.failed++
		fmt.Fprintln(d.out, "           !! this is not as it should be:", err)
	}
	if s.opens && strings.Contains(s.url, "evil.test") {
		if err := d.awaitRefusal(ctx, before); err != nil {
			return err
		}
	}
	d.evidence(before)
	return nil
}

// awaitRefusal waits until the page's own attempt to leave was refused.
func (d *demonstration) awaitRefusal(ctx context.Context, before int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, n := range d.houses.ledger.Recent()[before:] {
			if n.Initiator == gate.Page && len(n.Hops) > 0 && n.Hops[0].Fetch != nil {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("the page did not try to leave")
		}
	}
}

// evidence tells what each gate saw since the step began.
func (d *demonstration) evidence(before int) {
	all := d.houses.ledger.Recent()
	if len(all) <= before {
		fmt.Fprintln(d.out, "           the MCP front refused it: no request was made, no name looked up")
		return
	}
	for _, n := range all[before:] {
		for _, h := range n.Hops {
			fmt.Fprintf(d.out, "           %-5s %s  DevTools gate: %s, proxy gate: %s\n", n.Initiator, h.Target.Host(), said(h.Fetch), said(h.Proxy))
		}
	}
}

func said(e *ledger.Evidence) string {
	switch {
	case e == nil:
		return "never saw it"
	case e.Allowed:
		return "allowed"
	}
	return "refused"
}

// withoutTicket goes straight to the proxy, as a program would that got past the
// DevTools gate.
func (d *demonstration) withoutTicket(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: d.houses.proxy.Addr()})}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://shop.test/", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/html")
	response, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	response.Body.Close()
	fmt.Fprintf(d.out, "  refused  http://shop.test/\n           (a document that goes to the proxy past the DevTools gate: no ticket, no document; status %d)\n", response.StatusCode)
	if response.StatusCode != http.StatusForbidden {
		d.failed++
	}
	return nil
}
