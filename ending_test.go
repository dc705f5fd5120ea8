package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/fixtures"
)

func TestACallThatHangsDoesNotHoldTheEndUp(t *testing.T) {
	web := fixtures.Start(t)
	display := fixtures.NeedDisplay(t)
	p := startProduct(t, web, display.Environ())
	_, answer, err := p.start("tools/call", map[string]any{"name": "browser_set_allowed_domains", "arguments": map[string]any{"domains": []string{"good.test"}}})
	require.NoError(t, err)
	require.NoError(t, display.Person().Answer(t.Context(), true))
	require.Nil(t, (<-answer).Error)
	_, answer, err = p.start("tools/call", map[string]any{"name": "browser_navigate", "arguments": map[string]any{"tab_id": p.firstTab(t), "url": "https://good.test/-/stall"}})
	require.NoError(t, err)
	_, err = web.WaitHit(t.Context(), "good.test", "/-/stall")
	require.NoError(t, err)
	p.stdin.Close()
	p.expectEnd(t) // within 5 s, 3 of which are the call's
	got, answered := <-answer
	require.True(t, answered)
	require.NotNil(t, got.Error)
	assert.Equal(t, "session_ended", got.Error.Message)
}

func TestAClientThatStopsReadingEndsTheSessionInOrder(t *testing.T) {
	needChromium(t)
	path, err := buildBinary()
	require.NoError(t, err)
	temp, err := os.MkdirTemp("", "sp-") // short: Chromium makes a socket in it
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(temp) })
	out, stdout, err := os.Pipe()
	require.NoError(t, err)
	command := exec.Command(path, "mcp")
	command.Env = append(os.Environ(), "DISPLAY=", "WAYLAND_DISPLAY=", "TMPDIR="+temp)
	command.Stdout = stdout
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	stdout.Close()
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() { command.Process.Kill() })

	lines := bufio.NewReader(out)
	ask := func(id int) {
		_, err := fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"browser_tab_list","arguments":{}}}`+"\n", id)
		require.NoError(t, err)
	}
	ask(1)
	_, err = lines.ReadString('\n')
	require.NoError(t, err)
	profiles := filepath.Join(temp, "sallyport-profile-*")
	there, _ := filepath.Glob(profiles)
	require.NotEmpty(t, there, "Chromium runs")
	out.Close()
	ask(2)
	select {
	case err := <-ended:
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		assert.Equal(t, 1, exit.ExitCode(), "an error, and no death by SIGPIPE")
	case <-time.After(5 * time.Second):
		t.Fatal("still running after 5 s")
	}
	left, _ := filepath.Glob(profiles)
	assert.Empty(t, left, "no temporary profile is left")
}

func TestACommandLineThatMakesNoSenseIsAUsageError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no command":                 {nil, 2, "a command is missing"},
		"an unknown command":         {[]string{"docter"}, 2, "did you mean doctor?"},
		"an argument too many":       {[]string{"mcp", "good.test"}, 2, `"good.test" is not expected here`},
		"a value without its equals": {[]string{"mcp", "--log-level", "info", "--browser-headless", "false"}, 2, `"false" is not expected here; write --browser-headless=false;`},
		"a misspelt flag":            {[]string{"mcp", "--log-levl=debug"}, 2, "did you mean --log-level?"},
		"a flag without its value":   {[]string{"mcp", "--log-level"}, 2, "needs an argument"},
		"a flag that says yes":       {[]string{"mcp", "--yes"}, 2, "--yes: there is no setting that approves domains"},
		"a short flag that says yes": {[]string{"mcp", "-y"}, 2, "-y: there is no setting that approves domains"},
		"a wrong value":              {[]string{"mcp", "--log-level=loud"}, 2, "--log-level: log.level must be debug"},
		"a wrong duration":           {[]string{"mcp", "--prompt-timeout=5"}, 2, `--prompt-timeout: prompt.timeout must be a duration such as "90s"`},
		"a wrong truth":              {[]string{"mcp", "--browser-headless=5"}, 2, "--browser-headless: browser.headless must be true or false"},
		"a file that is not there":   {[]string{"mcp", "--config=/nowhere.json"}, 1, "/nowhere.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), test.args, strings.NewReader(""), &stdout, &stderr)
			assert.Equal(t, test.code, code)
			assert.Contains(t, stderr.String(), test.says)
			assert.Regexp(t, "^sallyport: ", stderr.String())
			assert.Empty(t, stdout.String(), "standard output is the protocol's")
		})
	}
}

func TestVersionIsPrintedAsACommandAndAsAFlag(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"version", "--version"} {
		var stdout, stderr bytes.Buffer
		assert.Zero(t, run(t.Context(), []string{arg}, strings.NewReader(""), &stdout, &stderr))
		assert.Equal(t, "sallyport "+version+"\n", stdout.String(), arg)
		assert.Empty(t, stderr.String())
	}
}
