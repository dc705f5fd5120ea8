package gate

// MaxPatterns is the longest list a person can be asked to read.
const MaxPatterns = 100

// Allowlist is an immutable set of patterns in the order they were asked for.
// The zero Allowlist covers nothing.
type Allowlist struct {
	patterns []Pattern
	// plus whatever makes Covers fast and allocation-free
}

// ParseAllowlist reads the entries of one request: normalised, in the order
// asked, without repeats. Errors are *PatternError or *ListError.
func ParseAllowlist(entries []string) (Allowlist, error) { panic("todo") }

// Covers returns the pattern that covers h, if one does.
func (a Allowlist) Covers(h Host) (Pattern, bool) { panic("todo") }

func (a Allowlist) Patterns() []Pattern    { panic("todo") } // a copy
func (a Allowlist) Strings() []string      { panic("todo") } // never nil
func (a Allowlist) Len() int               { return len(a.patterns) }
func (a Allowlist) Equal(b Allowlist) bool { panic("todo") } // as sets

// Delta says how next differs from a: what is new, what stays, what goes.
func (a Allowlist) Delta(next Allowlist) (added, kept, removed []Pattern) { panic("todo") }

// Without returns a less p.
func (a Allowlist) Without(p Pattern) Allowlist { panic("todo") }

// Suggest names the patterns that would cover h: the host itself and, where it
// makes sense, the wildcard above it ("www.example.com" -> ["www.example.com",
// "*.example.com"]).
func Suggest(h Host) []string { panic("todo") }

// ListError says what is wrong with a list as a whole (empty, too long).
type ListError struct{ Reason string }

func (e *ListError) Error() string { return "domains: " + e.Reason }
