// Demoperson runs `sallyport demo` on a display of its own and answers the
// approval window there with a real X mouse, taking pictures on the way.
//
// It is no part of the product: sallyport has no way to skip its person.
package main

import (
	"context"
	"fmt"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sallyport/fixtures"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: demoperson SALLYPORT DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(program, pictures string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		return err
	}
	display, err := fixtures.StartDisplay(1280, 900)
	if err != nil {
		return err
	}
	defer display.Close()
	command := exec.CommandContext(ctx, program, "demo")
	command.Env = display.Environ()
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	if err := command.Start(); err != nil {
		return err
	}
	acted := make(chan error, 1)
	go func() { acted <- act(ctx, display.Person(), pictures) }()
	ended := command.Wait()
	cancel()
	if err := <-acted; err != nil && ended == nil {
		return err
	}
	if ended == nil {
		fmt.Println("pictures are in", pictures)
	}
	return ended
}

// The colours that tell what is on the screen: of the button that allows, once it
// can be used, and of the shop's ground.
var (
	allowButton = color.RGBA{0x0b, 0x57, 0xd0, 0xff}
	shopGround  = color.RGBA{0xfb, 0xf8, 0xf2, 0xff}
)

// act is what the person does: look, allow, look again, when the last page is the
// shop's.
func act(ctx context.Context, p *fixtures.Person, pictures string) error {
	if _, err := p.WaitWindow(ctx, "Sallyport: "); err != nil {
		return err
	}
	if err := p.Picture(ctx, allowButton, filepath.Join(pictures, "1-approval.png")); err != nil {
		return err
	}
	if err := p.Answer(ctx, true); err != nil {
		return err
	}
	return p.Picture(ctx, shopGround, filepath.Join(pictures, "2-approved-site.png"))
}
