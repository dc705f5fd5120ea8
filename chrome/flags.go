package chrome

import (
	"fmt"
	"os"
	"strings"

	"github.com/chromedp/chromedp"
)

// disabledFeatures are Chromium features that would load a document where one of
// the gates cannot see it, or speak to hosts that nobody asked for. Chromium
// honours only the last --disable-features, so they stand in one list.
var disabledFeatures = []string{
	"BackForwardCache",         // a restored page makes no request at all
	"Prerender2",               // a prerendered page goes straight to the proxy
	"ServiceWorkerAutoPreload", // a cold worker's navigation never pauses
	"MediaRouter",              // multicast DNS
	"DialMediaRouteProvider",
	"OptimizationHints",
	"Translate",
	"AutofillServerCommunication",
	"InterestFeedContentSuggestions",
	"CertificateTransparencyComponentUpdater",
}

// launchOptions are all that Chromium is started with: chromedp's defaults carry
// a --disable-features of their own, so none of them are used.
func launchOptions(c *Config, path, profile string) []chromedp.ExecAllocatorOption {
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path),
		chromedp.UserDataDir(profile),
		chromedp.NoInheritEnv,
		chromedp.Env(browserEnv(os.Environ())...),

		// Everything goes through the proxy, loopback and link-local too; a browser
		// behind an HTTP proxy resolves no names itself.
		chromedp.Flag("proxy-server", c.ProxyAddr),
		chromedp.Flag("proxy-bypass-list", "<-loopback>"),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("force-webrtc-ip-handling-policy", "disable_non_proxied_udp"),
		chromedp.Flag("ignore-certificate-errors-spki-list", c.Pin),

		chromedp.Flag("disable-features", strings.Join(disabledFeatures, ",")),
		chromedp.Flag("disable-extensions", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("disable-client-side-phishing-detection", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("no-pings", true),
		chromedp.Flag("metrics-recording-only", true),
		chromedp.Flag("no-first-run", true),
		chromedp.Flag("no-default-browser-check", true),
		chromedp.Flag("hide-crash-restore-bubble", true),
		chromedp.Flag("password-store", "basic"),
		chromedp.Flag("window-size", fmt.Sprintf("%d,%d", c.Width, c.Height)),
	}
	if c.Headless {
		options = append(options, chromedp.Flag("headless", true))
	}
	for _, arg := range c.Args {
		name, value, has := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if has {
			options = append(options, chromedp.Flag(name, value))
		} else {
			options = append(options, chromedp.Flag(name, true))
		}
	}
	return options
}

// browserEnv is our environment without our own settings, which may hold the
// credentials of an upstream proxy.
func browserEnv(environ []string) []string {
	var kept []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "SALLYPORT_") {
			kept = append(kept, entry)
		}
	}
	return kept
}
