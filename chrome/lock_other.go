//go:build !unix

package chrome

import "os"

// lockFile opens the file only: Windows refuses to remove a file that is open,
// which serves the same end.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}
