package mcpfront

import (
	"encoding/base64"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// param is one member of a method's params, and how it should be. mcp-go checks
// them too, but its errors are Go's.
type param struct {
	method mcp.MCPMethod
	path   []string // in params
	should string
	is     func(json.RawMessage) bool
}

var params = []param{
	{mcp.MethodInitialize, []string{"protocolVersion"}, "must be a string", isText},
	{mcp.MethodInitialize, []string{"capabilities"}, "must be an object", isObject},
	{mcp.MethodInitialize, []string{"clientInfo"}, "must be an object", isObject},
	{mcp.MethodInitialize, []string{"clientInfo", "name"}, "must be a string", isText},
	{mcp.MethodInitialize, []string{"clientInfo", "version"}, "must be a string", isText},
	{mcp.MethodToolsCall, []string{"arguments"}, "must be an object", isObject},
	{mcp.MethodToolsList, []string{"cursor"}, "must be a nextCursor of an earlier answer; leave it out for the first page", isCursor},
	{mcp.MethodSetLogLevel, []string{"level"}, "must be a string", isText},
}

// wrongParam names the first member that is not as it should be; "" is none. What
// is missing, or null, is left to the method.
func (m *incoming) wrongParam() string {
	for _, p := range params {
		if string(p.method) != m.method {
			continue
		}
		of, name, last := m.params, "", len(p.path)-1
		for _, outer := range p.path[:last] {
			inner := map[string]json.RawMessage{}
			_ = json.Unmarshal(of[outer], &inner) // what is no object has no members
			of, name = inner, name+outer+"."
		}
		if raw := of[p.path[last]]; raw != nil && string(raw) != "null" && !p.is(raw) {
			return name + p.path[last] + ": " + p.should
		}
	}
	return ""
}

func isText(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// isCursor is mcp-go's idea of one.
func isCursor(raw json.RawMessage) bool {
	var text string
	if !isText(raw) || json.Unmarshal(raw, &text) != nil {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(text)
	return err == nil
}
