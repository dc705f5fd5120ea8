package chrome

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"

	"sallyport/chrome/reading"
	"sallyport/gate"
)

// Snapshot is a page's accessibility tree as indented text.
type Snapshot struct {
	URL, Title, Text string
	Truncated        bool
}

// ReadSnapshot reads at most so many characters of the accessibility tree of a
// session's tab. Errors are those of ReadText.
func (b *Browser) ReadSnapshot(ctx context.Context, r ReadRequest, most int) (Snapshot, error) {
	return readLive(ctx, b, r, func(ctx context.Context, r *reader) (Snapshot, error) {
		frames, err := r.framesOf(ctx)
		if err != nil {
			return Snapshot{}, err
		}
		main := frames[0]
		at, err := decode[textPart](main.ask(ctx, "at"))
		if err != nil {
			return Snapshot{}, err
		}
		hide, err := r.secrets(ctx)
		if err != nil {
			return Snapshot{}, err
		}
		o := &outliner{reader: r, out: reading.NewOutline(most, hide)}
		if err := o.frame(ctx, main, 0); err != nil {
			return Snapshot{}, err
		}
		return Snapshot{URL: saneURL(at.URL), Title: at.Title, Text: o.out.String(), Truncated: o.out.Truncated}, nil
	})
}

// secrets are the texts that no result may hold.
func (r *reader) secrets(ctx context.Context) ([]string, error) {
	var all []string
	for i, v := range r.views {
		if !v.covered {
			continue
		}
		found, err := decode[[]string](v.ask(ctx, "secretValues"))
		if err != nil && i == 0 {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// outliner walks the tree as far as there is room: a page may be larger than what
// anybody wants to read.
type outliner struct {
	*reader
	out     *reading.Outline
	enabled []context.Context // the DevTools sessions in which accessibility is on
}

// branch is the part of one frame's tree that is known by now.
type branch struct {
	view  *view
	nodes map[accessibility.NodeID]*accessibility.Node
}

func (o *outliner) frame(ctx context.Context, v *view, depth int) error {
	if err := o.enable(ctx, v); err != nil {
		return err
	}
	root, err := inFrame(ctx, v, accessibility.GetRootAXNode, accessibility.GetRootAXNodeParams{FrameID: v.id})
	if err != nil {
		return err
	}
	b := &branch{view: v, nodes: map[accessibility.NodeID]*accessibility.Node{}}
	return o.children(ctx, b, root.Node, depth, "")
}

// enable turns accessibility on in a frame's process, until the reading ends: it
// costs the page something.
func (o *outliner) enable(ctx context.Context, v *view) error {
	if slices.Contains(o.enabled, v.ctx) {
		return nil
	}
	o.enabled = append(o.enabled, v.ctx)
	o.closes = append(o.closes, func() { _, _ = inFrame(context.WithoutCancel(ctx), v, accessibility.Disable, cdp.Empty{}) })
	_, err := inFrame(ctx, v, accessibility.Enable, cdp.Empty{})
	return err
}

// children writes what is in a node. said is what the lines above have said already.
func (o *outliner) children(ctx context.Context, b *branch, n *accessibility.Node, depth int, said string) error {
	missing := false
	for _, id := range n.ChildIDs {
		missing = missing || b.nodes[id] == nil
	}
	if missing {
		more, err := inFrame(ctx, b.view, accessibility.GetChildAXNodes, accessibility.GetChildAXNodesParams{ID: n.NodeID, FrameID: b.view.id})
		if err != nil {
			return err
		}
		for _, node := range more.Nodes {
			b.nodes[node.NodeID] = node
		}
	}
	for _, id := range n.ChildIDs {
		child := b.nodes[id]
		if child == nil || o.out.Truncated {
			continue
		}
		delete(b.nodes, id) // it is needed once
		if err := o.node(ctx, b, child, depth, said); err != nil {
			return err
		}
	}
	return nil
}

func (o *outliner) node(ctx context.Context, b *branch, n *accessibility.Node, depth int, said string) error {
	role, name := text(n.Role), text(n.Name)
	switch {
	case role == "StaticText":
		if !strings.Contains(said, strings.TrimSpace(name)) {
			o.out.Say(depth, name)
		}
		return nil
	case n.Ignored || reading.Inline(role):
		return o.children(ctx, b, n, depth, said)
	case reading.Quiet(role):
		o.out.Stop()
		defer o.out.Stop()
		return o.children(ctx, b, n, depth, said)
	case role == "InlineTextBox" || role == "ListMarker" || role == "caption" && said != "":
		return nil
	case role == "Iframe" || role == "IframePresentational":
		return o.inner(ctx, b, n, depth)
	case role == "row" || role == "gridcell" && n.ChildIDs != nil:
		name = "" // it is what its cells say
	}
	line := reading.Node{
		Ref: o.tab.refs.name(o.reader.frame.LoaderID, element{b.view.id, n.BackendDOMNodeID}), Role: role, Name: name,
	}
	deeper := o.describe(ctx, b, n, &line)
	if !o.out.Add(depth, line) || !deeper {
		return nil
	}
	if name == "" {
		name = said
	}
	return o.children(ctx, b, n, depth+1, name)
}

// describe adds a node's value and states, and reports whether its insides may be
// read: those of a field are its value once more.
func (o *outliner) describe(ctx context.Context, b *branch, n *accessibility.Node, line *reading.Node) (deeper bool) {
	deeper = true
	field := false
	for _, p := range n.Properties {
		value := text(p.Value)
		switch p.Name {
		case accessibility.PropertyNameEditable:
			field = value == "plaintext"
		case accessibility.PropertyNameURL:
			line.Leads = leads(value)
		case accessibility.PropertyNameLevel:
			if line.Role != "heading" {
				continue
			}
			line.State = append(line.State, "level="+value)
		case accessibility.PropertyNameChecked, accessibility.PropertyNamePressed, accessibility.PropertyNameExpanded, accessibility.PropertyNameInvalid:
			if value != "false" || p.Name == accessibility.PropertyNameExpanded {
				line.State = append(line.State, string(p.Name)+"="+value)
			}
		case accessibility.PropertyNameDisabled, accessibility.PropertyNameSelected, accessibility.PropertyNameRequired, accessibility.PropertyNameReadonly,
			accessibility.PropertyNameFocused, accessibility.PropertyNameModal:
			if value == "true" {
				line.State = append(line.State, string(p.Name))
			}
		}
	}
	value := text(n.Value)
	picks := line.Role == "combobox" || line.Role == "listbox" || line.Role == "spinbutton"
	if !field && !picks {
		line.Value = value
		return true
	}
	switch {
	case value == "" && !picks:
	case !b.view.own || b.view.isSecret(ctx, n.BackendDOMNodeID): // nobody watched another process's fields
		line.State = append(line.State, "(not shown)")
		return false
	default:
		line.Value = value
	}
	return !field
}

// inner writes the frame that a node holds: what is not covered by one line.
func (o *outliner) inner(ctx context.Context, b *branch, n *accessibility.Node, depth int) error {
	line := reading.Node{Role: "iframe", Name: text(n.Name), State: []string{"(not approved)"}}
	for _, v := range o.views[1:] {
		if !o.holds(ctx, b, n, v) {
			continue
		}
		if line.Leads = v.host(); v.covered && strings.HasPrefix(v.frame.URL, "about:") {
			line.Leads = "" // of the page itself
		}
		if !v.covered {
			break
		}
		line.State = nil
		if !o.out.Add(depth, line) {
			return nil
		}
		return o.frame(ctx, v, depth+1)
	}
	o.out.Add(depth, line)
	return nil
}

// holds reports that a node is the element of a frame.
func (o *outliner) holds(ctx context.Context, b *branch, n *accessibility.Node, v *view) bool {
	owner, err := inFrame(ctx, b.view, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: v.id})
	return err == nil && owner.BackendNodeID == n.BackendDOMNodeID
}

// leads is where a link goes: its host, or its scheme where it has none.
func leads(url string) string {
	if at, err := gate.Parse(url); err == nil {
		return string(at.Host())
	}
	scheme, _, _ := strings.Cut(url, ":")
	return scheme + ":"
}

// text is an accessibility value as text.
func text(v *accessibility.Value) string {
	if v == nil || len(v.Value) == 0 {
		return ""
	}
	var value any
	if json.Unmarshal(v.Value, &value) != nil {
		return ""
	}
	switch value := value.(type) {
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
	return ""
}
