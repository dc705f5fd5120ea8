package chrome

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// profile is a directory for one run of Chromium, locked against another.
type profile struct {
	dir       string
	ephemeral bool
	lock      *os.File
}

const profilePrefix = "sallyport-profile-"

// openProfile makes a fresh profile, or takes the configured one.
func openProfile(configured string) (*profile, error) {
	p := &profile{dir: configured}
	if configured == "" || configured == "ephemeral" {
		sweepProfiles(os.TempDir())
		dir, err := os.MkdirTemp("", profilePrefix)
		if err != nil {
			return nil, fmt.Errorf("making a temporary profile: %w", err)
		}
		p.dir, p.ephemeral = dir, true
	} else if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the profile: %w", err)
	}
	lock, err := lockFile(filepath.Join(p.dir, "sallyport.lock"))
	if err != nil {
		return nil, fmt.Errorf("profile %s is in use by another Sallyport: %w", p.dir, err)
	}
	p.lock = lock
	if err := p.prepare(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// prepare takes away what would load documents before the gates are up, or past
// them: installed service workers and the pages of the last session.
func (p *profile) prepare() error {
	workers, _ := filepath.Glob(filepath.Join(p.dir, "*", "Service Worker"))
	for _, dir := range workers {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("removing service workers of the profile: %w", err)
		}
	}
	path := filepath.Join(p.dir, "Default", "Preferences")
	preferences := map[string]any{}
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("reading the profile's preferences: %w", err)
	default:
		if err := json.Unmarshal(raw, &preferences); err != nil {
			return fmt.Errorf("reading the profile's preferences: %w", err)
		}
	}
	set(preferences, 2, "net", "network_prediction_options") // never predict
	set(preferences, 5, "session", "restore_on_startup")     // the new-tab page
	set(preferences, "Normal", "profile", "exit_type")
	set(preferences, false, "search", "suggest_enabled")
	raw, err = json.Marshal(preferences)
	if err != nil {
		return fmt.Errorf("writing the profile's preferences: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("writing the profile's preferences: %w", err)
	}
	return os.WriteFile(path, raw, 0o600)
}

func set(m map[string]any, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		next, ok := m[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	m[path[len(path)-1]] = value
}

// close gives the profile up, and removes it if it is temporary. Chromium's
// children may still write for a moment after it has ended.
func (p *profile) close() error {
	var err error
	if p.ephemeral {
		for deadline := time.Now().Add(3 * time.Second); ; {
			if err = os.RemoveAll(p.dir); err == nil || time.Now().After(deadline) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	p.lock.Close()
	return err
}

// sweepProfiles removes temporary profiles whose Sallyport is gone: the kernel
// gives up a dead process's lock, so a lock that can be had proves it.
func sweepProfiles(temp string) {
	dirs, _ := filepath.Glob(filepath.Join(temp, profilePrefix+"*"))
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || !strings.HasPrefix(filepath.Base(dir), profilePrefix) {
			continue
		}
		// A lock file that is not there yet is one that is just being made.
		path := filepath.Join(dir, "sallyport.lock")
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		lock, err := lockFile(path)
		if err != nil {
			continue
		}
		os.RemoveAll(dir)
		lock.Close()
	}
}
