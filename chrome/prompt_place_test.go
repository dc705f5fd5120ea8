package chrome

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheWindowLiesWhollyOnTheScreen(t *testing.T) {
	t.Parallel()
	for screen, want := range map[[4]int64][4]int64{
		{0, 0, 1920, 1080}:    {700, 116, 520, 730},
		{0, 0, 1366, 700}:     {423, 0, 520, 700},   // a laptop with a panel
		{0, 0, 640, 450}:      {60, 0, 520, 450},    // 1280 by 900 at scale 2
		{0, 0, 400, 300}:      {0, 0, 400, 300},     // smaller than the window
		{1920, 30, 1280, 800}: {2300, 53, 520, 730}, // a second screen
	} {
		got := placed(screen)
		assert.Equal(t, browser.Bounds{Left: &want[0], Top: &want[1], Width: want[2], Height: want[3]}, got, "%v", screen)
	}
}

// TestTheWindowComesBackAboveWhatOpens has a tab of the session's open over it.
func TestTheWindowComesBackAboveWhatOpens(t *testing.T) {
	d := newDesk(t)
	s := d.ask(Question{Client: "Buried", Added: patterns(t, "good.test")})
	s.ready()
	_, err := d.in.openTab(t.Context(), d.in.ledger.BeginSession("Buried", nil))
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		stack, err := d.person.Stack(t.Context())
		if assert.NoError(c, err) && assert.Len(c, stack, 3, "the browser's own, the tab's and the question's") {
			assert.Equal(c, s.screen.ID, stack[2].ID)
		}
	}, 10*time.Second, 50*time.Millisecond)
	s.ready()
	s.click("allow")
	s.expect(Allowed)
}
