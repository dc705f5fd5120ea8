package gate

import (
	"fmt"
	"slices"
	"strings"
)

// MaxPatterns is the longest list a person can be asked to read.
const MaxPatterns = 100

// Allowlist is an immutable set of patterns in the order they were asked for.
// The zero Allowlist covers nothing.
type Allowlist struct {
	patterns []Pattern
	set      map[Pattern]struct{}
}

// ParseAllowlist reads the entries of one request: normalised, in the order
// asked, without repeats. Errors are *PatternError or *ListError.
func ParseAllowlist(entries []string) (Allowlist, error) {
	if len(entries) == 0 {
		return Allowlist{}, &ListError{`is empty; name at least one host, such as "example.com"`}
	}
	if len(entries) > MaxPatterns {
		return Allowlist{}, &ListError{fmt.Sprintf("has %d entries; nobody can read more than %d before approving", len(entries), MaxPatterns)}
	}
	patterns := make([]Pattern, 0, len(entries))
	for _, entry := range entries {
		p, err := ParsePattern(entry)
		if err != nil {
			return Allowlist{}, err
		}
		patterns = append(patterns, p)
	}
	return newAllowlist(patterns), nil
}

func newAllowlist(patterns []Pattern) Allowlist {
	a := Allowlist{set: make(map[Pattern]struct{}, len(patterns))}
	for _, p := range patterns {
		if _, known := a.set[p]; !known {
			a.set[p] = struct{}{}
			a.patterns = append(a.patterns, p)
		}
	}
	return a
}

// Covers returns the pattern that covers h, if one does. It looks once for the
// name and once for each name above it, however long the list is.
func (a Allowlist) Covers(h Host) (Pattern, bool) {
	if h == "" {
		return Pattern{}, false
	}
	exact := Pattern{host: h}
	if _, ok := a.set[exact]; ok {
		return exact, true
	}
	above := string(h)
	for {
		dot := strings.IndexByte(above, '.')
		if dot < 0 {
			return Pattern{}, false
		}
		above = above[dot+1:]
		wild := Pattern{host: Host(above), wildcard: true}
		if _, ok := a.set[wild]; ok {
			return wild, true
		}
	}
}

// Patterns returns a copy of the list.
func (a Allowlist) Patterns() []Pattern { return slices.Clone(a.patterns) }

// Strings returns the normal forms. It is never nil.
func (a Allowlist) Strings() []string {
	all := make([]string, len(a.patterns))
	for i, p := range a.patterns {
		all[i] = p.String()
	}
	return all
}

// Len returns the number of patterns.
func (a Allowlist) Len() int { return len(a.patterns) }

// Equal reports whether both hold the same patterns, in whatever order.
func (a Allowlist) Equal(b Allowlist) bool {
	if len(a.patterns) != len(b.patterns) {
		return false
	}
	for p := range a.set {
		if _, ok := b.set[p]; !ok {
			return false
		}
	}
	return true
}

// Delta says how next differs from a: what is new, what stays, what goes.
func (a Allowlist) Delta(next Allowlist) (added, kept, removed []Pattern) {
	for _, p := range next.patterns {
		if _, ok := a.set[p]; ok {
			kept = append(kept, p)
		} else {
			added = append(added, p)
		}
	}
	for _, p := range a.patterns {
		if _, ok := next.set[p]; !ok {
			removed = append(removed, p)
		}
	}
	return added, kept, removed
}

// Suggest names the patterns that would cover h: the host itself and, where it
// makes sense, the wildcard above it.
func Suggest(h Host) []string {
	all := []string{Pattern{host: h}.String()}
	if _, literal := h.Addr(); literal {
		return all
	}
	if _, above, ok := strings.Cut(string(h), "."); ok {
		if p, err := ParsePattern("*." + above); err == nil {
			all = append(all, p.String())
		}
	}
	return all
}

// ListError says what is wrong with a list as a whole (empty, too long).
type ListError struct{ Reason string }

func (e *ListError) Error() string { return "domains " + e.Reason }
