package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/fixtures"
)

// doctor runs `sallyport doctor` and returns what it prints.
func doctor(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	path, err := buildBinary()
	require.NoError(t, err)
	command := exec.Command(path, append([]string{"doctor"}, args...)...)
	command.Env = env
	out, err := command.Output()
	return string(out), err
}

func TestDoctorFindsAWellMachineWell(t *testing.T) {
	needChromium(t)
	display := fixtures.NeedDisplay(t)
	out, err := doctor(t, display.Environ())
	assert.NoError(t, err, out)
	assert.NotContains(t, out, "!!")
	for _, says := range []string{"Chromium: ", "display: " + display.Name, "sandbox: ", "temporary directory: ", "a request for 127.0.0.1 goes through the proxy", "a request for 169.254.169.254 goes through the proxy"} {
		assert.Contains(t, out, says)
	}
}

func TestDoctorNamesWhatMendsWhatIsMissing(t *testing.T) {
	out, err := doctor(t, []string{"PATH=" + t.TempDir(), "HOME=" + t.TempDir(), "DISPLAY=:4242"})
	assert.Error(t, err)
	for _, says := range []string{"no Chromium found", "apt-get install chromium", ":4242 does not answer"} {
		assert.Contains(t, out, says)
	}
	out, _ = doctor(t, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=/proc/none"}, "--browser-path", "/bin/false")
	for _, says := range []string{"/bin/false does not start", "DISPLAY", "temporary directory: ", "mkdir -p /proc/none"} {
		assert.Contains(t, out, says)
	}
}

func TestAProfileKeepsAndIsUsedByOneOnly(t *testing.T) {
	web := fixtures.Start(t)
	profile, err := os.MkdirTemp("", "sp-") // short: Chromium makes a socket in it
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(profile) })
	first := startProduct(t, web, nil, "--browser-profile", profile)
	first.firstTab(t)
	second := startProduct(t, web, nil, "--browser-profile", profile)
	_, err = second.tool(t.Context(), "browser_tab_list", map[string]any{})
	var e *agentError
	require.ErrorAs(t, err, &e)
	assert.Contains(t, e.Message, "in use by another Sallyport")
	first.stdin.Close()
	first.expectEnd(t)
	assert.FileExists(t, profile+"/Default/Preferences", "the profile stays")
	second.firstTab(t)
	second.stdin.Close()
	second.expectEnd(t)
}
