package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"sallyport/certs"
	"sallyport/chrome"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/proxy"
)

// errUnwell ends doctor with exit code 1; what is wrong was printed.
var errUnwell = errors.New("something is missing")

// finding is one line of doctor.
type finding struct {
	well bool
	what string // and how it is
	mend string // the command or the step that mends it
}

func runDoctor(ctx context.Context, c Config, s streams) error {
	findings := []finding{findProgram(ctx, c), findDisplay(c), findSandbox()}
	findings = append(findings, findDirectories(c)...)
	switch {
	case !findings[0].well:
	case writable(os.TempDir()) != nil:
		findings = append(findings, finding{false, "self-test: not run, since Chromium keeps a profile in the temporary directory", temporaryRemedy()})
	default:
		findings = append(findings, selfTest(ctx, c)...)
	}
	var unwell error
	for _, f := range findings {
		mark := "ok "
		if !f.well {
			mark, unwell = "!! ", errUnwell
		}
		fmt.Fprintln(s.out, mark, f.what)
		if f.mend != "" {
			fmt.Fprintln(s.out, "    ->", f.mend)
		}
	}
	return unwell
}

func findProgram(ctx context.Context, c Config) finding {
	path, err := chrome.FindProgram(c.Browser.Path)
	if err != nil {
		return finding{false, "Chromium: " + err.Error(), programRemedy(c)}
	}
	if isSnap(path) {
		return finding{false, "Chromium: " + path + " is a snap, which may not read a profile or a pipe of another program", programRemedy(c)}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	said, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return finding{false, "Chromium: " + path + " does not start: " + err.Error(), programRemedy(c)}
	}
	return finding{true, "Chromium: " + path + ", " + strings.TrimSpace(string(said)), ""}
}

// programRemedy tells a browser.path that is wrong from a Chromium that is missing.
func programRemedy(c Config) string {
	if c.Browser.Path == "" {
		return chromiumRemedy()
	}
	if found, err := chrome.FindProgram(""); err == nil && found != c.Browser.Path && !isSnap(found) {
		return "browser.path is " + c.Browser.Path + "; leave it out, or set it to " + found + ", which is installed"
	}
	return "browser.path is " + c.Browser.Path + ", and no other Chromium was found: " + chromiumRemedy()
}

// chromiumRemedy is how Chromium is installed here.
func chromiumRemedy() string {
	release, _ := os.ReadFile("/etc/os-release")
	switch {
	case runtime.GOOS != "linux":
		return "install Chromium or Google Chrome, and set browser.path to its program"
	case strings.Contains(string(release), "\nID=ubuntu"):
		return "install Google Chrome's .deb package (Ubuntu's chromium is a snap, which can't be driven), or set browser.path"
	case strings.Contains(string(release), "debian"):
		return "sudo apt-get install chromium (or set browser.path)"
	}
	return "install Chromium with this system's package manager (on Debian: sudo apt-get install chromium), or set browser.path"
}

// isSnap reports whether a program is, or starts, a snap: /snap/bin/chromium is a
// link to snap itself, and Ubuntu's chromium-browser a script that calls it.
func isSnap(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if filepath.Base(real) == "snap" || within(real, "/snap") || within(path, "/snap") {
		return true
	}
	f, err := os.Open(real)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4096) // a script, if it is one
	n, _ := io.ReadFull(f, head)
	return strings.HasPrefix(string(head[:n]), "#!") && strings.Contains(string(head[:n]), "/snap/bin/")
}

func findDisplay(c Config) finding {
	switch {
	case c.Browser.Headless:
		return finding{false, "display: browser.headless is set, so nobody can be asked and nothing can be approved", "remove browser.headless from the configuration"}
	case !chrome.HasDisplay():
		return finding{false, "display: none (DISPLAY and WAYLAND_DISPLAY are not set), so nobody can be asked", "start it in a desktop session, or under a display that you can see (DISPLAY=:0)"}
	}
	name, variable := os.Getenv("DISPLAY"), "DISPLAY"
	socket, ok := x11Socket(name)
	if name == "" {
		name, variable = os.Getenv("WAYLAND_DISPLAY"), "WAYLAND_DISPLAY"
		socket, ok = name, true
		if !filepath.IsAbs(name) {
			socket = filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), name)
		}
	}
	if ok {
		connection, err := net.Dial("unix", socket)
		if err != nil {
			return finding{false, "display: " + name + " does not answer", "check that the display server of " + variable + "=" + name + " runs, and is yours"}
		}
		connection.Close()
	}
	return finding{true, "display: " + name, ""}
}

// x11Socket is where the X server of a local display listens.
func x11Socket(display string) (string, bool) {
	number, ok := strings.CutPrefix(display, ":")
	if !ok {
		return "", false
	}
	number, _, _ = strings.Cut(number, ".")
	return "/tmp/.X11-unix/X" + number, true
}

func findSandbox() finding {
	if os.Getuid() == 0 {
		return finding{true, "sandbox: off, since this is root, where Chromium runs with --no-sandbox only; fine for a test", "run it as an ordinary user for real work"}
	}
	for _, setting := range []string{"/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/user/max_user_namespaces"} {
		if raw, err := os.ReadFile(setting); err == nil && strings.TrimSpace(string(raw)) == "0" {
			return finding{false, "sandbox: this kernel gives users no namespaces, so Chromium's sandbox can't start", "sudo sysctl -w " + strings.ReplaceAll(strings.TrimPrefix(setting, "/proc/sys/"), "/", ".") + "=1"}
		}
	}
	// Ubuntu since 23.10: only programs with an AppArmor profile for it may.
	if raw, err := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"); err == nil && strings.TrimSpace(string(raw)) == "1" {
		return finding{true, "sandbox: AppArmor gives namespaces only to programs that it knows; the self-test shows whether it knows this Chromium", "if it fails: install Google Chrome's .deb package, which brings its AppArmor profile"}
	}
	return finding{true, "sandbox: on", ""}
}

// listening is a ledger that notes which private hosts the proxy was asked for.
type listening struct {
	*ledger.Ledger
	asked chan gate.Host
}

func (l listening) LocalReachable(host gate.Host, _ uint16, _ gate.Host, _ uint16) bool {
	select {
	case l.asked <- host:
	default:
	}
	return false
}

// selfTest makes a real Chromium ask for loopback and for a cloud's metadata
// address, which it would reach past an ordinary proxy.
func selfTest(ctx context.Context, c Config) []finding {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	direct, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return []finding{{false, "self-test: " + err.Error(), "free a port of loopback"}}
	}
	defer direct.Close()
	var past atomic.Bool
	go func() {
		if connection, err := direct.Accept(); err == nil {
			past.Store(true)
			connection.Close()
		}
	}()
	l := listening{ledger.New(ledger.Config{}), make(chan gate.Host, 64)} // more than two requests' retries
	err = askThroughProxy(ctx, c, l, "http://"+direct.Addr().String()+"/", "http://169.254.169.254/")
	if err != nil {
		return []finding{{false, "self-test: " + err.Error(), "run: sallyport --log-level debug doctor, and install what Chromium misses"}}
	}
	var all []finding
	seen := map[gate.Host]bool{}
	for len(l.asked) > 0 {
		seen[<-l.asked] = true
	}
	for _, host := range []gate.Host{"127.0.0.1", "169.254.169.254"} {
		if seen[host] && !past.Load() {
			all = append(all, finding{true, fmt.Sprintf("self-test: a request for %s goes through the proxy, which refuses it", host), ""})
		} else {
			all = append(all, finding{false, fmt.Sprintf("self-test: a request for %s went around the proxy", host), "don't use this Chromium with Sallyport; install Debian's chromium"})
		}
	}
	return all
}

func askThroughProxy(ctx context.Context, c Config, l listening, urls ...string) error {
	authority, err := certs.NewEphemeral()
	if err != nil {
		return err
	}
	p, err := proxy.New(proxy.Config{Ledger: l, Authority: authority})
	if err != nil {
		return err
	}
	serving, end := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- p.Serve(serving) }()
	defer func() { end(); <-served }()
	b, err := chrome.New(chrome.Config{
		Ledger: l.Ledger, ProxyAddr: p.Addr(), Pin: authority.Pin(), Path: c.Browser.Path, Headless: true, Args: c.Browser.Args,
		PrivateAddrs: p.PrivateAddrs, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer b.Close(ctx)
	return b.Request(ctx, urls...)
}
