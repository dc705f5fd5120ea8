package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/fixtures"
)

// corpusRun drives the cases of the corpus through the MCP front of a Sallyport:
// the built one, or one whose gates a test has opened.
type corpusRun struct {
	*agent
	web       *fixtures.Web
	approve   func(ctx context.Context) error // the person says yes, once
	proxyPort string
	// oneGate says that a gate is open: what counts is that nothing gets out, or that
	// the case says why one gate can't hold it.
	oneGate bool

	mu      sync.Mutex // guards below
	results map[string]*caseResult
}

// caseResult is what came of one case.
type caseResult struct {
	way    fixtures.WayOut
	tab    string
	code   string // of the last step; "" is success
	text   string // its message
	final  string
	status int // of the last request on the wire
	denied map[string]any
	before map[string]int // requests that a forbidden host had seen when the list was narrowed
}

// casesAtOnce are how many tabs a batch opens, and casesInParallel how many of
// them are driven at a time.
const (
	casesAtOnce     = 32
	casesInParallel = 4
	// watchAfter is how long after the last answer nothing may get out.
	watchAfter = 5 * time.Second
)

// run drives the cases, those with one list together, and watches each batch to
// the end of its time.
func (r *corpusRun) run(t *testing.T, ways []fixtures.WayOut) {
	r.results = map[string]*caseResult{}
	for _, group := range grouped(ways) {
		require.NoError(t, r.allow(t.Context(), group[0].Domains()), "the person approves %v", group[0].Domains())
		var early, late []fixtures.WayOut
		for _, way := range group {
			if way.Gate == "front" && way.Later() == nil {
				early = append(early, way)
			} else {
				late = append(late, way)
			}
		}
		r.early(t, early)
		// What opens has no time to wait for.
		slices.SortStableFunc(late, func(a, b fixtures.WayOut) int { return -strings.Compare(a.Outcome, b.Outcome) })
		for batch := range slices.Chunk(late, casesAtOnce) {
			r.batch(t, batch)
		}
	}
}

// early runs what the tool itself refuses, before there is a page that could move:
// in one tab, one after the other.
func (r *corpusRun) early(t *testing.T, ways []fixtures.WayOut) {
	if len(ways) == 0 {
		return
	}
	tab, err := r.newTab(t.Context())
	require.NoError(t, err)
	for _, way := range ways {
		t.Run(way.ID, func(t *testing.T) {
			result := &caseResult{way: way, tab: tab}
			require.NoError(t, r.steps(t.Context(), result, way.Do()))
			r.results[way.ID] = result
			r.judge(t, result)
		})
	}
	r.close(t, tab)
}

// grouped puts the cases together that can run side by side: those with one list,
// which some change to another one on their way.
func grouped(ways []fixtures.WayOut) [][]fixtures.WayOut {
	var groups [][]fixtures.WayOut
	at := map[string]int{}
	for _, way := range ways {
		key := fmt.Sprint(way.Domains(), way.Later())
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], way)
	}
	return groups
}

// allow asks for a list, and has the person approve it if that takes a window.
func (r *corpusRun) allow(ctx context.Context, domains []string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, answer, err := r.start("tools/call", map[string]any{"name": "browser_set_allowed_domains", "arguments": map[string]any{"domains": domains}})
	if err != nil {
		return err
	}
	approved := make(chan error, 1)
	person, stop := context.WithCancel(ctx)
	defer stop()
	go func() { approved <- r.approve(person) }()
	for {
		select {
		case got := <-answer:
			if got.Error != nil {
				return got.Error
			}
			return nil
		case err := <-approved:
			if err != nil {
				return err
			}
			// A name that leads to a private address brings a second question.
			go func() { approved <- r.approve(person) }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// batch runs cases side by side, keeps their tabs open until their time is over,
// and then closes them. Where they change the list, all come that far first.
func (r *corpusRun) batch(t *testing.T, batch []fixtures.WayOut) {
	r.beside(t, batch, func(way fixtures.WayOut) error {
		tab, err := r.newTab(t.Context())
		if err != nil {
			return err
		}
		result := &caseResult{way: way, tab: tab, before: map[string]int{}}
		r.mu.Lock()
		r.results[way.ID] = result
		r.mu.Unlock()
		first, _ := way.Halves()
		return r.steps(t.Context(), result, first)
	})
	if later := batch[0].Later(); later != nil {
		require.NoError(t, r.allow(t.Context(), later), "the person approves %v", later)
		for _, way := range batch {
			for _, host := range way.Forbidden {
				host = way.Fill(host, "", "")
				r.results[way.ID].before[host] = len(r.web.Hits(host))
			}
		}
	}
	r.beside(t, batch, func(way fixtures.WayOut) error {
		result := r.results[way.ID]
		if result == nil {
			return nil // it has failed
		}
		_, second := way.Halves()
		if err := r.steps(t.Context(), result, second); err != nil {
			return err
		}
		if result.code == "" && (way.Gate == "fetch" || way.Gate == "ledger" || way.Gate == "proxy" && way.Code != "") {
			return r.awaitDenial(t.Context(), result)
		}
		return nil
	})
	over := time.Now().Add(watchAfter)
	if !slices.ContainsFunc(batch, func(w fixtures.WayOut) bool { return w.Outcome == "contained" }) {
		over = time.Now()
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		r.noTabIsOut(t)
		assert.True(c, time.Now().After(over))
	}, watchAfter+10*time.Second, 250*time.Millisecond)
	for _, way := range batch {
		if result := r.results[way.ID]; result != nil {
			t.Run(way.ID, func(t *testing.T) { r.judge(t, result) })
			r.close(t, result.tab)
		}
	}
}

func (r *corpusRun) newTab(ctx context.Context) (string, error) {
	made, err := r.tool(ctx, "browser_tab_new", map[string]any{})
	if err != nil {
		return "", err
	}
	return made["tab_id"].(string), nil
}

// beside does something for each case, several at a time.
func (r *corpusRun) beside(t *testing.T, batch []fixtures.WayOut, do func(fixtures.WayOut) error) {
	queue := make(chan fixtures.WayOut)
	var wg sync.WaitGroup
	for range casesInParallel {
		wg.Go(func() {
			for way := range queue {
				assert.NoError(t, do(way), way.ID)
			}
		})
	}
	for _, way := range batch {
		queue <- way
	}
	close(queue)
	wg.Wait()
}

func (r *corpusRun) steps(ctx context.Context, result *caseResult, steps []fixtures.WayStep) error {
	for _, step := range steps {
		if err := r.step(ctx, result, step); err != nil {
			return err
		}
	}
	return nil
}

func (r *corpusRun) step(ctx context.Context, result *caseResult, step fixtures.WayStep) error {
	way := result.way
	fill := func(text string) string {
		_, port, _ := strings.Cut(r.web.Addr(), ":")
		return way.Fill(text, port, r.proxyPort)
	}
	switch {
	case step.Navigate != "" || step.Ask == nil && step.Allow == nil && step.Wire == nil && !step.Release:
		got, err := r.tool(ctx, "browser_navigate", map[string]any{"tab_id": result.tab, "url": fill(step.Navigate)})
		result.code, result.text = codeAndText(err)
		result.final, _ = got["final_url"].(string)
	case step.Ask != nil:
		_, err := r.tool(ctx, "browser_set_allowed_domains", map[string]any{"domains": step.Ask})
		result.code, result.text = codeAndText(err)
	case step.Release:
		r.web.Release(way.ID)
	case step.Wire != nil:
		var err error
		result.status, err = sendWire(r.proxyPort, *step.Wire, fill)
		return err
	}
	return nil
}

// codeAndText are an error's code as the corpus writes it, and its message.
func codeAndText(err error) (string, string) {
	var e *agentError
	switch {
	case err == nil:
		return "", ""
	case !errors.As(err, &e):
		return "lost", err.Error()
	}
	var network string
	if e.Code == -32603 && json.Unmarshal(e.Data, &network) == nil && network != "" {
		return network, e.Message
	}
	return strconv.Itoa(e.Code), e.Message
}

// awaitDenial waits until the tab has refused something.
func (r *corpusRun) awaitDenial(ctx context.Context, result *caseResult) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		tabs, err := r.tabs(ctx)
		if err != nil {
			return err
		}
		for _, tab := range tabs {
			if tab["tab_id"] == result.tab && result.way.Gate == "ledger" && tab["url"] == "about:blank" {
				return nil
			}
			if denied, _ := tab["last_denied"].(map[string]any); tab["tab_id"] == result.tab && denied != nil {
				result.denied = denied
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("nothing was refused in %s", result.tab)
		}
	}
}

func (r *corpusRun) tabs(ctx context.Context) ([]map[string]any, error) {
	listed, err := r.tool(ctx, "browser_tab_list", map[string]any{})
	if err != nil {
		return nil, err
	}
	var tabs []map[string]any
	for _, row := range listed["tabs"].([]any) {
		tabs = append(tabs, row.(map[string]any))
	}
	return tabs, nil
}

// noTabIsOut asserts that no tab shows a host that nobody approved.
func (r *corpusRun) noTabIsOut(t *testing.T) {
	tabs, err := r.tabs(t.Context())
	if !assert.NoError(t, err) {
		return
	}
	for _, tab := range tabs {
		shown, _ := tab["url"].(string)
		at, err := url.Parse(shown)
		assert.False(t, err == nil && strings.HasSuffix(strings.TrimSuffix(at.Hostname(), "."), "evil.test"), "a tab shows %s", shown)
	}
}

// judge asserts what the case promises.
func (r *corpusRun) judge(t *testing.T, got *caseResult) {
	way := got.way
	if r.oneGate {
		r.contained(t, got)
		return
	}
	r.contained(t, got)
	for _, step := range way.Steps {
		if step.Wire != nil {
			assert.Equal(t, step.Wire.Status, got.status)
			return
		}
	}
	want := way.Code
	if way.Outcome == "malformed" && want == "" {
		want = "-32602"
	}
	if prefix, any := strings.CutSuffix(want, "*"); any {
		assert.True(t, strings.HasPrefix(got.code, prefix), "%s: %s", got.code, got.text)
	} else if got.denied == nil || want != "" {
		assert.Equal(t, want, got.code, got.text)
	}
	if way.Final != "" {
		_, port, _ := strings.Cut(r.web.Addr(), ":")
		assert.Equal(t, way.Fill(way.Final, port, r.proxyPort), got.final)
	}
	if got.denied != nil {
		assert.Equal(t, "page", got.denied["initiator"])
	}
	if way.Gate == "chromium" && len(way.Pages) > 0 && way.Pages[""].Headers["Location"] == "" {
		assert.True(t, r.web.Tried(way.ID), "the page tried, or the case shows nothing")
	}
}

// contained asserts at the web's own log that nothing got out.
func (r *corpusRun) contained(t *testing.T, got *caseResult) {
	way := got.way
	assert.Zero(t, r.web.Connections(way.Evil()), "a connection to %s", way.Evil())
	for _, host := range way.Forbidden {
		host = way.Fill(host, "", "")
		assert.Len(t, r.web.Hits(host), got.before[host], "requests to %s", host)
	}
	for _, hit := range r.web.Requests() {
		if hit.Path == "/-/tried/"+way.ID {
			assert.Equal(t, "good.test", hit.Host, "a private address was reached")
		}
	}
}

func (r *corpusRun) close(t *testing.T, tab string) {
	_, err := r.tool(t.Context(), "browser_tab_close", map[string]any{"tab_id": tab})
	assert.NoError(t, err)
}
