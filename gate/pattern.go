package gate

// Pattern is one entry of an allowlist: an exact host, "*.host", or an IP
// literal. Patterns are comparable. The zero Pattern matches nothing.
type Pattern struct {
	host     Host
	wildcard bool
}

// ParsePattern reads one entry. Errors are *PatternError.
func ParsePattern(entry string) (Pattern, error) { panic("todo") }

func (p Pattern) String() string      { panic("todo") } // normal form; IPv6 in brackets
func (p Pattern) Host() Host          { return p.host } // without the "*."
func (p Pattern) Wildcard() bool      { return p.wildcard }
func (p Pattern) Unicode() string     { panic("todo") } // String as a person reads it
func (p Pattern) Covers() string      { panic("todo") } // plain words: "example.com only", "every name under example.com, but not example.com itself"
func (p Pattern) Matches(h Host) bool { panic("todo") }

// Local reports whether the pattern names this machine or a private network by
// its spelling alone (localhost, *.localhost, a non-public IP literal).
func (p Pattern) Local() bool { panic("todo") }

// SharedSuffix reports whether a wildcard stands directly on a private public
// suffix (*.github.io), where strangers can have names; and the suffix.
func (p Pattern) SharedSuffix() (string, bool) { panic("todo") }

// MixedScripts reports whether one label of the Unicode form mixes scripts that
// are not usually written together.
func (p Pattern) MixedScripts() bool { panic("todo") }

// PatternError says what is wrong with an entry and the form it should have.
type PatternError struct {
	Entry  string
	Reason string // "has a scheme; write \"good.test\""
}

func (e *PatternError) Error() string { return "domains: " + e.Entry + ": " + e.Reason }
