//go:build !race

package main

// slowdown is what the race detector costs, about.
const slowdown = 1
