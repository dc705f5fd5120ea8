// Package reading makes what a browser knows of a page into what an agent may
// read: text, an outline, a picture. It knows no browser: chrome asks, and hands
// over what it got.
package reading

import _ "embed"

// Script is run in a world of its own beside each document of a session's tabs.
// It defines globalThis.sallyport there.
//
//go:embed page.js
var Script string

// World is the name of that world.
const World = "sallyport"
