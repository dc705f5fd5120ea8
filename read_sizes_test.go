package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
	"sallyport/fixtures"
)

const sizesFile = "docs/reading-sizes.md"

const sizesTop = `# How much the reading tools return

Characters of the answer's text for each of ten pages of the fixture web, beside the characters of the page's HTML: by default, so at most 20,000.
In brackets: what there is in all. The picture is one of the window, in pixels. Made by ` + "`go test -run TestReadingToolsAreBrief . -args -update`" + `; the test fails
when the figures are others.

| page | HTML | browser_page_text | browser_snapshot | browser_screenshot |
|---|---|---|---|---|
`

// TestReadingToolsAreBrief counts what each tool returns.
func TestReadingToolsAreBrief(t *testing.T) {
	t.Parallel()
	g := newGates(t, nil, "good.test", "news.test")
	var table strings.Builder
	table.WriteString(sizesTop)
	all := *update || os.Getenv("SALLYPORT_TEST_LONG") != ""
	for _, name := range fixtures.LibraryPages() {
		if name == "big" && !all {
			continue // it takes as long as all the others
		}
		table.WriteString(g.sizes(t, name))
	}
	if *update {
		require.NoError(t, os.WriteFile(sizesFile, []byte(table.String()), 0o644))
		return
	}
	written, err := os.ReadFile(sizesFile)
	require.NoError(t, err)
	if all {
		assert.Equal(t, string(written), table.String())
	} else {
		assert.True(t, strings.HasPrefix(string(written), table.String()), "%s\nis not as\n%s", written, table.String())
	}
}

// sizes is one page's line of the table.
func (g *gates) sizes(t *testing.T, name string) string {
	t.Helper()
	g.open(t, g.web.URL("good.test", "/-/read/"+name))
	loaded, err := g.browser.WaitFor(t.Context(), g.read(), chrome.Awaited{State: "load"}, 30*time.Second)
	require.NoError(t, err)
	require.True(t, loaded.Found)
	text, err := g.browser.ReadText(t.Context(), g.read(), 0, 20_000)
	require.NoError(t, err)
	snapshot, err := g.browser.ReadSnapshot(t.Context(), g.read(), 20_000)
	require.NoError(t, err)
	shot, _ := g.picture(t, chrome.PictureRequest{})
	sent, err := fixtures.LibraryPage(name, 1)
	require.NoError(t, err)
	html, read, outline := utf8.RuneCount(sent), utf8.RuneCountInString(text.Text), utf8.RuneCountInString(snapshot.Text)
	assert.Less(t, read, html, name)
	assert.LessOrEqual(t, outline, 20_000)
	whole, cut := "", ""
	if text.Next > 0 {
		whole = fmt.Sprintf(" (%d)", text.Total)
	}
	if snapshot.Truncated {
		cut = " (truncated)"
	}
	return fmt.Sprintf("| %s | %d | %d%s | %d%s | %d by %d |\n", name, html, read, whole, outline, cut, shot.Width, shot.Height)
}

// TestALargePageCostsLittle reads a page of 5 MB: the process that reads must
// neither compute for long nor grow.
func TestALargePageCostsLittle(t *testing.T) {
	g := newGates(t, nil, "good.test")
	g.open(t, g.web.URL("good.test", "/-/read/big"))
	for name, read := range g.readings() {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		computed := cpuTime(t)
		require.NoError(t, read(t.Context()), name)
		computed = cpuTime(t) - computed
		runtime.ReadMemStats(&after)
		t.Logf("%s: %v of CPU, %d KB more of the system's memory", name, computed, (after.Sys-before.Sys)>>10)
		assert.Less(t, computed, slowdown*2*time.Second, name)
		assert.Less(t, after.Sys-before.Sys, uint64(64<<20), name)
	}
}

// cpuTime is what this process has computed until now.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
