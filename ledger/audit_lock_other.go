//go:build !unix

package ledger

import "os"

// openLocked opens the file. Without a lock, one process at a time may write it.
func openLocked(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}
