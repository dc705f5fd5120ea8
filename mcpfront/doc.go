// Package mcpfront is the MCP server: tools, argument checks, error codes, and
// one session for each connection.
//
// mcp-go parses the protocol, both of its eras; the line loop is our own, because
// errors here carry codes and data, and every call must be answered at the end
// of input. Nothing is written but through the connection's own writer.
package mcpfront
