package main

import (
	"log/slog"
	"net/netip"
	"net/url"
	"time"

	"sallyport/proxy"
)

// Config is every setting. The names are those of config.example.json, which
// also has the defaults; settings.go reads them and validate.go checks them.
type Config struct {
	Browser  BrowserConfig
	Proxy    ProxyConfig
	Prompt   struct{ Timeout time.Duration } // how long a person has to answer, from when the window is shown
	Navigate struct{ Timeout time.Duration } // of one browser_navigate
	Lease    struct {
		TTL time.Duration `mapstructure:"ttl"`
	} // how long a lease lasts that no call renews
	Ledger  LedgerConfig
	Log     LogConfig
	Host    struct{ Socket string } // of the shared host; empty is the default place
	Probe   ProbeConfig
	Metrics struct{ Listen string } // empty is off
}

// BrowserConfig is about Chromium.
type BrowserConfig struct {
	Path     string   // of the program; empty looks in the usual places
	Profile  string   // "ephemeral", or an absolute directory that keeps sign-ins
	Headless bool     // no window: nobody can be asked
	Window   string   // "1280x900", of the agents' windows
	Args     []string // further arguments, of a safe list

	width, height int
}

// ProxyConfig is about gate one.
type ProxyConfig struct {
	Upstream     string   // URL of an HTTP proxy to go through; empty is none
	ExtraRoots   []string `mapstructure:"extra_roots"` // PEM files, trusted beside the system's
	Resolve      []string // "host=address:port" or "*.host=address:port"
	PublicRanges []string `mapstructure:"public_ranges"` // CIDRs that count as public

	upstream *url.URL
	pins     []proxy.Pin
	ranges   []netip.Prefix
}

// LedgerConfig is about the audit log.
type LedgerConfig struct {
	Path     string // empty is off
	Redact   bool   // leave query strings out
	MaxSize  string `mapstructure:"max_size"` // of one file, in bytes or "64MB"
	Keep     int    // how many rotated files are kept
	Required bool   // refuse navigations when it can't be written

	maxSize int64 // bytes
}

// LogConfig is about the lines on stderr.
type LogConfig struct {
	Level  string // debug, info, warn, error
	Format string // text, json

	level slog.Level
}

// ProbeConfig is about the standalone proxy. It has no effect on MCP sessions.
type ProbeConfig struct {
	Listen  string   // host:port
	Domains []string // patterns
	Mode    string   // enforce, observe
	CADir   string   `mapstructure:"ca_dir"` // empty is the user's configuration directory
}
