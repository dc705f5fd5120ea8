package gate

import (
	"regexp"
	"strings"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// mapper is the parser's own mapping of names, which its interface does not show.
var mapper = whatwg.NewParser().(interface {
	DecodePercentEncoded(s string) string
	ToASCII(src string, beStrict bool) (string, error)
})

// unsound is a host that the parser refuses.
const unsound = "["

// numeric is a name that the parser may take for an IPv4 address.
var numeric = regexp.MustCompile(`(^|\.)(0x[+-]?[0-9a-f]*|[+-]?[0-9]+)$|(^|\.)0[+-][0-7]+$`)

// sound stands before the parser's reading of a host, and refuses what it is known
// to read otherwise than Chromium: TestNoURLIsReadOtherwiseThanByChromium found all
// of these.
func sound(_ *whatwg.Url, host string) string {
	if inner, literal := strings.CutPrefix(host, "["); literal {
		if strings.ContainsAny(strings.TrimSuffix(inner, "]"), "[]") {
			return unsound // it drops as many brackets as there are
		}
		return host
	}
	name := mapper.DecodePercentEncoded(host)
	mapped, err := mapper.ToASCII(name, false)
	if err != nil {
		return host // which it refuses by itself
	}
	if strings.ContainsAny(mapped, "+-") && numeric.MatchString(strings.TrimSuffix(mapped, ".")) {
		return unsound // it takes signs in numbers
	}
	if !plain(name) && !settled(name, mapped) {
		return unsound
	}
	return host
}

// plain reports that mapping a name is putting it in lower case.
func plain(name string) bool {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return false
		}
	}
	return !strings.Contains(strings.ToLower(name), "xn--")
}

// settled reports that a mapped name means itself, as what Chromium takes always
// does, and that its last label did not vanish in the mapping.
func settled(name, mapped string) bool {
	if strings.ContainsRune(name, 'ẞ') {
		return false // ss to the parser's tables, ß to Chromium's
	}
	if last, _ := utf8.DecodeLastRuneInString(name); strings.HasSuffix(mapped, ".") && !strings.ContainsRune(".。．｡", last) {
		return false
	}
	again, err := mapper.ToASCII(mapped, false)
	return err == nil && again == mapped
}
