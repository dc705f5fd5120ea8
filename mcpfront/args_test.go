package mcpfront

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{}`, `[]`, `null`, `{"tab_id":"t","url":"u"}`, `{"tab_id":null}`, `{"domains":["a",1]}`, `{"domains":null}`, `{"wait_for_load":"x"}`} {
		f.Add(seed)
	}
	names := []string{"tab_id", "url", "wait_for_load", "domains"}
	f.Fuzz(func(t *testing.T, raw string) {
		var given any
		if json.Unmarshal([]byte(raw), &given) != nil {
			return
		}
		args, err := readArguments(given, names...)
		if err == nil {
			for name := range args {
				if !strings.Contains(strings.Join(names, " "), name) {
					t.Fatalf("%q was let through", name)
				}
			}
			for _, name := range names {
				if err := readOne(args, name); err != nil && !strings.HasPrefix(err.Error(), name) {
					t.Fatalf("%q does not begin with %q", err, name)
				}
			}
			return
		}
		var wrong *argumentError
		if !errors.As(err, &wrong) {
			t.Fatalf("%q: %v", raw, err)
		}
		if d, known := details(err); !known || d.Code != -32602 {
			t.Fatalf("%q: %v", raw, d)
		}
	})
}

func readOne(args arguments, name string) (err error) {
	switch name {
	case "domains":
		_, err = args.texts(name)
	case "wait_for_load":
		_, err = args.truth(name, true)
	default:
		_, err = args.text(name)
	}
	return err
}

func FuzzMessages(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"id":null,"method":"x","params":[]}`, `{"id":"\u0061","METHOD":1}`, `[`, `7`,
		`{"id":1,"method":"initialize","params":{"clientInfo":{"name":7}}}`, `{"id":1,"method":"tools/list","params":{"cursor":"AA=="}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, fault := parseMessage(line)
		if fault != nil && (fault.code > -32600 || fault.message == "") {
			t.Fatalf("%q: %+v", line, fault)
		}
		if fault != nil || m == nil || m.line == nil {
			return
		}
		again, fault := parseMessage(m.line)
		if fault != nil || again.method != m.method || string(again.id) != string(m.id) {
			t.Fatalf("%q became %q, which reads otherwise: %+v", line, m.line, fault)
		}
	})
}
