package chrome

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"sallyport/fixtures"
)

func TestADisplayThatNobodyServesDoesNotAnswer(t *testing.T) {
	t.Setenv("WAYLAND_DISPLAY", "")
	for _, name := range []string{"", ":7777", ":7777.0", "unix:7777"} {
		t.Setenv("DISPLAY", name)
		assert.False(t, DisplayAnswers(), "%q", name)
	}
	t.Setenv("DISPLAY", "elsewhere:0")
	assert.True(t, DisplayAnswers())
	t.Setenv("DISPLAY", fixtures.NeedDisplay(t).Name)
	assert.True(t, DisplayAnswers())
}
