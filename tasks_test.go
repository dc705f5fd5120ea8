package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/fixtures"
)

const transcriptsFile = "docs/transcripts.md"

const transcriptsTop = `# Three tasks, as they go over the line

What an agent calls and what it is answered, in three tasks on the fixture web. Long texts are cut. Made by
` + "`go test -run TestAgentsDoTheirTasks . -args -update`" + `; the test fails when the answers are others.
`

// transcript keeps what goes back and forth in a task.
type transcript struct {
	*product
	t    *testing.T
	tab  string
	text strings.Builder
}

// what differs from run to run
var fleeting = regexp.MustCompile(`tab_[a-z2-7]{8}|"committed_at_ms":\d+`)

// do calls a tool on the task's tab.
func (s *transcript) do(tool string, arguments map[string]any) (map[string]any, error) {
	s.t.Helper()
	if s.tab != "" {
		arguments["tab_id"] = s.tab
	}
	got, err := s.tool(s.t.Context(), tool, arguments)
	asked, answered := plainJSON(arguments), plainJSON(got)
	var failed *agentError
	if errors.As(err, &failed) {
		answered = plainJSON(failed)
	}
	if cut := []rune(answered); len(cut) > 900 {
		answered = string(cut[:900]) + "…"
	}
	fmt.Fprintf(&s.text, "\n    %s %s\n    -> %s\n", tool, asked, answered)
	return got, err
}

func plainJSON(value any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // into memory
	return strings.TrimSpace(b.String())
}

func (s *transcript) must(tool string, arguments map[string]any) map[string]any {
	s.t.Helper()
	got, err := s.do(tool, arguments)
	require.NoError(s.t, err)
	return got
}

func (s *transcript) goTo(path string) {
	s.t.Helper()
	s.must("browser_navigate", map[string]any{"url": "https://good.test" + path})
}

// TestAgentsDoTheirTasks is three tasks from end to end, over the built program.
func TestAgentsDoTheirTasks(t *testing.T) {
	web := fixtures.Start(t)
	display := fixtures.NeedDisplay(t)
	s := &transcript{t: t, product: startProduct(t, web, display.Environ())}
	_, answer, err := s.start("tools/call", map[string]any{"name": "browser_set_allowed_domains", "arguments": map[string]any{"domains": []string{"good.test"}}})
	require.NoError(t, err)
	require.NoError(t, display.Person().Answer(t.Context(), true))
	require.Nil(t, (<-answer).Error)
	s.tab = s.firstTab(t)
	s.text.WriteString(transcriptsTop)

	s.text.WriteString("\n## Find a price in a shop\n")
	s.goTo("/-/read/shop")
	text := s.must("browser_page_text", map[string]any{"max_chars": 3000})["text"].(string)
	assert.Regexp(t, `(?s)Winch\n\nA good winch.*?69\.14 €`, text[strings.Index(text, "Winch"):])

	s.text.WriteString("\n## Read a table over three pages\n")
	ships := 0
	for page := 1; page <= 3; page++ {
		s.goTo(fmt.Sprintf("/-/read/table?page=%d", page))
		s.must("browser_wait_for", map[string]any{"text": fmt.Sprintf("page %d of 3", page)})
		ships += strings.Count(s.must("browser_page_text", map[string]any{})["text"].(string), "\tShip ")
	}
	assert.Equal(t, 210, ships)

	s.text.WriteString("\n## Follow a sign-in that leaves the list\n")
	s.goTo("/-/read/form")
	outline := s.must("browser_snapshot", map[string]any{})["snapshot"].(string)
	assert.Contains(t, outline, `textbox "Password" (not shown)`)
	_, err = s.do("browser_navigate", map[string]any{"url": web.URL("good.test", fixtures.Query("/-/status/302", "to", "https://evil.test/sign-in"))})
	var refused *agentError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, -32010, refused.Code)
	assert.Contains(t, string(refused.Data), `"blocked_url":"https://evil.test/sign-in"`)
	still := s.must("browser_page_text", map[string]any{"max_chars": 40})
	assert.Equal(t, "https://good.test/-/read/form", still["url"], "the tab stays where it was")
	assert.Zero(t, web.Connections("evil.test"))
	s.compare(t)
}

// compare holds the transcripts in the docs to what was said.
func (s *transcript) compare(t *testing.T) {
	t.Helper()
	said := fleeting.ReplaceAllStringFunc(s.text.String(), func(found string) string {
		if strings.HasPrefix(found, "tab_") {
			return "tab_…"
		}
		return `"committed_at_ms":…`
	})
	if *update {
		require.NoError(t, os.WriteFile(transcriptsFile, []byte(said), 0o644))
		return
	}
	written, err := os.ReadFile(transcriptsFile)
	require.NoError(t, err)
	assert.Equal(t, string(written), said)
}
