package gate

import (
	"strings"
	"unicode"
)

// together are scripts that one language writes in one word.
var together = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"},
	{"Latin", "Han", "Bopomofo"},
	{"Latin", "Han", "Hangul"},
}

// MixedScripts reports whether one label of the Unicode form mixes scripts that
// are not usually written together.
func (p Pattern) MixedScripts() bool {
	for label := range strings.SplitSeq(p.host.Unicode(), ".") {
		if mixed(label) {
			return true
		}
	}
	return false
}

func mixed(label string) bool {
	found := map[string]bool{}
	for _, r := range label {
		if r < 0x80 && !unicode.IsLetter(r) || unicode.In(r, unicode.Common, unicode.Inherited) {
			continue
		}
		for name, table := range unicode.Scripts {
			if unicode.Is(table, r) {
				found[name] = true
			}
		}
	}
	if len(found) < 2 {
		return false
	}
	for _, set := range together {
		known := 0
		for _, name := range set {
			if found[name] {
				known++
			}
		}
		if known == len(found) {
			return false
		}
	}
	return true
}
