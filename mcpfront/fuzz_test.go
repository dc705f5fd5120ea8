package mcpfront_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sallyport/chrome"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/mcpfront"
)

func FuzzLines(f *testing.F) {
	for _, seed := range []string{"garbage", "{}", `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"browser_navigate","arguments":[]}}`, "[]", "\x00"} {
		f.Add(seed)
	}
	l := ledger.New(ledger.Config{})
	b := newFake(l)
	b.ask = func(context.Context, ledger.SessionID, gate.Allowlist) (bool, error) {
		return false, chrome.ErrDeclined
	}
	b.navigate = func(context.Context, chrome.NavigateRequest) (chrome.NavigateResult, error) {
		return chrome.NavigateResult{}, chrome.ErrGone
	}
	server := mcpfront.New(mcpfront.Config{Ledger: l, Browser: b, Drain: 100 * time.Millisecond})
	f.Fuzz(func(t *testing.T, line string) {
		line = strings.NewReplacer("\n", "", `"still here"`, "").Replace(line)
		var out bytes.Buffer
		in := strings.NewReader(line + "\n" + `{"jsonrpc":"2.0","id":"still here","method":"ping"}`)
		if err := server.Serve(context.Background(), in, &out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), `"still here"`) {
			t.Fatalf("%q stopped the loop: %s", line, out.String())
		}
		for got := range strings.Lines(out.String()) {
			if !json.Valid([]byte(got)) {
				t.Fatalf("%q was answered with %q", line, got)
			}
		}
	})
}
