package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNothingApprovesDomainsBeforeAPersonDoes(t *testing.T) {
	t.Parallel()
	keys := strings.Fields(`allowed_domains domains allow allowlist whitelist browser.allowed_domains browser.domains browser.allow
		session.domains session.allowed_domains session.allowlist prompt.skip prompt.auto_approve prompt.allow prompt.yes prompt.consent
		prompt.domains auto_approve auto-approve approve approved presets.hosts skip_prompt no_prompt yes unattended trusted_domains
		gate.allow policy.hosts mcp.sites mcp.domains navigate.allowed_hosts proxy.allowed_domains proxy.bypass`)
	for _, key := range keys {
		t.Run("as "+key, func(t *testing.T) {
			t.Parallel()
			group, name, nested := strings.Cut(key, ".")
			file := `{"` + key + `":["good.test"]}`
			if nested {
				file = `{"` + group + `":{"` + name + `":["good.test"]}}`
			}
			_, err := loadWith(t, file, nil, nil)
			assert.ErrorContains(t, err, key+": there is no setting that approves domains: a person does", "in the file")
			_, err = loadWith(t, `{"`+key+`":["good.test"]}`, nil, nil)
			assert.ErrorContains(t, err, key+": there is no setting that approves domains", "in the file, with dots")
			_, err = loadWith(t, `{"prompt":`+file+`}`, nil, nil)
			assert.ErrorContains(t, err, "prompt."+key+": there is no setting that approves domains", "deeper in the file")

			name = variable(strings.ReplaceAll(key, "-", "_"))
			_, err = loadWith(t, "", []string{name + "=good.test"}, nil)
			assert.ErrorContains(t, err, name+": there is no setting that approves domains", "in a variable")

			var stdout, stderr strings.Builder
			flag := "--" + flagName(key)
			assert.Equal(t, 2, run(t.Context(), []string{"mcp", flag + "=good.test"}, strings.NewReader(""), &stdout, &stderr))
			assert.Contains(t, stderr.String(), flag+": there is no setting that approves domains", "in a flag")
			assert.Empty(t, stdout.String())
		})
	}
}

func TestNoSettingThatExistsSoundsLikeApproving(t *testing.T) {
	t.Parallel()
	keys, err := flatten(exampleJSON)
	require.NoError(t, err)
	for key := range keys {
		assert.False(t, preApproves(key), key)
	}
	_, err = loadWith(t, `{"probe":{"domain":["good.test"]}}`, nil, nil)
	assert.ErrorContains(t, err, "did you mean probe.domains?", "a misspelt setting is no attempt")
}

func TestTheFileIsReadStrictly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, says string }{
		"a key that is there twice":             {`{"log":{"level":"info","level":"debug"}}`, "log.level is there twice"},
		"a group that is there twice":           {`{"log":{"level":"info"},"log":{"format":"json"}}`, "log is there twice"},
		"an empty group that is there twice":    {`{"log":{},"log":{}}`, "log is there twice"},
		"a key with dots":                       {`{"log.level":"debug"}`, `"log.level" is no name of a setting`},
		"a key without a name":                  {`{"":1}`, `"" is no name of a setting`},
		"an unknown group":                      {`{"session":{"ttl":"1s"}}`, "session.ttl is no setting"},
		"an unknown group that is empty":        {`{"session":{}}`, "session is no setting"},
		"an unknown group under a known one":    {`{"browser":{"window":{"width":1}}}`, "browser.window must not be an object"},
		"a known key that is an empty object":   {`{"browser":{"window":{}}}`, "browser.window must be a string, not {}"},
		"a group that is a list":                {`{"browser":[]}`, "browser must be an object"},
		"a group that is null":                  {`{"browser":null}`, "browser must be an object"},
		"a key that is null":                    {`{"browser":{"path":null}}`, "browser.path must be a string, not null"},
		"a list of objects":                     {`{"browser":{"args":[{}]}}`, "browser.args must be a list of strings"},
		"a list at the top":                     {`[]`, "must hold one JSON object"},
		"nothing":                               {` `, "not valid JSON"},
		"a comma too many, in the second line":  {"{\n\"log\":{},\n}", "line 3 is not valid JSON"},
		"a comment":                             {"{ // why\n}", "line 1 is not valid JSON"},
		"a key with a control character":        {`{"log\u001b[31m":1}`, `"log\x1b[31m" is no setting`},
		"a key in capitals":                     {`{"log":{"LEVEL":"debug"}}`, "did you mean log.level?"},
		"an endless nest":                       {strings.Repeat(`{"a":`, 50) + "1" + strings.Repeat("}", 50), "nested too deeply"},
		"a number too large":                    {`{"ledger":{"keep":1e999}}`, "ledger.keep"},
		"a number that is text":                 {`{"ledger":{"keep":"5"}}`, "ledger.keep must be a whole number"},
		"a size that overflows":                 {`{"ledger":{"max_size":"99999999999GB"}}`, "ledger.max_size must be"},
		"a size that is no size":                {`{"ledger":{"max_size":"64 megs"}}`, "ledger.max_size must be"},
		"an upstream without a host":            {`{"proxy":{"upstream":"http://:3128"}}`, "proxy.upstream"},
		"an upstream with a path":               {`{"proxy":{"upstream":"http://p.test/pac"}}`, "proxy.upstream"},
		"a port out of range":                   {`{"probe":{"listen":"127.0.0.1:99999"}}`, "probe.listen"},
		"a metrics address without a port":      {`{"metrics":{"listen":"127.0.0.1"}}`, "metrics.listen"},
		"a socket at no fixed place":            {`{"host":{"socket":"here.sock"}}`, "host.socket must be an absolute path"},
		"an argument that is two":               {`{"browser":{"args":["--lang de"]}}`, "browser.args"},
		"an argument in capitals":               {`{"browser":{"args":["--LANG=de"]}}`, "browser.args"},
		"a negative window":                     {`{"browser":{"window":"-1280x900"}}`, "browser.window"},
		"a pattern that covers all, for probes": {`{"probe":{"domains":["*.com"]}}`, "probe.domains"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := loadWith(t, test.file, nil, nil)
			assert.ErrorContains(t, err, test.says)
		})
	}
}

func TestAnErrorOfTheUpstreamDoesNotRepeatItsPassword(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"http://u:secret@", "socks5://u:secret@p.test:1", "http://u:secret@p.test:x"} {
		_, err := loadWith(t, "", []string{"SALLYPORT_PROXY_UPSTREAM=" + given}, nil)
		require.Error(t, err, given)
		assert.NotContains(t, err.Error(), "secret")
	}
}

func TestAMisspeltVariableIsNamedWithTheRightOne(t *testing.T) {
	t.Parallel()
	_, err := loadWith(t, "", []string{"SALLYPORT_PROMPT_TIMEOT=1m"}, nil)
	assert.ErrorContains(t, err, "SALLYPORT_PROMPT_TIMEOT is no setting; did you mean SALLYPORT_PROMPT_TIMEOUT?")
	_, err = loadWith(t, "", []string{"SALLYPORT_WINDOWING=1"}, nil)
	assert.ErrorContains(t, err, "SALLYPORT_WINDOWING is no setting")
	_, err = loadWith(t, "", []string{"SALLYPORT_CONFIG=x.json"}, nil)
	assert.ErrorContains(t, err, "use --config FILE")
}

func TestSizesAreBytesOrHaveAUnit(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]int64{`"64MB"`: 64 << 20, `"1KB"`: 1 << 10, `"2GB"`: 2 << 30, `"123"`: 123, `67108864`: 64 << 20, `"9223372036854775807"`: math.MaxInt64} {
		c, err := loadWith(t, `{"ledger":{"max_size":`+given+`}}`, nil, nil)
		require.NoError(t, err, given)
		assert.Equal(t, want, c.Ledger.maxSize, given)
	}
}

func TestAListGivenInTwoFlagsAddsUp(t *testing.T) {
	t.Parallel()
	c, err := loadWith(t, `{"browser":{"args":["--hide-scrollbars"]}}`, nil, []string{"--browser-args", "--lang=de, --disable-gpu", "--browser-args=--start-maximized"})
	require.NoError(t, err)
	assert.Equal(t, []string{"--lang=de", "--disable-gpu", "--start-maximized"}, c.Browser.Args, "instead of the file's")
	c, err = loadWith(t, `{"browser":{"args":["--hide-scrollbars"]}}`, nil, []string{"--browser-args="})
	require.NoError(t, err)
	assert.Empty(t, c.Browser.Args)
}

func TestEverySafeArgumentIsAcceptedAndNoOther(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`--lang --force-device-scale-factor --window-position --disable-gpu --force-dark-mode --font-render-hinting --hide-scrollbars
		--ozone-platform --start-maximized --disable-dev-shm-usage --disable-smooth-scrolling --force-prefers-reduced-motion --use-gl`)
	assert.ElementsMatch(t, want, safeArgs)
	for _, arg := range want {
		_, err := loadWith(t, "", nil, []string{"--browser-args", arg + "=x"})
		assert.NoError(t, err, arg)
	}
}

func TestNoEverydayProfileIsTaken(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".config", "google-chrome"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(home, ".config"), filepath.Join(home, "link")))
	for name, dir := range map[string]string{
		"Chromium's own":                        home + "/.config/chromium",
		"Chrome's own":                          home + "/.config/google-chrome",
		"one profile in it":                     home + "/.config/google-chrome/Default",
		"with dots and slashes":                 home + "/.config//x/../google-chrome/",
		"through a link":                        home + "/link/google-chrome/Profile 1",
		"where XDG_CONFIG_HOME puts it":         home + "/xdg/chromium",
		"the snap's":                            home + "/snap/chromium/common/chromium",
		"the flatpak's":                         home + "/.var/app/com.google.Chrome/config/google-chrome",
		"the root directory":                    "/",
		"a directory that depends on the place": "profile",
		"the home directory's short name":       "~/profile",
		"none":                                  "",
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorContains(t, validateProfile(dir), "browser.profile")
		})
	}
	for _, dir := range []string{"ephemeral", home + "/.config/sallyport", home + "/.config/google-chrome-mine", home + "/.config/chromium2"} {
		assert.NoError(t, validateProfile(dir), dir)
	}
}

func FuzzFlatten(f *testing.F) {
	f.Add(string(exampleJSON))
	f.Add(`{"a":{"b":1},"a":2}`)
	f.Add(`{"a":{},"b":[{"c":1,"c":2}],"":{"":null}}`)
	f.Fuzz(func(t *testing.T, text string) {
		flat, err := flatten([]byte(text))
		if err != nil {
			return
		}
		var whole map[string]any
		if json.Unmarshal([]byte(text), &whole) != nil {
			t.Fatalf("%q is no JSON object, and was read as %v", text, flat)
		}
		leaves := map[string]any{}
		spread("", whole, leaves)
		assert.Equal(t, leaves, flat, "nothing is lost, renamed or made up")
		for key := range flat {
			assert.False(t, preApproves(key), key)
		}
	})
}

// spread is flatten without its strictness.
func spread(prefix string, object map[string]any, into map[string]any) {
	for name, value := range object {
		inner, nested := value.(map[string]any)
		if nested && len(inner) > 0 {
			spread(prefix+name+".", inner, into)
			continue
		}
		into[prefix+name] = value
	}
}
