package main

import (
	"context"
	"errors"
	"io"
)

func runDemo(ctx context.Context, c Config, stdout, stderr io.Writer) error {
	return errors.New("to come")
}
