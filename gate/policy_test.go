package gate_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/gate"
)

func TestAURLIsReadAsChromiumReadsIt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ host, url string }{
		"HTTPS://GOOD.TEST/":                  {"good.test", "https://good.test/"},
		"https://good.test./":                 {"good.test", "https://good.test./"},
		"https://good.test:0443/":             {"good.test", "https://good.test/"},
		`https://evil.test\@good.test/`:       {"evil.test", "https://evil.test/@good.test/"},
		`https:\\evil.test\x`:                 {"evil.test", "https://evil.test/x"},
		"https:/evil.test/":                   {"evil.test", "https://evil.test/"},
		"https:evil.test":                     {"evil.test", "https://evil.test/"},
		"https:///evil.test/":                 {"evil.test", "https://evil.test/"},
		"https://ev\til.test/":                {"evil.test", "https://evil.test/"},
		"https://good.test\n.evil.test/":      {"good.test.evil.test", "https://good.test.evil.test/"},
		"https://good.test:pw@evil.test/":     {"evil.test", "https://evil.test/"},
		"https://good.test%3A@evil.test/":     {"evil.test", "https://evil.test/"},
		"https://good.test;@evil.test/":       {"evil.test", "https://evil.test/"},
		"https://go%6fd.test/":                {"good.test", "https://good.test/"},
		"https://good.test%2eevil.test/":      {"good.test.evil.test", "https://good.test.evil.test/"},
		"https://ｇｏｏｄ.test/":                  {"good.test", "https://good.test/"},
		"https://good。test/":                  {"good.test", "https://good.test/"},
		"https://bücher.test/":                {"xn--bcher-kva.test", "https://xn--bcher-kva.test/"},
		"https://good_x.test/":                {"good_x.test", "https://good_x.test/"},
		"http://intranet/":                    {"intranet", "http://intranet/"},
		"https://good.test/|^?|^#|^":          {"good.test", "https://good.test/%7C%5E?|^#|^"},
		"http://0177.0.0.1/":                  {"127.0.0.1", "http://127.0.0.1/"},
		"http://0x7f.1/":                      {"127.0.0.1", "http://127.0.0.1/"},
		"http://2130706433/":                  {"127.0.0.1", "http://127.0.0.1/"},
		"http://127.1/":                       {"127.0.0.1", "http://127.0.0.1/"},
		"http://127.0.0.1./":                  {"127.0.0.1", "http://127.0.0.1/"},
		"http://127.0.0.0x1/":                 {"127.0.0.1", "http://127.0.0.1/"},
		"http://0/":                           {"0.0.0.0", "http://0.0.0.0/"},
		"http://2852039166/":                  {"169.254.169.254", "http://169.254.169.254/"},
		"http://①②⑦.0.0.1/":                   {"127.0.0.1", "http://127.0.0.1/"},
		"http://[::ffff:127.0.0.1]/":          {"127.0.0.1", "http://[::ffff:7f00:1]/"},
		"http://[::ffff:7f00:1]/":             {"127.0.0.1", "http://[::ffff:7f00:1]/"},
		"http://[2001:DB8:0::1]/":             {"2001:db8::1", "http://[2001:db8::1]/"},
		"http://localhost./":                  {"localhost", "http://localhost./"},
		"https://good.test/a/../b?q=%zz#frag": {"good.test", "https://good.test/b?q=%zz#frag"},
	}
	for raw, want := range tests {
		t.Run(raw, func(t *testing.T) {
			t.Parallel()
			got, err := gate.Parse(raw)
			require.NoError(t, err)
			assert.Equal(t, gate.Host(want.host), got.Host())
			assert.Equal(t, want.url, got.URL())
		})
	}
}

func TestWhatChromiumWouldNotOpenIsNoTarget(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"", "good.test", "good.test:443", "localhost:80", "https://", "https://:443/", "https://good.test:99999/", "https://256.1.1.1/",
		"https://1.2.3.4.5/", "https://08.0.0.1/", "https://[::1%25eth0]/", "https://a b.test/", "https://%20good.test/", "https://xn--a/",
		"https://good.test../", "https://.good.test/", "data:text/html,x", "javascript:alert(1)", "blob:https://good.test/u", "file://good.test/etc/passwd",
		"chrome://settings/", "chrome-extension://abc/", "view-source:https://good.test/", "ftp://good.test/", "about:blank",
		"https://" + strings.Repeat("a", 64) + ".test/", "https://" + strings.Repeat("a.", 130) + "test/", "https://exa!mple.test/",
	} {
		_, err := gate.Parse(raw)
		var malformed *gate.MalformedError
		assert.ErrorAs(t, err, &malformed, raw)
	}
}

func TestAnAgentMustWriteURLsCarefully(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`https://good.test\@evil.test/`:                  "backslash",
		"https:/good.test/":                              "//",
		"https:good.test":                                "//",
		"https:///good.test/":                            "no host",
		"https://u:p@good.test/":                         "user name",
		"https://u@good.test/":                           "user name",
		" https://good.test/":                            "space",
		"https://good.test/ ":                            "space",
		"https://go\tod.test/":                           "control character",
		"https://good.test/\x00":                         "control character",
		"good.test":                                      "no scheme",
		"//good.test/":                                   "no scheme",
		"JaVaScRiPt:alert(1)":                            "scheme",
		"view-source:https://good.test":                  "scheme",
		"https://?x":                                     "no host",
		"https://good.test/" + strings.Repeat("a", 9000): "8 KiB",
	}
	for raw, says := range tests {
		_, err := gate.ParseAgent(raw)
		var malformed *gate.MalformedError
		if assert.ErrorAs(t, err, &malformed, raw) {
			assert.Contains(t, malformed.Reason, says, raw)
		}
	}
	got, err := gate.ParseAgent("HTTPS://Good.Test:8443/a@b?c=d#e")
	require.NoError(t, err)
	assert.Equal(t, "https://good.test:8443/a@b?c=d#e", got.URL())
	assert.Equal(t, "https://good.test:8443/a@b?c=d", got.Request())
	assert.Equal(t, uint16(8443), got.Port())
	for raw, want := range map[string]string{
		"https://good.test.":                       "https://good.test/",
		"https://good.test.:8443/?x#y":             "https://good.test:8443/?x#y",
		"https://good.test/?to=https://good.test.": "https://good.test/?to=https://good.test.",
	} {
		got, err := gate.ParseAgent(raw)
		require.NoError(t, err)
		assert.Equal(t, want, got.URL(), "only the root's dot after the host goes")
	}
}

func TestPatternsAreNormalised(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"Good.TEST.": "good.test", "*.Good.test": "*.good.test", "bücher.test": "xn--bcher-kva.test", "192.0.2.1": "192.0.2.1",
		"[2001:db8::1]": "[2001:db8::1]", "2001:DB8::1": "[2001:db8::1]", "intranet": "intranet", "x.corp": "x.corp", "under_score.test": "under_score.test",
		"0x7f.1": "127.0.0.1", "[::ffff:127.0.0.1]": "127.0.0.1", "*.localhost": "*.localhost", "*.github.io": "*.github.io", "ｇｏｏｄ.test": "good.test",
	} {
		p, err := gate.ParsePattern(entry)
		if assert.NoError(t, err, entry) {
			assert.Equal(t, want, p.String(), entry)
		}
	}
}

func TestWrongPatternsAreRejectedWithTheFormTheyShouldHave(t *testing.T) {
	t.Parallel()
	for entry, says := range map[string]string{
		"": "is empty", "*": "everything", "*.": "everything", "*.*.example.com": `"*.example.com"`, "a.*.example.com": "*", "*example.com": "*",
		"https://good.test/x": `"good.test"`, "good.test:443": `"good.test"`, "good.test/x": `"good.test"`, "u@good.test": `"good.test"`, "go od.test": "space",
		" good.test": "space", "*.192.0.2.1": "IP address", "*.com": "every site under com", "*.co.uk": "every site under co.uk", "*.test": "every site under test",
		"good..test": "valid", ".good.test": "valid", "[::1%25eth0]": "percent", "good%2etest": "percent", strings.Repeat("a", 64) + ".test": "valid",
		"https://good.test@evil.test/": `"evil.test"`, "[::1]:443": "port", "[:1]": "port", "*.[:1]": "port",
	} {
		_, err := gate.ParsePattern(entry)
		var wrong *gate.PatternError
		if assert.ErrorAs(t, err, &wrong, entry) {
			assert.Contains(t, err.Error(), says, entry)
		}
	}
}

func TestAWildcardCoversWhatIsUnderItAndAHostItselfOnly(t *testing.T) {
	t.Parallel()
	list, err := gate.ParseAllowlist([]string{"*.news.test", "good.test", "127.0.0.1"})
	require.NoError(t, err)
	for host, want := range map[string]bool{
		"a.news.test": true, "a.b.news.test": true, "news.test": false, "xnews.test": false, "good.test": true, "www.good.test": false,
		"good.test.evil.test": false, "127.0.0.1": true, "localhost": false, "1.127.0.0.1": false,
	} {
		_, covered := list.Covers(gate.Host(host))
		assert.Equal(t, want, covered, host)
	}
}

func TestListsAreSetsInTheOrderAsked(t *testing.T) {
	t.Parallel()
	list := func(entries ...string) gate.Allowlist {
		a, err := gate.ParseAllowlist(entries)
		require.NoError(t, err)
		return a
	}
	a := list("b.test", "A.test", "b.test.", "*.c.test")
	assert.Equal(t, []string{"b.test", "a.test", "*.c.test"}, a.Strings())
	assert.True(t, a.Equal(list("*.c.test", "a.test", "b.test")))
	assert.False(t, a.Equal(list("a.test", "b.test")))
	assert.False(t, a.Equal(list("a.test", "b.test", "c.test")))
	added, kept, removed := a.Delta(list("b.test", "new.test"))
	assert.Len(t, added, 1)
	assert.Len(t, kept, 1)
	assert.Len(t, removed, 2)
	assert.NotNil(t, gate.Allowlist{}.Strings())
	var wrong *gate.ListError
	_, err := gate.ParseAllowlist(nil)
	assert.ErrorAs(t, err, &wrong)
	_, err = gate.ParseAllowlist(make([]string, 101))
	assert.ErrorAs(t, err, &wrong)
}

func TestCoversAgreesWithLookingAtEachPattern(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	labels := []string{"a", "b", "c", "test", "example"}
	name := func() string {
		parts := make([]string, 1+r.IntN(4))
		for i := range parts {
			parts[i] = labels[r.IntN(len(labels))]
		}
		return strings.Join(parts, ".") + ".org"
	}
	for range 2000 {
		var entries []string
		for range 1 + r.IntN(6) {
			entries = append(entries, []string{"", "*."}[r.IntN(2)]+name())
		}
		list, err := gate.ParseAllowlist(entries)
		require.NoError(t, err)
		host := gate.Host(name())
		want := false
		for _, p := range list.Patterns() {
			want = want || p.Matches(host)
		}
		_, got := list.Covers(host)
		require.Equal(t, want, got, "%v %s", entries, host)
	}
}

func TestAddressesHaveTheClassOfWhatTheyLeadTo(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]gate.Class{
		"8.8.8.8": gate.Public, "2606:4700::1": gate.Public, "127.8.8.8": gate.Loopback, "::1": gate.Loopback, "10.0.0.5": gate.Private,
		"172.31.0.1": gate.Private, "192.168.1.1": gate.Private, "100.64.0.1": gate.Private, "198.18.0.1": gate.Private, "fd00::1": gate.Private,
		"169.254.1.1": gate.LinkLocal, "fe80::1": gate.LinkLocal, "169.254.169.254": gate.Metadata, "fd00:ec2::254": gate.Metadata,
		"0.0.0.0": gate.Reserved, "255.255.255.255": gate.Reserved, "224.0.0.1": gate.Reserved, "::": gate.Reserved,
		"::ffff:127.0.0.1": gate.Loopback, "::ffff:10.0.0.1": gate.Private, "64:ff9b::7f00:1": gate.Loopback, "64:ff9b::a9fe:a9fe": gate.Metadata,
		"64:ff9b:1::a00:1": gate.Private, "2002:7f00:1::": gate.Loopback, "2002:808:808::": gate.Public, "::127.0.0.1": gate.Loopback,
		"2001:0:0:0:0:0:80ff:fffe": gate.Loopback, // Teredo, 127.0.0.1 inverted
	} {
		assert.Equal(t, want, gate.Classify(netip.MustParseAddr(addr), nil), addr)
	}
	public := []netip.Prefix{netip.MustParsePrefix("198.18.0.0/15")}
	assert.Equal(t, gate.Public, gate.Classify(netip.MustParseAddr("198.18.0.1"), public))
	assert.Equal(t, gate.Metadata, gate.Classify(netip.MustParseAddr("169.254.169.254"), []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}), "never public")
}

func TestDecideAsksInItsOrder(t *testing.T) {
	list, err := gate.ParseAllowlist([]string{"good.test", "localhost"})
	require.NoError(t, err)
	at := func(raw string) gate.Target {
		target, err := gate.Parse(raw)
		require.NoError(t, err)
		return target
	}
	tests := map[string]struct {
		q    gate.Query
		want gate.Rule
		ok   bool
	}{
		"a person's tab":              {gate.Query{Target: at("https://evil.test"), Initiator: gate.Page, List: list}, gate.RuleUngated, true},
		"a person in an agent's tab":  {gate.Query{Target: at("https://evil.test"), Initiator: gate.User, Gated: true, List: list}, gate.RulePerson, true},
		"an agent, covered":           {gate.Query{Target: at("https://good.test"), Initiator: gate.Agent, Gated: true, List: list}, gate.RulePattern, true},
		"an agent, not covered":       {gate.Query{Target: at("https://evil.test"), Initiator: gate.Agent, Gated: true, List: list}, gate.RuleNotCovered, false},
		"nobody known, not covered":   {gate.Query{Target: at("https://evil.test"), Initiator: "?", Gated: true, List: list}, gate.RuleNotCovered, false},
		"plain HTTP to the public":    {gate.Query{Target: at("http://good.test"), Initiator: gate.Agent, Gated: true, List: list}, gate.RulePlainHTTP, false},
		"plain HTTP to what is local": {gate.Query{Target: at("http://localhost"), Initiator: gate.Agent, Gated: true, List: list, Local: true}, gate.RulePattern, true},
		"no target":                   {gate.Query{Initiator: gate.Agent, Gated: true, List: list}, gate.RuleMalformed, false},
		"no list":                     {gate.Query{Target: at("https://good.test"), Initiator: gate.Agent, Gated: true}, gate.RuleNotCovered, false},
	}
	for name, test := range tests {
		d := gate.Decide(test.q)
		assert.Equal(t, test.want, d.Rule, name)
		assert.Equal(t, test.ok, d.Allowed, name)
	}
	assert.False(t, gate.Decision{}.Allowed, "the zero decision refuses")
	q := gate.Query{Target: at("https://a.b.c.good.test"), Initiator: gate.Page, Gated: true, List: list}
	assert.Zero(t, testing.AllocsPerRun(100, func() { gate.Decide(q) }))
}

func TestHintsAndNames(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"www.example.com", "*.example.com"}, gate.Suggest("www.example.com"))
	assert.Equal(t, []string{"example.com"}, gate.Suggest("example.com"))
	assert.Equal(t, []string{"[::1]"}, gate.Suggest("::1"))
	assert.Equal(t, "example.co.uk", gate.Host("www.example.co.uk").RegistrableDomain())
	assert.Equal(t, "127.0.0.1", gate.Host("127.0.0.1").RegistrableDomain())
	assert.Equal(t, "intranet", gate.Host("intranet").RegistrableDomain())
	assert.Equal(t, "bücher.test", gate.Host("xn--bcher-kva.test").Unicode())
	mixed := func(entry string) bool {
		p, err := gate.ParsePattern(entry)
		require.NoError(t, err)
		return p.MixedScripts()
	}
	assert.True(t, mixed("xn--pple-43d.com"), "a Cyrillic a before pple")
	assert.False(t, mixed("example.com"))
	assert.False(t, mixed("xn--bcher-kva.test"))
	shared := func(entry string) bool {
		p, err := gate.ParsePattern(entry)
		require.NoError(t, err)
		_, s := p.SharedSuffix()
		return s
	}
	assert.True(t, shared("*.github.io"))
	assert.False(t, shared("*.example.com"))
	assert.False(t, shared("me.github.io"))
}

// Each of these the parser alone reads as another host or port than Chromium, or
// Chromium refuses it.
func TestWhatChromiumReadsOtherwiseIsRefused(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"https://good.test:0/", "https://good.test:000/", // not 443
		"http://-1/", "http://+1/", "http://1.2.3.-4/", "http://1.2.3.-4./", "http://0x-7f.1/", "http://1.0x+7f/", "http://0-7/", "http://%2d1/", "http://－1/", "http://\u00ad-1/", // names
		"http://[[::1]]/", "http://[[::1]/", "http://[::1]]/", // no hosts
		"https://ẞ.test/", "https://%e1%ba%9e.test/", // not ss
		"https://good.test.xn--/", "https://good.test.%58n--/", // no hosts
		"https://a≠b.test/", "https://xn--1ch/", // what it writes, it does not take
	} {
		got, err := gate.Parse(raw)
		assert.Error(t, err, "%q is %q", raw, got.URL())
	}
	for raw, want := range map[string]string{
		"https://10-0-0-1/": "10-0-0-1", "https://-1.good.test/": "-1.good.test", "https://my-host.cafe./": "my-host.cafe", "https://0-7.test/": "0-7.test", "https://faß.test/": "xn--fa-hia.test",
		"https://bücher.test。/": "xn--bcher-kva.test",
	} {
		got, err := gate.Parse(raw)
		if assert.NoError(t, err, raw) {
			assert.Equal(t, gate.Host(want), got.Host(), raw)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"https://good.test/", "http://[::1]:80/x?y#z", "https://u:p@h/", "http://0x7f.1", "http://A.", "http://a?://a."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := gate.Parse(raw)
		if err != nil {
			return
		}
		again, err := gate.Parse(got.URL())
		if err != nil || again != got || got.Host() == "" {
			t.Fatalf("%q is %q, which reads as %q, %v", raw, got.URL(), again.URL(), err)
		}
		careful, err := gate.ParseAgent(raw)
		if err != nil {
			return
		}
		undotted := strings.Replace(got.URL(), "://"+string(got.Host())+".", "://"+string(got.Host()), 1)
		if careful != got && (careful.Host() != got.Host() || !rootDot(got) || careful.URL() != undotted) {
			t.Fatalf("%q is %q, and for an agent %q", raw, got.URL(), careful.URL())
		}
	})
}

// rootDot reports whether a name ends in the root's dot in the URL of t.
func rootDot(t gate.Target) bool {
	return strings.HasPrefix(t.URL(), t.Scheme()+"://"+string(t.Host())+".")
}

func FuzzParsePattern(f *testing.F) {
	for _, seed := range []string{"good.test", "*.good.test", "[::1]", "bücher.test", "[:1]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		p, err := gate.ParsePattern(entry)
		if err != nil {
			return
		}
		again, err := gate.ParsePattern(p.String())
		if err != nil || again != p {
			t.Fatalf("%q is %q, which reads as %v, %v", entry, p, again, err)
		}
		if p.Wildcard() == p.Matches(p.Host()) {
			t.Fatalf("%q and its own name", p)
		}
		if below := gate.Host("x." + string(p.Host())); !p.Wildcard() && p.Matches(below) {
			t.Fatalf("%q covers %q", p, below)
		}
	})
}

func FuzzRedact(f *testing.F) {
	f.Add("a", "b", "c")
	f.Fuzz(func(t *testing.T, user, query, fragment string) {
		const secret = "s3cr3tw0rd"
		shown := gate.Redact(fmt.Sprintf("https://%s%s@good.test/?%s%s#%s%s", user, secret, query, secret, fragment, secret))
		if strings.Contains(shown, secret) && !strings.ContainsAny(user, "/?#\\") {
			t.Fatalf("%q tells", shown)
		}
	})
}
