package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/gate"
)

const (
	differencesFile = "docs/url-differences.md"
	generatedURLs   = 40_000
	sampledURLs     = 4_000 // in an ordinary run
)

// chromiumsURL is what new URL() makes of a text; nil where it throws.
type chromiumsURL struct{ Protocol, Hostname, Port, Href string }

const readURLs = `JSON.stringify(%s.map(text => {
	try {
		const u = new URL(text);
		u.username = u.password = '';
		return {protocol: u.protocol, hostname: u.hostname, port: u.port, href: u.href};
	} catch { return null; }
}))`

// readByChromium has a real Chromium read URLs. It loads nothing.
func readByChromium(t *testing.T, texts []string) []*chromiumsURL {
	t.Helper()
	needChromium(t)
	path, err := chrome.FindProgram("")
	require.NoError(t, err)
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("headless", true), chromedp.Flag("no-first-run", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("proxy-server", "127.0.0.1:9")) // nobody is there
	defer cancel()
	quiet := func(string, ...any) {}
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithLogf(quiet), chromedp.WithErrorf(quiet))
	defer func() { cancel(); chromedp.FromContext(ctx).Allocator.Wait() }()
	failed := time.AfterFunc(time.Minute, cancel)
	defer failed.Stop()
	read := make([]*chromiumsURL, 0, len(texts))
	for batch := range slices.Chunk(texts, 2000) {
		read = append(read, readBatch(t, ctx, batch)...)
	}
	return read
}

func readBatch(t *testing.T, ctx context.Context, texts []string) []*chromiumsURL {
	t.Helper()
	list, err := json.Marshal(texts)
	require.NoError(t, err)
	said, err := chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf(readURLs, list)))
	require.NoError(t, err)
	var read []*chromiumsURL
	require.NoError(t, json.Unmarshal([]byte(said), &read))
	require.Len(t, read, len(texts))
	return read
}

// place is what the gates decide on, of Chromium's reading: scheme, host, port.
func (u *chromiumsURL) place() string {
	host := strings.TrimSuffix(u.Hostname, ".")
	if inner, six := strings.CutPrefix(host, "["); six {
		if addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]")); err == nil {
			host = addr.Unmap().String()
		}
	}
	port := u.Port
	if port == "" {
		port = map[string]string{"http:": "80", "https:": "443"}[u.Protocol]
	}
	return u.Protocol + "|" + host + "|" + port
}

func placeOf(t gate.Target) string {
	return t.Scheme() + ":|" + string(t.Host()) + "|" + strconv.Itoa(int(t.Port()))
}

// differences are the classes of what the gate refuses and Chromium takes.
type differences map[string]*difference

type difference struct {
	count        int
	text, theirs string
	more         []string // more examples for the log
}

func (d differences) add(class, text, theirs string) {
	if d[class] == nil {
		d[class] = &difference{text: text, theirs: theirs}
	} else if len(d[class].more) < 5 {
		d[class].more = append(d[class].more, text)
	}
	d[class].count++
}

// refusedClass says what is about a URL that Chromium takes and the gate does not.
func refusedClass(u *chromiumsURL) string {
	host := strings.TrimSuffix(u.Hostname, ".")
	labels := strings.Split(host, ".")
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	}
	switch {
	case u.Protocol != "http:" && u.Protocol != "https:":
		return "the scheme is not http or https"
	case strings.HasPrefix(host, "["):
		return "the IPv6 address is in a form that only Chromium takes"
	case u.Port == "0":
		return "the port is 0"
	case slices.Contains(labels, ""):
		return "the name has an empty label"
	case slices.ContainsFunc(labels, func(label string) bool { return len(label) > 63 }):
		return "a label is longer than 63 characters"
	case len(host) > 253:
		return "the name is longer than 253 characters"
	case strings.Contains(host, "%"):
		return "the name holds a character that Chromium escapes"
	case strings.ContainsFunc(host, odd):
		return "the name holds a character that no host name has"
	case strings.Contains(host, "xn--"):
		return "the name is international, and the gate's tables don't take it"
	}
	if strings.ContainsAny(host, "-") {
		return "the name could pass for an IPv4 address with signs"
	}
	return "other"
}

// compare holds gate.Parse to what Chromium read: the same place, or a refusal.
func (d differences) compare(t *testing.T, text string, theirs *chromiumsURL) {
	ours, err := gate.Parse(text)
	switch {
	case err != nil && theirs == nil:
	case err != nil:
		d.add(refusedClass(theirs), text, theirs.Href)
	case theirs == nil:
		assert.Fail(t, "Chromium refuses what the gate takes", "%q as %q", text, ours.URL())
	case placeOf(ours) != theirs.place():
		assert.Fail(t, "the gate reads another place", "%q as %q, and Chromium as %q", text, ours.URL(), theirs.Href)
	case ours.URL() != theirs.Href: // then Chromium's request would not be known for this one
		assert.Equal(t, theirs.Href, ours.URL(), "%q", text)
	}
	careful, err := gate.ParseAgent(text)
	if err != nil {
		return
	}
	if assert.NotNil(t, theirs, "Chromium refuses what an agent may ask for: %q", text) {
		assert.Equal(t, theirs.place(), placeOf(careful), "for an agent: %q", text)
	}
}

// urlsToCompare are the platform's and as many made ones, none of them twice.
func urlsToCompare(t *testing.T, made int) []string {
	all := platformURLs(t)
	seen := map[string]bool{}
	for _, text := range all {
		seen[text] = true
	}
	for g := newURLGenerator(); made > 0; {
		if text := g.next(); !seen[text] {
			seen[text] = true
			all = append(all, text)
			made--
		}
	}
	return all
}

// TestNoURLIsReadOtherwiseThanByChromium is of a sample in an ordinary run, and of
// all with SALLYPORT_TEST_LONG=1. The gate may refuse more than Chromium does.
func TestNoURLIsReadOtherwiseThanByChromium(t *testing.T) {
	t.Parallel()
	long := os.Getenv("SALLYPORT_TEST_LONG") != ""
	made := sampledURLs
	if long {
		made = generatedURLs
	}
	texts := urlsToCompare(t, made)
	var canonical []string // what the gates hand to Chromium, and on
	for _, text := range texts {
		for _, parse := range []func(string) (gate.Target, error){gate.Parse, gate.ParseAgent} {
			if target, err := parse(text); err == nil {
				canonical = append(canonical, target.URL(), target.Sendable().URL())
			}
		}
	}
	require.Greater(t, len(canonical), made/2, "enough are valid")
	slices.Sort(canonical)
	canonical = slices.Compact(canonical)
	read := readByChromium(t, append(slices.Clone(texts), canonical...))
	seen, taken := differences{}, 0
	for i, text := range texts {
		seen.compare(t, text, read[i])
		if read[i] != nil {
			taken++
		}
	}
	for i, text := range canonical {
		theirs := read[len(texts)+i]
		if ours, err := gate.Parse(text); assert.NoError(t, err, text) && assert.NotNil(t, theirs, text) {
			assert.Equal(t, placeOf(ours), theirs.place(), "what the gate wrote: %q", text)
		}
	}
	t.Logf("%d URLs, of which Chromium takes %d; %d that the gate wrote", len(texts), taken, len(canonical))
	for class, d := range seen {
		t.Logf("%d: %s: %q, %q", d.count, class, d.text, d.more)
	}
	if long && !t.Failed() {
		seen.checkFile(t, len(texts))
	}
}

const differencesTop = `# URLs that the gate and Chromium read differently

Made by ` + "`make url-differences`" + `, which hands %d URLs (those of the web platform's own tests, and made ones that are the same at each run) to ` + "`gate.Parse`" + `
and to ` + "`new URL()`" + ` in a real Chromium; don't edit it. Wherever the gate takes a URL, the whole of it is the same: the test fails otherwise.
Below is what the gate refuses and Chromium takes.

| why the gate refuses | how many | example | as Chromium writes it |
|---|---|---|---|
`

// checkFile compares the table in the docs with what was seen, or rewrites it.
func (d differences) checkFile(t *testing.T, compared int) {
	t.Helper()
	var table strings.Builder
	fmt.Fprintf(&table, differencesTop, compared)
	classes := make([]string, 0, len(d))
	for class := range d {
		classes = append(classes, class)
	}
	slices.Sort(classes)
	for _, class := range classes {
		fmt.Fprintf(&table, "| %s | %d | %s | %s |\n", class, d[class].count, quoteCell(d[class].text), quoteCell(d[class].theirs))
	}
	if *update {
		require.NoError(t, os.WriteFile(differencesFile, []byte(table.String()), 0o644))
		return
	}
	written, err := os.ReadFile(differencesFile)
	require.NoError(t, err)
	assert.Equal(t, table.String(), string(written), "%s is not what was seen; make url-differences writes it anew", differencesFile)
}

// quoteCell shows a URL on one line of a table, whatever it holds.
func quoteCell(text string) string {
	quoted := strconv.QuoteToASCII(text)
	if len(quoted) > 100 {
		quoted = quoted[:100] + "…"
	}
	return "`` " + strings.ReplaceAll(quoted, "|", `\|`) + " ``"
}

// TestNoCharacterOfAHostIsReadOtherwiseThanByChromium is of each character by
// itself: Chromium's tables of Unicode and the gate's are of different years.
func TestNoCharacterOfAHostIsReadOtherwiseThanByChromium(t *testing.T) {
	if os.Getenv("SALLYPORT_TEST_LONG") == "" {
		t.Skip("SALLYPORT_TEST_LONG is not set")
	}
	var texts []string
	for r := rune(0x80); r <= 0xe0fff; r++ {
		if r == 0x33500 {
			r = 0xe0000 // nothing is between
		}
		if utf8.ValidRune(r) {
			texts = append(texts, "https://"+string(r)+".test/", "https://a"+string(r)+"b.test/")
		}
	}
	seen := differences{}
	for i, theirs := range readByChromium(t, texts) {
		seen.compare(t, texts[i], theirs)
	}
	t.Logf("%d URLs", len(texts))
	for class, d := range seen {
		t.Logf("%d: %s: %q, %q", d.count, class, d.text, d.more)
	}
}
