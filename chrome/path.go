package chrome

import (
	"errors"
	"fmt"
	"os/exec"
)

// programs are Chromium's names, in the order in which they are looked for.
var programs = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"}

// FindProgram returns the path of the Chromium to start: the one configured, or
// the first found.
func FindProgram(configured string) (string, error) {
	if configured != "" {
		path, err := exec.LookPath(configured)
		if err != nil {
			return "", fmt.Errorf("finding browser.path: %w", err)
		}
		return path, nil
	}
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium found")
}
