package chrome

import (
	"image/color"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// covers is a page that, once clicked, keeps a window above all others until the
// pointer comes into it: what is below gets the click that was meant for it.
const covers = `<!doctype html><title>Covers</title><body style="background:#33405c"><script>
	onclick = async () => {
		const above = await documentPictureInPicture.requestWindow({width: 1200, height: 850});
		above.onpointermove = () => { above.close(); document.title = 'Uncovered'; };
		document.title = 'Covering';
	};
</script>`

// TestAClickMeantForAWindowAboveDoesNotApprove holds against a page that takes its
// own window away from above Allow just before the person clicks.
func TestAClickMeantForAWindowAboveDoesNotApprove(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "covers.html")
	require.NoError(t, os.WriteFile(file, []byte(covers), 0o600))
	window, err := d.person.WaitWindow(ctx, "about:blank")
	require.NoError(t, err)
	require.NoError(t, d.person.Focus(ctx, window))
	require.NoError(t, d.person.Key(ctx, "ctrl+l"))
	require.NoError(t, d.person.Type(ctx, "file://"+file))
	require.NoError(t, d.person.Key(ctx, "Return"))
	_, err = d.person.WaitWindow(ctx, "Covers")
	require.NoError(t, err)
	at, err := d.person.WaitColor(ctx, color.RGBA{0x33, 0x40, 0x5c, 0xff})
	require.NoError(t, err)
	require.NoError(t, d.person.Click(ctx, at.Min.X+5, at.Max.Y-5)) // where the window above will not be
	_, err = d.person.WaitWindow(ctx, "Covering")
	require.NoError(t, err)

	s := d.ask(Question{Client: "Tester", Added: patterns(t, "example.com")})
	s.quiet()
	x, y := s.spot("allow")
	require.NoError(t, d.person.Move(ctx, x, y))
	_, err = d.person.WaitWindow(ctx, "Uncovered")
	require.NoError(t, err)
	require.NoError(t, d.person.Click(ctx, x, y))
	s.quiet()
	s.open()
	s.click("allow")
	s.expect(Allowed)
}
