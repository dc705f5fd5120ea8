package chrome

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/netip"
	"strings"

	"sallyport/gate"
)

//go:embed approval.html
var approvalHTML string

//go:embed approval.css
var approvalCSS string

//go:embed approval.js
var approvalJS string

var approvalTemplate = template.Must(template.New("approval").Parse(approvalHTML))

// promptPage is what the approval window shows, in words.
type promptPage struct {
	Title, Heading, Lead, Client string
	Style                        template.CSS
	Sections                     []promptSection
}

type promptSection struct {
	ID, Title string
	Rows      []promptRow
}

type promptRow struct {
	Name     string
	ASCII    string // where it differs
	Covers   string
	Warnings []string
}

func newPromptPage(q Question) promptPage {
	p := promptPage{
		Title:   fmt.Sprintf("Sallyport: %s asks", q.Client),
		Client:  "“" + q.Client + "”",
		Heading: "Allow these sites?",
		Lead:    "It will drive tabs of this browser, where you may be signed in, on these sites only, until its session ends.",
		Style:   template.CSS(approvalCSS), // our own file
	}
	if len(q.Local) > 0 {
		p.Heading = "Allow private addresses?"
		p.Lead = "These names lead into a private network or to this machine. Allow them only if you expect that."
		p.Sections = []promptSection{{"new", "Leads to a private address", localRows(q.Local)}}
		return p
	}
	if len(q.Added) == 0 {
		p.Heading = "Change the list of sites?"
	}
	for _, s := range []struct {
		id, title string
		patterns  []gate.Pattern
	}{{"new", "New", q.Added}, {"staying", "Stays", q.Kept}, {"going", "Goes", q.Removed}} {
		if len(s.patterns) > 0 {
			p.Sections = append(p.Sections, promptSection{s.id, s.title, patternRows(s.patterns, s.id != "going")})
		}
	}
	return p
}

func patternRows(patterns []gate.Pattern, warn bool) []promptRow {
	rows := make([]promptRow, len(patterns))
	for i, p := range patterns {
		rows[i] = promptRow{Name: p.Unicode(), Covers: p.Covers()}
		if p.Unicode() != p.String() {
			rows[i].ASCII = p.String()
		}
		if warn {
			rows[i].Warnings = warningsOf(p)
		}
	}
	return rows
}

func warningsOf(p gate.Pattern) []string {
	var w []string
	if p.Local() {
		w = append(w, "This is this machine or a private network, not a public site.")
	}
	if suffix, shared := p.SharedSuffix(); shared {
		w = append(w, "Anyone can get a name under "+suffix+".")
	}
	if p.MixedScripts() {
		w = append(w, "Mixes alphabets, as look-alike names do.")
	}
	return w
}

func localRows(hosts []LocalHost) []promptRow {
	rows := make([]promptRow, len(hosts))
	for i, h := range hosts {
		rows[i] = promptRow{Name: h.Host.Unicode(), Covers: "leads to " + joinAddrs(h.Addrs)}
		if rows[i].Name != string(h.Host) {
			rows[i].ASCII = string(h.Host)
		}
	}
	return rows
}

func joinAddrs(addrs []netip.Addr) string {
	texts := make([]string, len(addrs))
	for i, a := range addrs {
		texts[i] = fmt.Sprintf("%s (%s)", a, gate.Classify(a, nil))
	}
	return strings.Join(texts, ", ")
}

// dataURL is the whole page as an address: so that the page, not the address bar,
// has the focus, and nothing is fetched.
func (p promptPage) dataURL() (string, error) {
	html, err := p.render("page")
	if err != nil {
		return "", err
	}
	return "data:text/html;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(html)), nil
}

func (p promptPage) render(name string) (string, error) {
	var b bytes.Buffer
	if err := approvalTemplate.ExecuteTemplate(&b, name, p); err != nil {
		return "", fmt.Errorf("rendering the approval window: %w", err)
	}
	return b.String(), nil
}
