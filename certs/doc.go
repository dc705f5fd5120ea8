// Package certs makes the proxy's certificate authority and the leaves minted
// from it. In MCP mode the authority is new in each run, lives in memory only,
// and is trusted by one Chromium, through the pin of its public key.
package certs
