package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The parts that URLs are made of. What is likelier to be read in two ways stands
// oftener; a plain form stands in each, so that most URLs are odd in few places.
var (
	urlSchemes = []string{"http", "https", "https", "http", "HTTPS", "hTtP", "ht\ttps", "https ", "http\n", " https", "\x00http", "ws", "wss", "ftp", "file", "blob:https",
		"view-source:https", "javascript", "httpss", "1http", ""}
	urlSlashes = []string{"://", "://", "://", "://", "://", ":", ":/", ":///", ":////", `:\\`, `:/\`, `:\/`, ":/\t/", ":\n//", ":// ", "//", ":/./", ":/?/"}
	urlUsers   = []string{"", "", "", "", "", "", "u@", "u:p@", ":@", "@", "@@", "good.test@", "good.test:80@", "good.test%40", `good.test\@`, "good.test/@", "good.test?@", "good.test#@",
		"a@b@", "u:p:q@", "%00@", "\t@", "ü:é@", "[::1]@", "good.test:443;@"}
	urlPorts = []string{"", "", "", "", "", "", ":", ":80", ":443", ":8080", ":0", ":0443", ":00000000080", ":65535", ":65536", ":99999", ":18446744073709551696", ":-1", ":+80", ":8 0", ":80a",
		": 80", ":8\t0", ":８０", ":80:80", ":%38%30", ":0x50", ":8０"}
	urlPaths = []string{"", "/", "/", "/a/b", "/../x", "/./", "/%2e%2e/x", `\x`, "/%", "/%zz", "/a b", "/ü", "/\t/x", "/@evil.test/", "/:80", "//evil.test/", `/\evil.test`, "/x;y=z", "/|^`{}", "/'\"<>", "/%00"}
	urlEnds  = []string{"", "", "", "", "?q", "?a=b&c=d", "?ü", "?'", `?\`, "?@evil.test", "?#", "#f", "#@evil.test", `#\`, "#ü", "#`", "?%", "# ", "?x\n", " ", "\t", "\x00"}

	urlNames = []string{"good.test", "GOOD.test", "evil.test", "www.good.test", "intranet", "localhost", "a", "xn--bcher-kva.test", "xn--a", "xn--", "xn--zzzzzz.test", "XN--BCHER-KVA.test",
		"bücher.test", "BÜCHER.test", "faß.test", "βόλος.test", "ｇｏｏｄ.test", "good。test", "good．test", "good｡test", "go\u00adod.test", "\u00ad", "go\u200dod.test", "go\u200cod.test",
		"\u200b.test", "go\ufeffod.test", "пример.test", "例え.test", "مثال.test", "אב.test", "א1.test", "1א.test", "aא.test", "क\u094d\u200dष.test", "☃.test", "💩.test", "ℊood.test", "㏂.test", "\u0301a.test", "ＸＮ－－a.test",
		"xn--\u00ad.test", "a\u0338.test", "a≠b.test", "a≮b.test", "℀.test", "⒈.test", "Ⅷ.test", "ẞ.test", "İ.test", "K.test", "ſ.test", "\ufffd.test", "\ue000.test", "𝒈ood.test", "𝟏.test",
		"go%6fd.test", "go%6Fd.test", "good%2etest", "good%2Etest", "good%00.test", "good%20.test", "good%2f.test", "good%3a80", "good%40evil.test", "good%5c.test", "good%25.test", "%67%6f%6f%64.test",
		"%ef%bd%87ood.test", "%c3%bc.test", "%ff.test", "%e3%80%82.test", "good%.test", "good%zz.test", "good%ad.test", "good_x.test", "_good.test", "-good.test", "good-.test", "go--od.test", "ab--cd.test",
		"good.test.", "good.test..", "good..test", ".good.test", ".", "..", "a.", "", "good.test。", "good\u3002.test", "go od.test", "good^.test", "good|.test", "good<.test", "good>.test", "good[.test", "good].test",
		"good{.test", "good}.test", "good`.test", "good\".test", "good'.test", "good!.test", "good$.test", "good&.test", "good*.test", "*.good.test", "good(.test", "good+.test", "good,.test", "good;.test",
		"good=.test", "good~.test", "good\x7f.test", "good\x01.test", "go\tod.test", "good\n.test", "good\r.test", "good\x00.test", "good.1", "good.0x1", "good.0x", "good.08", "good.1a", "1.good", "a.1.", "0x.test"}
	urlFours = []string{"127.0.0.1", "0177.0.0.1", "0x7f.1", "0X7F.0.0.1", "2130706433", "0x7f000001", "017700000001", "127.1", "127.0.1", "127.0.0.1.", "127.0.0.1..", "127.0.0.0x1", "0", "0x", "0x.0x", "00", "1.2.3", "256.1.1.1",
		"1.256", "1.2.256", "1.2.65535", "1.2.65536", "1.16777216", "1.16777215", "4294967295", "4294967296", "0x100000000", "0xffffffff", "037777777777", "040000000000", "1.2.3.4.5", "1.2.3.4.", ".1.2.3.4", "1..2", "08.0.0.1", "09", "0x7g.1", "1.2.3.08",
		"1.2.3.0x", "①②⑦.0.0.1", "１２７.0.0.1", "127。0。0。1", "127.0.0.１", "%31%32%37.0.0.1", "127%2e0%2e0%2e1", "0\u00adx7f.1", "127.0.0.1\u00ad", "169.254.169.254", "0xa9fea9fe", "99999999999999999999", "0x00000000000000000000000000007f.1",
		"-1", "+1", "1.2.3.-4", "1e3", "1.2.3.4a", "0b1", "0o17"}
	urlSixes = []string{"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[0:0:0:0:0:0:0:1]", "[2001:DB8::1]", "[2001:db8:0:0:1:0:0:1]", "[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]",
		"[1::2::3]", "[:1]", "[1:]", "[::1%25eth0]", "[::1%eth0]", "[fe80::1%25]", "[::01]", "[::00001]", "[::g]", "[::1", "::1", "::1]", "[]", "[:]", "[::ffff:256.0.0.1]", "[::ffff:127.0.1]", "[::ffff:0x7f.0.0.1]", "[::ffff:127.0.0.01]",
		"[::1.2.3.4:5]", "[64:ff9b::1.2.3.4]", "[v1.a]", "[127.0.0.1]", "[good.test]", "[[::1]]", "[::1]a", "a[::1]", "[::1].", "[ ::1]", "[::1\t]", "[::１]", "%5b::1%5d", "[%3a:1]", "[::ffff:1.2.3.4.]", "[1:2:3:4:5:6:1.2.3.4]", "[1:2:3:4:5:6:7:1.2.3.4]", "[::ffff:0:127.0.0.1]", "[1:0:0:2::]", "[0:1::]"}
	urlOdd = []rune("\t\n\r \x00\x01\x7f/\\@:?#[]%.。．｡-_\u00ad\u200b\u200c\u200d\u2060\ufeff\ufffd０Ａxn09aAüßıſK\u0301א\u0660\u202e💩<>^|`{}'\"*~")
)

// urlGenerator makes the same URLs at each run.
type urlGenerator struct{ *rand.Rand }

func newURLGenerator() urlGenerator { return urlGenerator{rand.New(rand.NewPCG(20, 26))} }

func (g urlGenerator) of(all []string) string { return all[g.IntN(len(all))] }

func (g urlGenerator) host() string {
	switch g.IntN(10) {
	case 0, 1:
		return g.of(urlFours)
	case 2, 3:
		return g.of(urlSixes)
	case 4:
		return g.of(urlNames) + "." + g.of(urlNames)
	case 5: // around the lengths of labels and names
		label := strings.Repeat(g.of([]string{"a", "a", "ü", "xn--", "1"}), 60+g.IntN(8))
		return strings.Repeat(label+".", g.IntN(5)) + g.of(urlNames)
	case 6: // any octets, written as numbers of any base
		parts := make([]string, 1+g.IntN(5))
		for i := range parts {
			parts[i] = fmt.Sprintf(g.of([]string{"%d", "%d", "0%o", "0x%x", "0X%X", "%d"}), g.IntN(1<<(1+g.IntN(33))))
		}
		return strings.Join(parts, ".")
	}
	return g.of(urlNames)
}

func (g urlGenerator) next() string {
	scheme, slashes := "https", "://"
	if g.IntN(2) == 0 {
		scheme = g.of(urlSchemes)
	}
	if g.IntN(3) == 0 {
		slashes = g.of(urlSlashes)
	}
	url := []rune(scheme + slashes + g.of(urlUsers) + g.host() + g.of(urlPorts) + g.of(urlPaths) + g.of(urlEnds))
	for range max(0, g.IntN(6)-2) {
		at := g.IntN(len(url))
		odd := urlOdd[g.IntN(len(urlOdd))]
		switch g.IntN(4) {
		case 0:
			url = slices.Insert(url, at, odd)
		case 1:
			url[at] = odd
		case 2:
			url = append(url[:at:at], url[min(at+1, len(url)):]...)
		case 3: // a piece once more
			url = slices.Insert(url, at, slices.Clone(url[at:min(at+1+g.IntN(6), len(url))])...)
		}
		if len(url) == 0 {
			break
		}
	}
	return string(url)
}

// platformURLs are the absolute URLs of the web platform's own test data, which
// come with the parser, and Unicode's hosts made into URLs.
func platformURLs(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/nlnwa/whatwg-url").Output()
	require.NoError(t, err)
	dir := filepath.Join(strings.TrimSpace(string(out)), "testdata")
	var all []string
	for file, prefix := range map[string]string{"urltestdata.json": "", "toascii.json": "https://", "IdnaTestV2.json": "https://"} {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		var entries []json.RawMessage
		require.NoError(t, json.Unmarshal(raw, &entries))
		for _, entry := range entries {
			var test struct {
				Input *string
				Base  string
			}
			if json.Unmarshal(entry, &test) == nil && test.Input != nil && (test.Base == "" || test.Base == "about:blank") {
				all = append(all, prefix+*test.Input)
			}
		}
	}
	slices.Sort(all)
	require.Greater(t, len(all), 1000, "the data is where it was")
	return slices.Compact(all)
}
