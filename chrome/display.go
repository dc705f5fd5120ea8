package chrome

import (
	"net"
	"os"
	"strings"
	"time"
)

// HasDisplay reports whether the environment names a display to show windows on.
func HasDisplay() bool {
	return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

// DisplayAnswers reports whether there is a display that windows can be shown on.
// An X server of this machine is asked; any other is taken at its word.
func DisplayAnswers() bool {
	if !HasDisplay() || os.Getenv("WAYLAND_DISPLAY") != "" {
		return HasDisplay()
	}
	number, local := strings.CutPrefix(strings.TrimPrefix(os.Getenv("DISPLAY"), "unix"), ":")
	if !local {
		return true // on another machine
	}
	number, _, _ = strings.Cut(number, ".")
	const socket = "/tmp/.X11-unix/X"
	for _, path := range []string{socket + number, "@" + socket + number} {
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			conn.Close()
			return true
		}
	}
	return false
}
