package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// loadWith reads settings from a file's text, variables and flags.
func loadWith(t *testing.T, file string, variables, flags []string) (Config, error) {
	t.Helper()
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s := addSettings(set)
	if file != "" {
		path := filepath.Join(t.TempDir(), "config.json")
		require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
		flags = append(flags, "--config", path)
	}
	require.NoError(t, set.Parse(flags))
	return s.load(variables)
}

func TestTheExampleHasEveryKeyWithItsDefault(t *testing.T) {
	keys, err := flatten(exampleJSON)
	require.NoError(t, err)
	for _, key := range strings.Fields(`browser.path browser.profile browser.headless browser.window browser.args proxy.upstream proxy.extra_roots
		proxy.resolve proxy.public_ranges prompt.timeout navigate.timeout lease.ttl ledger.path ledger.redact ledger.max_size ledger.keep ledger.required
		log.level log.format host.socket probe.listen probe.domains probe.mode probe.ca_dir metrics.listen`) {
		assert.Contains(t, keys, key)
		delete(keys, key)
	}
	assert.Empty(t, keys)
	standard, err := loadWith(t, "", nil, nil)
	require.NoError(t, err)
	example, err := loadWith(t, string(exampleJSON), nil, nil)
	require.NoError(t, err)
	assert.Equal(t, standard, example)
	assert.Equal(t, 5*time.Minute, standard.Prompt.Timeout)
	assert.Equal(t, 30*time.Second, standard.Navigate.Timeout)
	assert.Equal(t, time.Minute, standard.Lease.TTL)
	assert.True(t, standard.Ledger.Redact)
}

func TestHelpAndTheReadmeSayOfEachSettingWhatItDoes(t *testing.T) {
	s := addSettings(pflag.NewFlagSet("test", pflag.ContinueOnError))
	var stdout, stderr strings.Builder
	require.Zero(t, run(t.Context(), []string{"mcp", "--help"}, strings.NewReader(""), &stdout, &stderr))
	for _, key := range s.names() {
		assert.NotEmpty(t, sentences[key], key)
		assert.Regexp(t, "--"+flagName(key)+".* "+regexp.QuoteMeta(sentences[key]), stdout.String())
	}
	assert.Len(t, sentences, len(s.keys), "and of nothing else")
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.True(t, strings.Contains(string(readme), s.table()), "README.md's table should be:\n%s", s.table())
}

func TestCommandsWithoutAConfigurationShowNoSettings(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version", "--help"}, {"config", "--help"}, {"config", "example", "--help"}} {
		var stdout, stderr strings.Builder
		assert.Zero(t, run(t.Context(), args, strings.NewReader(""), &stdout, &stderr))
		assert.Contains(t, stdout.String(), "sallyport "+args[0])
		assert.NotContains(t, stdout.String(), "--browser-path")
	}
}

func TestTheExampleOfTheConfigurationIsPrinted(t *testing.T) {
	t.Parallel()
	var stdout, stderr strings.Builder
	assert.Zero(t, run(t.Context(), []string{"config", "example"}, strings.NewReader(""), &stdout, &stderr))
	assert.Equal(t, string(exampleJSON), stdout.String())
	assert.Empty(t, stderr.String())
	for args, says := range map[string]string{"config": "a command is missing", "config exmaple": "did you mean example?", "config example x": "not expected"} {
		assert.Equal(t, 2, run(t.Context(), strings.Fields(args), strings.NewReader(""), &stdout, &stderr), args)
		assert.Contains(t, stderr.String(), says)
	}
}

func TestAWrongValueIsNamedWithWhereItCameFrom(t *testing.T) {
	t.Parallel()
	wrong := map[string]string{
		"browser.window": "big", "browser.args": "--no-sandbox", "browser.profile": "here", "browser.headless": "x", "proxy.resolve": "x", "proxy.public_ranges": "x",
		"proxy.upstream": "x", "prompt.timeout": "5", "navigate.timeout": "-1s", "lease.ttl": "x", "ledger.keep": "0", "ledger.max_size": "x",
		"ledger.required": "true", "log.level": "loud", "log.format": "x", "host.socket": "x", "probe.listen": "x", "probe.domains": "*", "probe.mode": "x", "metrics.listen": "x",
	}
	for key, value := range wrong {
		var usage usageError
		_, err := loadWith(t, "", []string{variable(key) + "=" + value}, nil)
		require.ErrorContains(t, err, variable(key)+": "+key)
		assert.False(t, errors.As(err, &usage))
		_, err = loadWith(t, "", nil, []string{"--" + flagName(key) + "=" + value})
		require.ErrorContains(t, err, "--"+flagName(key)+": "+key)
		assert.ErrorAs(t, err, &usage, "a wrong flag is a usage error, whatever is wrong with it")
	}
	_, err := loadWith(t, `{"log":{"level":"loud"}}`, nil, nil)
	assert.ErrorContains(t, err, "config.json: log.level")
	_, err = loadWith(t, `{"log":{"level":"info"}}`, []string{"SALLYPORT_LOG_LEVEL=loud"}, []string{"--log-format=json"})
	assert.ErrorContains(t, err, "SALLYPORT_LOG_LEVEL: log.level must be")
}

func TestAFileMayBeginWithTheMarkOfTheByteOrder(t *testing.T) {
	t.Parallel()
	c, err := loadWith(t, "\ufeff"+`{"log":{"level":"debug"}}`, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "debug", c.Log.Level)
}

func TestVariablesOverrideTheFileAndFlagsOverrideBoth(t *testing.T) {
	file := `{"navigate":{"timeout":"10s"},"log":{"level":"warn"},"browser":{"window":"800x600","args":["--lang=de"]}}`
	c, err := loadWith(t, file, []string{"SALLYPORT_NAVIGATE_TIMEOUT=20s", "SALLYPORT_LOG_LEVEL=error"}, []string{"--navigate-timeout", "40s", "--browser-headless"})
	require.NoError(t, err)
	assert.Equal(t, 40*time.Second, c.Navigate.Timeout)
	assert.Equal(t, "error", c.Log.Level)
	assert.Equal(t, 800, c.Browser.width)
	assert.Equal(t, []string{"--lang=de"}, c.Browser.Args)
	assert.True(t, c.Browser.Headless)
}

func TestListsAreCommaSeparatedInVariablesAndFlags(t *testing.T) {
	c, err := loadWith(t, "", []string{"SALLYPORT_PROXY_RESOLVE=a.test=127.0.0.1:1,*.b.test=[::1]:2"}, []string{"--proxy-public-ranges", "198.18.0.0/15"})
	require.NoError(t, err)
	assert.Len(t, c.Proxy.pins, 2)
	assert.Len(t, c.Proxy.ranges, 1)
}

func TestAWrongSettingIsNamed(t *testing.T) {
	for file, says := range map[string]string{
		`{"browser":{"headless":1}}`:                      "browser.headless must be true or false",
		`{"browser":{"args":"--lang"}}`:                   "browser.args must be a list",
		`{"browser":{"args":[1]}}`:                        "browser.args must be a list",
		`{"browser":"x"}`:                                 "browser must be an object",
		`{"browser":{"window":"big"}}`:                    "browser.window",
		`{"ledger":{"keep":1.5}}`:                         "ledger.keep must be a whole number",
		`{"ledger":{"max_size":"much"}}`:                  "ledger.max_size",
		`{"ledger":{"required":true}}`:                    "ledger.required",
		`{"log":{"level":"loud"}}`:                        "log.level",
		`{"log":{"format":"xml"}}`:                        "log.format",
		`{"probe":{"domains":["*"]}}`:                     "probe.domains",
		`{"probe":{"mode":"x"}}`:                          "probe.mode",
		`{"probe":{"listen":"x"}}`:                        "probe.listen",
		`{"proxy":{"upstream":"socks5://x"}}`:             "proxy.upstream",
		`{"prompt":{"timeout":"-1s"}}`:                    "prompt.timeout",
		`{"prompt":{"timeout":60}}`:                       `prompt.timeout must be a duration such as "90s", not 60`,
		`{"prompt":{"tmeout":"60s"}}`:                     "did you mean prompt.timeout?",
		`{"prompt":{"auto_approve":true}}`:                "prompt.auto_approve: there is no setting that approves domains",
		`{"domains":["a.test"]}`:                          "a person does",
		`{} {}`:                                           "line 1 is not valid JSON",
		`{"browser":{"headless":true}`:                    "not valid JSON",
		`{"browser":{"args":["--no-sandbox"]}}`:           "--no-sandbox",
		`{"browser":{"args":["--proxy-server=evil"]}}`:    "--proxy-server",
		`{"browser":{"args":["--disable-features=x"]}}`:   "--disable-features",
		`{"browser":{"args":["--load-extension=x"]}}`:     "--load-extension",
		`{"browser":{"args":["-remote-debugging-pipe"]}}`: "browser.args",
		`{"browser":{"args":["https://evil.test"]}}`:      "browser.args",
	} {
		_, err := loadWith(t, file, nil, nil)
		if assert.Error(t, err, file) {
			assert.Contains(t, err.Error(), says, file)
		}
	}
	_, err := loadWith(t, "", []string{"SALLYPORT_BROWSER_PROFIL=x"}, nil)
	assert.Error(t, err, "an unknown variable")
	home, err := os.UserConfigDir()
	require.NoError(t, err)
	_, err = loadWith(t, "", nil, []string{"--browser-profile", filepath.Join(home, "chromium", "Default")})
	assert.ErrorContains(t, err, "everyday profile")
}
