package chrome

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"sallyport/chrome/reading"
	"sallyport/gate"
)

// view is one frame of the document, and the world beside it that reads.
type view struct {
	id      cdp.FrameID
	parent  *view // nil for the main frame, and for one in another process
	ctx     context.Context
	frame   *cdp.Frame
	covered bool
	own     bool // in the main frame's process, so watched from its beginning
	origin  string
	world   runtime.ExecutionContextID
}

func (v *view) host() string {
	at, err := gate.Parse(v.frame.URL)
	if err != nil {
		return strings.SplitN(v.frame.URL, ":", 2)[0] + ":"
	}
	return string(at.Host())
}

// framesOf are the frames of the tab's document, the main frame first. A frame that
// nobody knows the document of is not among them, and so not covered.
func (r *reader) framesOf(ctx context.Context) ([]*view, error) {
	if r.views != nil {
		return r.views, nil
	}
	tree, err := call(ctx, r.tab, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return nil, err
	}
	r.addFrames(r.tab.ctx, tree.FrameTree, nil, true)
	if err := r.addFarFrames(ctx); err != nil {
		return nil, err
	}
	return r.views, nil
}

func (r *reader) addFrames(ctx context.Context, tree *page.FrameTree, parent *view, own bool) {
	f := tree.Frame
	v := &view{id: f.ID, parent: parent, ctx: ctx, frame: f, own: own, origin: f.SecurityOrigin}
	at := document{url: f.URL}
	at.target, _ = gate.Parse(f.URL)
	if strings.HasPrefix(f.URL, "about:") {
		v.covered = parent != nil && parent.covered // it is of its parent's making
	} else {
		v.covered = f.UnreachableURL == "" && r.in.covers(r.tab, at.place())
	}
	r.views = append(r.views, v)
	for _, child := range tree.ChildFrames {
		r.addFrames(ctx, child, v, own)
	}
}

// addFarFrames finds the frames that live in processes of their own. Those that are
// not covered are only named.
func (r *reader) addFarFrames(ctx context.Context) error {
	found, err := chromedp.CallBrowser(r.in.ctx, target.GetTargets, target.GetTargetsParams{})
	if err != nil {
		return err
	}
	ours := map[cdp.FrameID]bool{}
	for _, v := range r.views {
		ours[v.id] = true
	}
	for more := true; more; {
		more = false
		for _, info := range found.TargetInfos {
			id := cdp.FrameID(info.TargetID)
			if info.Type != "iframe" || ours[id] || !ours[info.ParentFrameID] {
				continue
			}
			more, ours[id] = true, true
			if at, err := gate.Parse(info.URL); err != nil || !r.in.covers(r.tab, at) {
				r.views = append(r.views, &view{id: id, frame: &cdp.Frame{ID: id, URL: info.URL}})
				continue
			}
			if err := r.addFar(ctx, info); err != nil {
				r.in.log.Debug("reading a frame", "error", err)
			}
		}
	}
	return nil
}

func (r *reader) addFar(ctx context.Context, info *target.Info) error {
	far, cancel := chromedp.NewContext(r.in.ctx, chromedp.WithTargetID(info.TargetID), chromedp.WithDetachOnCancel())
	stop := context.AfterFunc(ctx, cancel)
	r.closes = append(r.closes, func() { stop(); cancel() })
	tree, err := chromedp.Call(far, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		return err
	}
	r.addFrames(far, tree.FrameTree, nil, false)
	return nil
}

// close undoes what reading needed, the last thing first.
func (r *reader) close() {
	for _, f := range slices.Backward(r.closes) {
		f()
	}
}

// main is the main frame alone.
func (r *reader) main() *view {
	return &view{id: r.frame.ID, ctx: r.tab.ctx, frame: r.frame, covered: true, own: true}
}

// inFrame runs a command in the frame's DevTools session.
func inFrame[P, R any](ctx context.Context, v *view, command cdp.Command[P, R], params P) (R, error) {
	c, cancel := context.WithCancel(v.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return chromedp.Call(c, command, params)
}

// watchFields puts the reading script beside every document of a tab from its
// beginning, so that it knows which fields once were secret.
func watchFields(ctx context.Context) error {
	yes := true
	_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: reading.Script, WorldName: reading.World, RunImmediately: &yes,
	})
	return err
}

// enter makes sure that the reading script is beside the frame's document.
func (v *view) enter(ctx context.Context) error {
	if v.world != 0 {
		return nil
	}
	made, err := inFrame(ctx, v, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: v.id, WorldName: reading.World})
	if err != nil {
		return err
	}
	if _, err := inFrame(ctx, v, runtime.Evaluate, runtime.EvaluateParams{Expression: reading.Script, ContextID: made.ExecutionContextID}); err != nil {
		return err // where it is already, it does nothing
	}
	v.world = made.ExecutionContextID
	return nil
}

const asks = `function (name, ...args) { return sallyport[name](...args); }`

// ask calls a function of the reading script.
func (v *view) ask(ctx context.Context, name string, args ...any) ([]byte, error) {
	return v.askOf(ctx, "", name, args...)
}

// askOf hands an element of the frame to the function, first.
func (v *view) askOf(ctx context.Context, object runtime.RemoteObjectID, name string, args ...any) ([]byte, error) {
	if err := v.enter(ctx); err != nil {
		return nil, err
	}
	yes := true
	p := runtime.CallFunctionOnParams{FunctionDeclaration: asks, ReturnByValue: &yes, Silent: &yes}
	add := func(value any) {
		raw, _ := json.Marshal(value) // numbers and strings
		p.Arguments = append(p.Arguments, &runtime.CallArgument{Value: jsonv2.Value(raw)})
	}
	add(name)
	if object == "" {
		p.ExecutionContextID = v.world
	} else {
		p.ObjectID = object
		p.Arguments = append(p.Arguments, &runtime.CallArgument{ObjectID: object})
	}
	for _, arg := range args {
		add(arg)
	}
	got, err := inFrame(ctx, v, runtime.CallFunctionOn, p)
	if err != nil {
		return nil, err
	}
	if got.ExceptionDetails != nil {
		return nil, fmt.Errorf("%w: %s", errNoScript, got.ExceptionDetails.Text)
	}
	return got.Result.Value, nil
}

// element is a node of the frame, for the reading script.
func (v *view) element(ctx context.Context, id cdp.BackendNodeID) (runtime.RemoteObjectID, error) {
	if err := v.enter(ctx); err != nil {
		return "", err
	}
	got, err := inFrame(ctx, v, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: id, ExecutionContextID: v.world})
	if err != nil {
		return "", err
	}
	return got.Object.ObjectID, nil
}

// isSecret asks about a field. What can't be asked about is secret.
func (v *view) isSecret(ctx context.Context, id cdp.BackendNodeID) bool {
	object, err := v.element(ctx, id)
	if err != nil {
		return true
	}
	secret, err := decode[bool](v.askOf(ctx, object, "secret"))
	return err != nil || secret
}
