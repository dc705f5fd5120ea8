package main

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/chrome"
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

func TestDoctorTellsAWrongSettingFromAMissingChromium(t *testing.T) {
	needChromium(t)
	installed, err := chrome.FindProgram("")
	require.NoError(t, err)
	out, err := doctor(t, os.Environ(), "--browser-path", "/nowhere/chromium")
	assert.Error(t, err)
	assert.Contains(t, out, "browser.path is /nowhere/chromium; leave it out, or set it to "+installed)
	assert.NotContains(t, out, "install ")
	out, err = doctor(t, []string{"PATH=" + t.TempDir(), "HOME=" + t.TempDir()}, "--browser-path", "/nowhere/chromium")
	assert.Error(t, err)
	assert.Regexp(t, "browser.path is /nowhere/chromium, and no other Chromium was found: .*install", out)
	out, err = doctor(t, append(os.Environ(), "TMPDIR=/proc/none"))
	assert.Error(t, err)
	assert.Regexp(t, "(?s)self-test: not run.*set TMPDIR", out)
	assert.NotContains(t, out, "what Chromium misses")
}

func TestDoctorTriesTheAuditLogAsASessionDoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "there.jsonl")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for path, mend := range map[string]string{
		file:                       "",
		dir + "/new.jsonl":         "",
		dir + "/none/deep/l.jsonl": "mkdir -p " + dir + "/none/deep",
		dir:                        "set ledger.path to a file",
		file + "/under/a.file":     "ledger.path",
		"/proc/none/ledger.jsonl":  "mkdir -p /proc/none",
	} {
		c, err := loadWith(t, "", nil, []string{"--ledger-path", path})
		require.NoError(t, err)
		audit, err := openAudit(c.Ledger, slog.New(slog.DiscardHandler))
		audit.Close()
		got := findLedger(path)
		assert.Equal(t, err == nil, got.well, "%s: %v", got.what, err)
		assert.Contains(t, got.what, "ledger.path: ")
		assert.Contains(t, got.mend, mend)
	}
}

func TestDoctorReadsTheRootsToTrust(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "roots.pem")
	require.NoError(t, os.WriteFile(file, []byte("nothing"), 0o600))
	assert.ErrorContains(t, readRoots(file), "holds no certificate")
	assert.Error(t, readRoots(file+".none"))
	assert.NoError(t, readRoots(fixtures.Start(t).RootFile()))
}

func TestASnapIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "chromium-browser")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexec /snap/bin/chromium \"$@\"\n"), 0o700))
	snap := filepath.Join(dir, "snap")
	require.NoError(t, os.WriteFile(snap, []byte("binary"), 0o700))
	link := filepath.Join(dir, "chromium")
	require.NoError(t, os.Symlink(snap, link))
	plain := filepath.Join(dir, "chrome")
	require.NoError(t, os.WriteFile(plain, []byte("#!/bin/sh\nexec /usr/lib/chromium/chromium\n"), 0o700))
	assert.True(t, isSnap(script), "a script that starts it")
	assert.True(t, isSnap(link), "a link to snap")
	assert.False(t, isSnap(plain))
	assert.False(t, isSnap(filepath.Join(dir, "none")))
	out, err := doctor(t, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, "--browser-path", script)
	assert.Error(t, err)
	assert.Contains(t, out, "!!  Chromium: "+script+" is a snap")
}

func TestDoctorTriesEveryDirectoryAndLeavesNoneBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := loadWith(t, "", nil, []string{"--browser-profile", dir + "/a/profile", "--ledger-path", dir + "/ledger.jsonl", "--host-socket", "/proc/none/host.sock", "--probe-ca-dir", dir})
	require.NoError(t, err)
	said := map[bool]string{}
	for _, f := range findDirectories(c) {
		said[f.well] += f.what + "\n"
	}
	for _, name := range []string{"temporary directory", "browser.profile", "ledger.path", "probe.ca_dir"} {
		assert.Contains(t, said[true], name)
	}
	assert.Contains(t, said[false], "host.socket")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
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
