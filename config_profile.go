package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// validateProfile refuses a person's everyday profile: Chromium takes no
// DevTools there since version 136, and what an agent does would mix with it.
func validateProfile(dir string) error {
	if dir == "ephemeral" {
		return nil
	}
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("browser.profile must be \"ephemeral\" or an absolute directory, not %q", dir)
	}
	if real := resolved(dir); filepath.Dir(real) == real {
		return fmt.Errorf("browser.profile: %s is a root directory; choose a directory of Sallyport's own", dir)
	}
	for _, everyday := range everydayProfiles() {
		if within(resolved(dir), resolved(everyday)) {
			return fmt.Errorf("browser.profile: %s is the everyday profile, which Chromium does not let anybody drive; choose a directory of Sallyport's own and sign in there once", dir)
		}
	}
	return nil
}

// everydayProfiles are where Chrome and Chromium keep their profiles by
// themselves, on every system: a home may be shared between some.
func everydayProfiles() []string {
	var all []string
	add := func(base string, err error, names ...string) {
		if err != nil || base == "" {
			return
		}
		for _, name := range names {
			all = append(all, filepath.Join(base, filepath.FromSlash(name)))
		}
	}
	names := []string{"chromium", "google-chrome", "google-chrome-beta", "google-chrome-unstable", "google-chrome-canary", "google-chrome-for-testing"}
	config, err := os.UserConfigDir()
	add(config, err, append(names, "Chromium", "Google")...) // the last two are macOS's
	home, err := os.UserHomeDir()
	for _, name := range names {
		add(home, err, ".config/"+name)
	}
	add(home, err, "snap/chromium", ".var/app/org.chromium.Chromium", ".var/app/com.google.Chrome")
	add(os.Getenv("CHROME_CONFIG_HOME"), nil, names...)
	add(os.Getenv("CHROME_USER_DATA_DIR"), nil, "")
	add(os.Getenv("LOCALAPPDATA"), nil, "Chromium/User Data", "Google/Chrome/User Data", "Google/Chrome Beta/User Data", "Google/Chrome Dev/User Data", "Google/Chrome SxS/User Data")
	return all
}

// resolved is a path without symbolic links, as far as it exists.
func resolved(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolved(parent), filepath.Base(path))
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}
