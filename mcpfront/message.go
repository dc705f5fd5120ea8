package mcpfront

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// incoming is one line of the client, taken apart.
type incoming struct {
	id     json.RawMessage // nil for a notification
	method string
	params map[string]json.RawMessage
	line   []byte // what mcp-go gets to see
}

// invalid is a line that never becomes a call.
type invalid struct {
	id      json.RawMessage // nil is null
	code    int
	message string
}

// parseMessage reads one line. A nil message and a nil fault mean that there is
// nothing to do. Names are taken by their exact spelling, and mcp-go is handed
// only what was read here: encoding/json would take "ID" for "id", and the two
// readers could see different calls.
func parseMessage(line []byte) (*incoming, *invalid) {
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return nil, nil
	case !json.Valid(line):
		return nil, &invalid{code: mcp.PARSE_ERROR, message: "the line is not JSON"}
	case line[0] == '[':
		return nil, &invalid{code: mcp.INVALID_REQUEST, message: "batches are not part of this protocol; send one message a line"}
	case line[0] != '{':
		return nil, &invalid{code: mcp.INVALID_REQUEST, message: "the line is not a JSON object"}
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(line, &parts); err != nil {
		return nil, &invalid{code: mcp.PARSE_ERROR, message: "the line is not JSON"}
	}
	m := &incoming{id: parts["id"]}
	if m.id != nil && !isText(m.id) && !isNumber(m.id) && string(m.id) != "null" {
		return nil, &invalid{code: mcp.INVALID_REQUEST, message: "id: must be a string or a number"}
	}
	if parts["method"] == nil && (parts["result"] != nil || parts["error"] != nil) {
		return nil, nil // an answer, and this server asks its client nothing
	}
	if !isText(parts["method"]) || json.Unmarshal(parts["method"], &m.method) != nil || m.method == "" {
		return nil, &invalid{m.id, mcp.INVALID_REQUEST, "method: must be a string"}
	}
	if string(m.id) == "null" {
		if !strings.HasPrefix(m.method, "notifications/") {
			return nil, &invalid{code: mcp.INVALID_REQUEST, message: "id: must be a string or a number"}
		}
		m.id = nil
	}
	return m, m.readParams(parts)
}

// readParams checks what mcp-go would refuse with another code than the
// standard's, and makes the line for it.
func (m *incoming) readParams(parts map[string]json.RawMessage) *invalid {
	wrong := func(message string) *invalid {
		if m.id == nil {
			return nil // nobody waits for an answer to a notification
		}
		return &invalid{m.id, mcp.INVALID_PARAMS, message}
	}
	if params := parts["params"]; params != nil {
		if params[0] != '{' || json.Unmarshal(params, &m.params) != nil {
			return wrong("params: must be an object")
		}
		if meta := m.params["_meta"]; meta != nil && meta[0] != '{' {
			return wrong("_meta: must be an object")
		}
	}
	if m.method == string(mcp.MethodToolsCall) {
		switch name := m.params["name"]; {
		case name == nil:
			return wrong("name: is missing; it names the tool to call")
		case !isText(name):
			return wrong("name: must be a string")
		}
	}
	if message := m.wrongParam(); message != "" {
		return wrong(message)
	}
	known := map[string]json.RawMessage{}
	for _, name := range []string{"jsonrpc", "id", "method", "params"} {
		if part := parts[name]; part != nil && (name != "id" || m.id != nil) {
			known[name] = part
		}
	}
	line, err := encode(known)
	if err != nil {
		return wrong("params: " + err.Error())
	}
	m.line = line
	return nil
}

// key tells the ids of one session apart, however they are spelled.
func key(id json.RawMessage) string {
	var text string
	if isText(id) && json.Unmarshal(id, &text) == nil {
		return "text " + text
	}
	return "number " + string(id)
}
