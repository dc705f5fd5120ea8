package gate_test

import (
	"fmt"
	"testing"

	"sallyport/gate"
)

func BenchmarkDecide(b *testing.B) {
	var entries []string
	for i := range gate.MaxPatterns {
		entries = append(entries, fmt.Sprintf("*.site%d.example.com", i))
	}
	list, err := gate.ParseAllowlist(entries)
	if err != nil {
		b.Fatal(err)
	}
	at, err := gate.Parse("https://a.b.site99.example.com/page")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !gate.Decide(gate.Query{Target: at, Initiator: gate.Agent, Gated: true, List: list}).Allowed {
			b.Fatal("refused")
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gate.Parse("https://www.example.com/a/path?with=query#fragment"); err != nil {
			b.Fatal(err)
		}
	}
}
