package reading

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Node is one line of an outline.
type Node struct {
	Ref   string // "e12"; empty for text
	Role  string
	Name  string
	Value string
	State []string // "checked", "level=2"
	Leads string   // a link's target: its host, or its scheme where there is none
}

// Outline is an accessibility tree as indented text, written line by line until
// it is full.
type Outline struct {
	most      int // characters; 0 means no bound
	used      int
	lines     []string
	hide      []string
	words     []string // said and not written yet
	depth     int      // of the words
	Truncated bool
}

// NewOutline writes at most so many characters. Each of hide is written as bullets,
// wherever it comes up.
func NewOutline(most int, hide []string) *Outline {
	return &Outline{most: most, hide: hide}
}

// Say adds words to the line of text that is being written, or begins one.
func (o *Outline) Say(depth int, words string) {
	if depth != o.depth {
		o.Stop()
	}
	o.depth = depth
	o.words = append(o.words, words)
}

// Stop ends the line of text.
func (o *Outline) Stop() {
	words := strings.Join(o.words, "")
	o.words = nil
	if strings.TrimSpace(words) != "" {
		o.write(o.depth, Node{Role: "text", Name: words})
	}
}

// Add writes a line, and reports whether there was room. Words just said that are
// no more than the node's name, as a field's label is, are left out.
func (o *Outline) Add(depth int, n Node) bool {
	if strings.Join(strings.Fields(strings.Join(o.words, "")), " ") == n.Name {
		o.words = nil
	}
	o.Stop()
	return o.write(depth, n)
}

func (o *Outline) write(depth int, n Node) bool {
	line := strings.Repeat(" ", depth) + n.line(o.hide)
	length := utf8.RuneCountInString(line) + 1
	if o.Truncated || o.most > 0 && o.used+length > o.most+1 {
		o.Truncated = true
		return false
	}
	o.used += length
	o.lines = append(o.lines, line)
	return true
}

func (o *Outline) String() string {
	o.Stop()
	return strings.Join(o.lines, "\n")
}

// How much of one name or value is shown, and of one text, in characters.
const (
	longest     = 500
	longestText = 4000
)

func (n Node) line(hide []string) string {
	parts := []string{n.Role}
	if n.Ref != "" {
		parts = []string{n.Ref, n.Role}
	}
	most := longest
	if n.Role == "text" {
		most = longestText
	}
	if name := tidy(n.Name, most, hide); name != "" {
		parts = append(parts, strconv.Quote(name))
	}
	parts = append(parts, n.State...)
	if value := tidy(n.Value, longest, hide); value != "" {
		parts = append(parts, "value="+strconv.Quote(value))
	}
	if n.Leads != "" {
		parts = append(parts, "-> "+n.Leads)
	}
	return strings.Join(parts, " ")
}

// Bullets stand for what is secret.
const Bullets = "•••"

// tidy brings a text onto one line, without secrets.
func tidy(text string, most int, hide []string) string {
	for _, secret := range hide {
		text = strings.ReplaceAll(text, secret, Bullets)
	}
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > most {
		runes := []rune(text)
		text = string(runes[:most]) + "…"
	}
	return text
}

// Quiet reports roles that say nothing by themselves: their children stand in
// their place.
func Quiet(role string) bool { return slices.Contains(quiet, role) }

// Inline reports roles of words within a line, which is not broken by them.
func Inline(role string) bool { return slices.Contains(inline, role) }

var (
	quiet  = []string{"", "none", "generic", "presentation", "paragraph", "Section", "LayoutTable", "LayoutTableRow", "LayoutTableCell", "RootWebArea", "rowgroup", "MenuListPopup", "DisclosureTriangle"}
	inline = []string{"strong", "emphasis", "code", "mark", "subscript", "superscript", "time", "insertion", "deletion", "Abbr", "LabelText", "LineBreak"}
)
