//go:build unix

package ledger

import (
	"os"
	"syscall"
)

// openLocked opens the file for one writer at a time. The lock ends with the file.
func openLocked(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			f.Close()
			return nil, err
		}
		// Another process may have moved the file aside while we waited.
		mine, err := f.Stat()
		if there, gone := os.Stat(path); err == nil && gone == nil && os.SameFile(mine, there) {
			return f, nil
		}
		f.Close()
	}
}
