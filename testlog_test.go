package main

import (
	"log/slog"
	"os"
	"testing"
)

// testLog is quiet unless SALLYPORT_TEST_LOG asks for lines.
func testLog(testing.TB) *slog.Logger {
	if os.Getenv("SALLYPORT_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
