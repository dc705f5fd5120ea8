package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sallyport/gate"
	"sallyport/proxy"
)

// safeArgs are the arguments of Chromium that take nothing from either gate.
var safeArgs = []string{
	"--lang", "--force-device-scale-factor", "--window-position", "--start-maximized", "--force-dark-mode",
	"--force-prefers-reduced-motion", "--disable-gpu", "--disable-dev-shm-usage", "--disable-smooth-scrolling",
	"--font-render-hinting", "--hide-scrollbars", "--ozone-platform", "--use-gl",
}

// validate checks every value and keeps what it parsed. Errors name the key.
func (c *Config) validate() error {
	for _, check := range []func() error{c.validateBrowser, c.validateProxy, c.validateLedger, c.validateLog, c.validateRest} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) validateBrowser() error {
	width, height, ok := strings.Cut(c.Browser.Window, "x")
	var errs [2]error
	c.Browser.width, errs[0] = strconv.Atoi(width)
	c.Browser.height, errs[1] = strconv.Atoi(height)
	if !ok || errs[0] != nil || errs[1] != nil || c.Browser.width < 200 || c.Browser.height < 200 || c.Browser.width > 10000 || c.Browser.height > 10000 {
		return fmt.Errorf("browser.window must be WIDTHxHEIGHT such as \"1280x900\", not %q", c.Browser.Window)
	}
	for _, arg := range c.Browser.Args {
		name, _, _ := strings.Cut(arg, "=")
		if !slices.Contains(safeArgs, name) {
			return fmt.Errorf("browser.args: %q could weaken a gate; these may be given: %s", arg, strings.Join(safeArgs, " "))
		}
	}
	return validateProfile(c.Browser.Profile)
}

func (c *Config) validateProxy() error {
	for _, entry := range c.Proxy.Resolve {
		pin, err := proxy.ParsePin(entry)
		if err != nil {
			return fmt.Errorf("proxy.resolve: %w", err)
		}
		c.Proxy.pins = append(c.Proxy.pins, pin)
	}
	for _, entry := range c.Proxy.PublicRanges {
		prefix, err := netip.ParsePrefix(entry)
		if err != nil {
			return fmt.Errorf("proxy.public_ranges: %q is no CIDR such as \"198.18.0.0/15\"", entry)
		}
		c.Proxy.ranges = append(c.Proxy.ranges, prefix)
	}
	if c.Proxy.Upstream == "" {
		return nil
	}
	u, err := url.Parse(c.Proxy.Upstream)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		// What was given may hold a password, so it is not repeated.
		return errors.New("proxy.upstream must be the URL of an HTTP proxy, such as \"http://proxy.example:3128\"")
	}
	c.Proxy.upstream = u
	return nil
}

func (c *Config) validateLedger() error {
	if c.Ledger.Keep < 1 {
		return fmt.Errorf("ledger.keep must be at least 1, not %d", c.Ledger.Keep)
	}
	var err error
	if c.Ledger.maxSize, err = size(c.Ledger.MaxSize); err != nil {
		return fmt.Errorf("ledger.max_size %w", err)
	}
	if c.Ledger.Required && c.Ledger.Path == "" {
		return errors.New("ledger.required needs ledger.path; set it, or leave ledger.required out")
	}
	return nil
}

func (c *Config) validateLog() error {
	if err := c.Log.level.UnmarshalText([]byte(c.Log.Level)); err != nil || !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		return fmt.Errorf("log.level must be debug, info, warn or error, not %q", c.Log.Level)
	}
	if c.Log.Format != "text" && c.Log.Format != "json" {
		return fmt.Errorf("log.format must be text or json, not %q", c.Log.Format)
	}
	return nil
}

func (c *Config) validateRest() error {
	for _, entry := range c.Probe.Domains {
		if _, err := gate.ParsePattern(entry); err != nil {
			return fmt.Errorf("probe.%w", err)
		}
	}
	if c.Probe.Mode != "enforce" && c.Probe.Mode != "observe" {
		return fmt.Errorf("probe.mode must be enforce or observe, not %q", c.Probe.Mode)
	}
	if c.Host.Socket != "" && !filepath.IsAbs(c.Host.Socket) {
		return fmt.Errorf("host.socket must be an absolute path, not %q", c.Host.Socket)
	}
	if c.Metrics.Listen != "" && !listenable(c.Metrics.Listen) {
		return fmt.Errorf("metrics.listen must be \"\" or host:port, not %q", c.Metrics.Listen)
	}
	if !listenable(c.Probe.Listen) {
		return fmt.Errorf("probe.listen must be host:port, not %q", c.Probe.Listen)
	}
	return nil
}

func listenable(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// size reads bytes, or a number with KB, MB or GB.
func size(given string) (int64, error) {
	number, factor := given, int64(1)
	for unit, f := range map[string]int64{"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30} {
		if rest, ok := strings.CutSuffix(given, unit); ok {
			number, factor = rest, f
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("must be bytes or a size such as \"64MB\", not %q", given)
	}
	return n * factor, nil
}

// unfinished names settings that are accepted and do nothing yet, so that nobody
// relies on them.
func (c *Config) unfinished(log *slog.Logger) {
	if c.Host.Socket != "" || c.Metrics.Listen != "" {
		log.Warn("host.socket and metrics.listen are accepted, but this version does not use them yet")
	}
}
