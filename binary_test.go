package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/fixtures"
)

// builtIn is where buildBinary put the product; empty while no test needed it.
var builtIn string

// buildBinary builds the product once for all black-box tests.
var buildBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sallyport-test-")
	if err != nil {
		return "", err
	}
	builtIn = dir
	path := filepath.Join(dir, "sallyport")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// product is a running `sallyport mcp` and the agent that drives it.
type product struct {
	*agent
	command *exec.Cmd
	stdin   io.Closer
	lines   *lineCheck
	temp    string
	ended   chan error
	notes   chan json.RawMessage
}

// lineCheck sees everything that the product writes to stdout.
type lineCheck struct {
	mu  sync.Mutex
	bad []string
	buf []byte
}

func (l *lineCheck) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	for {
		line, rest, found := strings.Cut(string(l.buf), "\n")
		if !found {
			return len(p), nil
		}
		l.buf = []byte(rest)
		var m struct {
			JSONRPC string `json:"jsonrpc"`
		}
		if json.Unmarshal([]byte(line), &m) != nil || m.JSONRPC != "2.0" {
			l.bad = append(l.bad, line)
		}
	}
}

func startProduct(t *testing.T, web *fixtures.Web, env []string, extra ...string) *product {
	t.Helper()
	needChromium(t)
	path, err := buildBinary()
	require.NoError(t, err)
	temp, err := os.MkdirTemp("", "sp-") // short: Chromium makes a socket in it
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(temp) })
	p := &product{lines: &lineCheck{}, temp: temp, ended: make(chan error, 1), notes: make(chan json.RawMessage, 100)}
	config, err := json.Marshal(map[string]any{
		"proxy":    map[string]any{"resolve": web.Resolve(), "extra_roots": []string{web.RootFile()}},
		"navigate": map[string]any{"timeout": "10s"},
		"log":      map[string]any{"level": "debug"},
	})
	require.NoError(t, err)
	file := filepath.Join(p.temp, "config.json")
	require.NoError(t, os.WriteFile(file, config, 0o600))
	p.command = exec.Command(path, append([]string{"mcp", "--config", file}, extra...)...)
	p.command.Env = append(append(os.Environ(), "DISPLAY=", "WAYLAND_DISPLAY="), append(env, "TMPDIR="+p.temp)...)
	if os.Getenv("SALLYPORT_TEST_LOG") != "" {
		p.command.Stderr = os.Stderr
	}
	in, err := p.command.StdinPipe()
	require.NoError(t, err)
	out, err := p.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.command.Start())
	p.stdin = in
	p.agent = newAgent(io.TeeReader(out, p.lines), in, func(method string, params json.RawMessage) {
		select {
		case p.notes <- params:
		default:
		}
	})
	go func() { <-p.agent.done; p.ended <- p.command.Wait() }()
	t.Cleanup(func() {
		p.command.Process.Kill()
		<-p.agent.done
		assert.Empty(t, p.lines.bad, "only JSON-RPC reaches stdout")
	})
	require.NoError(t, p.initialize(t.Context(), "Test agent"))
	return p
}

// browsers are the process ids of Chromiums that run on the product's profiles.
func (p *product) browsers() []string {
	out, _ := exec.Command("pgrep", "-f", "user-data-dir="+p.temp).Output()
	return strings.Fields(string(out))
}

func (p *product) expectEnd(t *testing.T) {
	t.Helper()
	select {
	case err := <-p.ended:
		assert.NoError(t, err, "exit code 0")
		p.ended <- err
	case <-time.After(5 * time.Second):
		t.Fatal("still running after 5 s")
	}
	p.expectNothingLeft(t)
}

func (p *product) expectNothingLeft(t *testing.T) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, p.browsers()) }, 5*time.Second, 50*time.Millisecond)
	left, _ := filepath.Glob(filepath.Join(p.temp, "sallyport-profile-*"))
	assert.Empty(t, left, "no temporary profile is left")
}

// firstTab returns the session's tab.
func (p *product) firstTab(t *testing.T) string {
	t.Helper()
	got, err := p.tool(t.Context(), "browser_tab_list", map[string]any{})
	require.NoError(t, err)
	for _, row := range got["tabs"].([]any) {
		tab := row.(map[string]any)
		if tab["owner"] == "session" {
			return tab["tab_id"].(string)
		}
	}
	t.Fatal("no tab of the session's own")
	return ""
}

func codeOf(err error) (int, string) {
	var e *agentError
	if errors.As(err, &e) {
		return e.Code, string(e.Data)
	}
	return 0, ""
}

func TestAPersonApprovesWithARealMouseAndTheAgentVisitsThatAlone(t *testing.T) {
	web := fixtures.Start(t)
	display := fixtures.NeedDisplay(t)
	p := startProduct(t, web, display.Environ())
	ctx := t.Context()

	_, err := p.tool(ctx, "browser_navigate", map[string]any{"tab_id": p.firstTab(t), "url": "https://good.test/"})
	code, data := codeOf(err)
	assert.Equal(t, -32010, code)
	assert.Contains(t, data, "Call browser_set_allowed_domains with the domain, then retry.")
	assert.Zero(t, web.Connections("good.test"), "nothing is dialled, or looked up, before a person said yes")

	_, answer, err := p.start("tools/call", map[string]any{"name": "browser_set_allowed_domains", "arguments": map[string]any{"domains": []string{"good.test"}}, "_meta": map[string]any{"progressToken": "p"}})
	require.NoError(t, err)
	_, err = display.Person().WaitWindow(ctx, "Sallyport: Test agent asks")
	require.NoError(t, err)
	got, err := p.tool(ctx, "browser_get_allowed_domains", map[string]any{})
	require.NoError(t, err, "other calls are answered while one waits for the person")
	assert.Equal(t, true, got["pending"])
	listed, err := p.tool(ctx, "browser_tab_list", map[string]any{})
	require.NoError(t, err)
	assert.Len(t, listed["tabs"], 2, "the person's first tab and the session's own: the window is in no list")
	require.NoError(t, display.Person().Answer(ctx, true))
	first := <-answer
	require.Nil(t, first.Error)
	set, err := structured(first.Result)
	require.NoError(t, err)
	assert.Equal(t, true, set["prompted"])
	assert.Equal(t, []any{"good.test"}, set["allowed_domains"])

	set, err = p.tool(ctx, "browser_set_allowed_domains", map[string]any{"domains": []string{"GOOD.test."}})
	require.NoError(t, err)
	assert.Equal(t, false, set["prompted"], "the same set again asks nobody")

	tab := p.firstTab(t)
	page, err := p.tool(ctx, "browser_navigate", map[string]any{"tab_id": tab, "url": "https://good.test/"})
	require.NoError(t, err)
	assert.Equal(t, "https://good.test/", page["final_url"])
	assert.Equal(t, 200.0, page["http_status"])

	_, err = p.tool(ctx, "browser_navigate", map[string]any{"tab_id": tab, "url": "https://good.test" + fixtures.Query("/-/status/302", "to", "https://evil.test/prize")})
	code, data = codeOf(err)
	assert.Equal(t, -32010, code)
	assert.Contains(t, data, `"blocked_url":"https://evil.test/prize"`)
	assert.Zero(t, web.Connections("evil.test"))

	_, answer, err = p.start("tools/call", map[string]any{"name": "browser_set_allowed_domains", "arguments": map[string]any{"domains": []string{"evil.test"}}})
	require.NoError(t, err)
	require.NoError(t, display.Person().Answer(ctx, false))
	declined := <-answer
	require.NotNil(t, declined.Error)
	assert.Equal(t, "user_declined", declined.Error.Message)
	got, err = p.tool(ctx, "browser_get_allowed_domains", map[string]any{})
	require.NoError(t, err)
	assert.Equal(t, []any{"good.test"}, got["allowed_domains"], "unchanged")

	p.stdin.Close()
	p.expectEnd(t)
}

func TestEndOfInputClosesAWaitingWindowAndAnswersItsCall(t *testing.T) {
	web := fixtures.Start(t)
	display := fixtures.NeedDisplay(t)
	p := startProduct(t, web, display.Environ())
	_, answer, err := p.start("tools/call", map[string]any{"name": "browser_set_allowed_domains", "arguments": map[string]any{"domains": []string{"good.test"}}})
	require.NoError(t, err)
	_, err = display.Person().WaitWindow(t.Context(), "Sallyport: Test agent asks")
	require.NoError(t, err)
	p.stdin.Close()
	got := <-answer
	require.NotNil(t, got.Error)
	assert.Equal(t, "session_ended", got.Error.Message)
	p.expectEnd(t)
}

func TestWithoutADisplayNobodyCanBeAsked(t *testing.T) {
	p := startProduct(t, fixtures.Start(t), nil)
	_, err := p.tool(t.Context(), "browser_set_allowed_domains", map[string]any{"domains": []string{"good.test"}})
	var e *agentError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "approval_unavailable", e.Message)
	assert.Contains(t, string(e.Data), "display")
	_, err = p.tool(t.Context(), "browser_navigate", map[string]any{"tab_id": p.firstTab(t), "url": "https://good.test/"})
	code, _ := codeOf(err)
	assert.Equal(t, -32010, code, "the session stays un-navigable")
}

func TestSignalsEndItCleanly(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			p := startProduct(t, fixtures.Start(t), nil)
			p.firstTab(t) // Chromium runs
			require.NotEmpty(t, p.browsers())
			require.NoError(t, p.command.Process.Signal(signal))
			p.expectEnd(t)
		})
	}
}

func TestAKilledSallyportTakesChromiumWithIt(t *testing.T) {
	p := startProduct(t, fixtures.Start(t), nil)
	p.firstTab(t)
	require.NotEmpty(t, p.browsers())
	require.NoError(t, p.command.Process.Kill())
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Empty(c, p.browsers()) }, 5*time.Second, 50*time.Millisecond)
}

func TestAKilledChromiumFailsTheCallAndEndsTheApprovals(t *testing.T) {
	web := fixtures.Start(t)
	display := fixtures.NeedDisplay(t)
	p := startProduct(t, web, display.Environ())
	ctx := t.Context()
	approve := func() {
		t.Helper()
		_, answer, err := p.start("tools/call", map[string]any{"name": "browser_set_allowed_domains", "arguments": map[string]any{"domains": []string{"good.test"}}})
		require.NoError(t, err)
		require.NoError(t, display.Person().Answer(ctx, true))
		got := <-answer
		require.Nil(t, got.Error)
	}
	approve()
	tab := p.firstTab(t)
	_, answer, err := p.start("tools/call", map[string]any{"name": "browser_navigate", "arguments": map[string]any{"tab_id": tab, "url": "https://good.test/-/stall"}})
	require.NoError(t, err)
	_, err = web.WaitHit(ctx, "good.test", "/-/stall")
	require.NoError(t, err)
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(p.command.Process.Pid)).Output()
	require.NoError(t, err)
	chromium, err := strconv.Atoi(strings.Fields(string(out))[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(chromium, syscall.SIGKILL))
	got := <-answer
	require.NotNil(t, got.Error)
	assert.Equal(t, "browser_gone", got.Error.Message)

	_, err = p.tool(ctx, "browser_navigate", map[string]any{"tab_id": tab, "url": "https://good.test/"})
	code, _ := codeOf(err)
	assert.Equal(t, -32602, code, "that tab is gone")
	tab = p.firstTab(t) // in a new browser
	_, err = p.tool(ctx, "browser_navigate", map[string]any{"tab_id": tab, "url": "https://good.test/"})
	code, _ = codeOf(err)
	assert.Equal(t, -32010, code, "the approval ended with the browser")
	approve()
	_, err = p.tool(ctx, "browser_navigate", map[string]any{"tab_id": tab, "url": "https://good.test/"})
	assert.NoError(t, err)
	closed, err := p.tool(ctx, "browser_tab_close", map[string]any{"tab_id": tab})
	require.NoError(t, err)
	assert.Equal(t, true, closed["closed"])
	p.stdin.Close()
	p.expectEnd(t)
}

func TestInitializeDoesNotWaitForChromium(t *testing.T) {
	p := startProduct(t, fixtures.Start(t), nil, "--browser-path", "/bin/false")
	_, err := p.call(t.Context(), "tools/list", map[string]any{})
	require.NoError(t, err)
	_, err = p.tool(t.Context(), "browser_tab_list", map[string]any{})
	var e *agentError
	require.ErrorAs(t, err, &e)
	assert.Contains(t, e.Message, "starting Chromium")
	p.stdin.Close()
	p.expectEnd(t)
}

func TestStartUpErrorsNameTheKeyAndTheRemedy(t *testing.T) {
	path, err := buildBinary()
	require.NoError(t, err)
	tests := map[string]struct {
		file string
		env  string
		args []string
		says string
	}{
		"an unknown key":            {file: `{"browser":{"hedless":true}}`, says: "did you mean browser.headless?"},
		"a wrong type":              {file: `{"browser":{"headless":"true"}}`, says: "browser.headless must be true or false"},
		"a key that is there twice": {file: `{"log":{"level":"info","level":"debug"}}`, says: "log.level is there twice"},
		"an unsafe argument":        {file: `{"browser":{"args":["--remote-debugging-port=9222"]}}`, says: "browser.args"},
		"domains in the file":       {file: `{"allowed_domains":["good.test"]}`, says: "a person does, in the browser"},
		"domains in a group":        {file: `{"browser":{"allowed_domains":["good.test"]}}`, says: "browser.allowed_domains: there is no setting that approves"},
		"domains in a variable":     {env: "SALLYPORT_ALLOWED_DOMAINS=good.test", says: "SALLYPORT_ALLOWED_DOMAINS"},
		"domains in a flag":         {args: []string{"--allowed-domains", "good.test"}, says: "a person does, in the browser"},
		"a skipped prompt":          {file: `{"prompt":{"skip":true}}`, says: "prompt.skip"},
		"a bad pin":                 {args: []string{"--proxy-resolve", "good.test"}, says: "proxy.resolve"},
		"a bad duration":            {env: "SALLYPORT_PROMPT_TIMEOUT=soon", says: "prompt.timeout"},
		"a bad range":               {args: []string{"--proxy-public-ranges", "x"}, says: "proxy.public_ranges"},
		"a relative profile":        {args: []string{"--browser-profile", "here"}, says: "browser.profile"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"mcp"}, test.args...)
			if test.file != "" {
				file := filepath.Join(t.TempDir(), "config.json")
				require.NoError(t, os.WriteFile(file, []byte(test.file), 0o600))
				args = append(args, "--config", file)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			command := exec.CommandContext(ctx, path, args...)
			command.Env = append(os.Environ(), test.env)
			out, err := command.CombinedOutput()
			assert.Error(t, err)
			assert.Contains(t, string(out), test.says)
		})
	}
}
