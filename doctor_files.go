package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// findDirectories tries every directory that will be written. The temporary one
// and the audit log's must be there already: the others are made when they are
// needed, and doctor leaves nothing behind.
func findDirectories(c Config) []finding {
	type place struct{ name, dir string }
	var places []place
	if c.Browser.Profile != "ephemeral" {
		places = append(places, place{"browser.profile", c.Browser.Profile})
	}
	if c.Host.Socket != "" {
		places = append(places, place{"host.socket", filepath.Dir(c.Host.Socket)})
	}
	if c.Probe.CADir != "" {
		places = append(places, place{"probe.ca_dir", c.Probe.CADir})
	}
	all := []finding{found("temporary directory", os.TempDir(), writable(os.TempDir()), temporaryRemedy())}
	for _, p := range places {
		all = append(all, found(p.name, p.dir, writable(nearestThere(p.dir)), makeDirectory(p.dir)))
	}
	if c.Ledger.Path != "" {
		all = append(all, findLedger(c.Ledger.Path))
	}
	for _, file := range c.Proxy.ExtraRoots {
		all = append(all, found("proxy.extra_roots", file, readRoots(file), "give it a PEM file of certificates that you may read"))
	}
	return all
}

// found is well unless err says what is wrong.
func found(name, value string, err error, mend string) finding {
	if err != nil {
		return finding{false, fmt.Sprintf("%s: %v", name, err), mend}
	}
	return finding{true, name + ": " + value, ""}
}

func makeDirectory(dir string) string {
	return "mkdir -p " + shown(dir) + " && chmod u+rwx " + shown(dir)
}

func temporaryRemedy() string {
	return makeDirectory(os.TempDir()) + ", or set TMPDIR to a directory that you can write"
}

// findLedger opens the audit log as a session would, and writes nothing.
func findLedger(path string) finding {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case err == nil:
		f.Close()
		return found("ledger.path", path, nil, "")
	case errors.Is(err, os.ErrNotExist):
		dir := filepath.Dir(path)
		return found("ledger.path", path, writable(dir), makeDirectory(dir))
	}
	return found("ledger.path", path, err, "set ledger.path to a file that you may read and write")
}

func readRoots(file string) error {
	raw, err := os.ReadFile(file)
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM(raw) {
		err = errors.New(file + " holds no certificate")
	}
	return err
}

// nearestThere is the directory itself, or the one above in which it would be made.
func nearestThere(dir string) string {
	for {
		parent := filepath.Dir(dir)
		if _, err := os.Stat(dir); err == nil || parent == dir {
			return dir
		}
		dir = parent
	}
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, "sallyport-doctor-")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}
