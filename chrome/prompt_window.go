package chrome

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// promptSetUp bounds how long a window may take to come up.
const promptSetUp = 15 * time.Second

// errTampered declines: somebody did something to the window other than answer.
var errTampered = errors.New("the approval window was navigated, or a tab was opened beside it")

// promptWindow is one approval window: a browser context of its own, one target
// in it, and a binding that exists only in an isolated world of that target's
// first document.
type promptWindow struct {
	in      *instance
	context cdp.BrowserContextID
	target  target.ID
	ctx     context.Context // attached to the target
	cancel  context.CancelFunc
	release context.CancelFunc // of the browser's listener
	world   runtime.ExecutionContextID
	binding string
	loader  cdp.LoaderID // of the first document
	frame   cdp.FrameID
	events  chan promptEvent
	mine    map[target.ID]bool // targets of the context; heardBrowser's alone
	up      chan struct{}      // closed once the first question can be answered
	buried  chan struct{}      // one token: something may lie above the window
	raised  time.Time          // last, by Ask's goroutine
}

// promptEvent is what the listeners tell Ask.
type promptEvent struct {
	payload string // of the binding, in the right world
	world   runtime.ExecutionContextID
	loader  cdp.LoaderID // of a document that starts or commits
	other   target.ID    // a target that came up in the context
	over    bool         // the target is gone
}

// openPrompt makes the browser context. Nothing is on the screen before Ask.
func (in *instance) openPrompt(context.Context) (window, error) {
	yes := true
	made, err := chromedp.CallBrowser(in.ctx, target.CreateBrowserContext, target.CreateBrowserContextParams{DisposeOnDetach: &yes})
	if err != nil {
		return nil, in.orGone(fmt.Errorf("opening the approval window: %w", err))
	}
	// From here on the gate fails every request of this context.
	if err := in.allowPrompt(made.BrowserContextID); err != nil {
		return nil, err
	}
	w := &promptWindow{
		in: in, context: made.BrowserContextID, binding: "sallyport" + rand.Text(),
		// Room for what comes while the window is set up; what does not fit declines.
		events: make(chan promptEvent, 256),
		mine:   map[target.ID]bool{},
		up:     make(chan struct{}),
		buried: make(chan struct{}, 1),
		cancel: func() {}, release: func() {},
	}
	listening, release := context.WithCancel(in.ctx)
	w.release = release
	if err := chromedp.ListenBrowser(listening, w.heardBrowser); err != nil {
		w.Close()
		return nil, in.orGone(err)
	}
	return w, nil
}

// tell enqueues an event. It runs on chromedp's goroutines and never blocks.
func (w *promptWindow) tell(e promptEvent) {
	select {
	case w.events <- e:
	default:
		// A flood is no answer: make room for an event that declines.
		<-w.events
		w.tell(promptEvent{loader: "flood"})
	}
}

func (w *promptWindow) heardBrowser(event any) {
	switch e := event.(type) {
	case *target.EventTargetCreated:
		if e.TargetInfo.BrowserContextID == w.context && e.TargetInfo.Type == "page" {
			w.mine[e.TargetInfo.TargetID] = true
			w.tell(promptEvent{other: e.TargetInfo.TargetID})
		}
	case *target.EventTargetDestroyed:
		w.ended(e.TargetID)
	case *target.EventTargetCrashed:
		w.ended(e.TargetID)
	}
}

func (w *promptWindow) ended(id target.ID) {
	if w.mine[id] {
		w.tell(promptEvent{other: id, over: true})
	}
}

func (w *promptWindow) heard(event any) {
	switch e := event.(type) {
	case *runtime.EventBindingCalled:
		if e.Name == w.binding {
			w.tell(promptEvent{payload: e.Payload, world: e.ExecutionContextID})
		}
	case *page.EventFrameStartedNavigating:
		w.tell(promptEvent{loader: e.LoaderID})
	case *page.EventFrameNavigated:
		w.tell(promptEvent{loader: e.Frame.LoaderID})
	case *page.EventNavigatedWithinDocument:
		w.tell(promptEvent{loader: "within"})
	case *inspector.EventDetached:
		w.tell(promptEvent{other: w.target, over: true})
	}
}

// Ask shows a question and waits for its answer.
func (w *promptWindow) Ask(ctx context.Context, q Question) (Answer, error) {
	content := newPromptPage(q)
	nonce := rand.Text()
	if err := w.show(ctx, content, nonce); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return Declined, cause
		}
		if errors.Is(err, errTampered) {
			return Declined, nil
		}
		return Declined, w.in.orGone(err)
	}
	var raise <-chan time.Time
	for {
		select {
		case <-w.buried:
			if raise == nil {
				raise = time.After(w.raiseAfter())
			}
		case <-raise:
			raise = nil
			w.raise()
		case e := <-w.events:
			if answer, settled := w.answer(e, nonce); settled {
				return answer, nil
			}
		case <-w.in.gone:
			return Declined, ErrGone
		case <-ctx.Done():
			return Declined, context.Cause(ctx)
		}
	}
}

// answer reads one event. Only the binding, in the one world, with this
// question's secret, can allow; whatever moves the window declines.
func (w *promptWindow) answer(e promptEvent, nonce string) (Answer, bool) {
	switch {
	case e.payload != "":
		var said struct{ Nonce, Answer string }
		if e.world != w.world || json.Unmarshal([]byte(e.payload), &said) != nil || said.Nonce != nonce {
			return "", false
		}
		if said.Answer == string(Allowed) {
			return Allowed, true
		}
		return Declined, true
	case e.over:
		return Declined, e.other == w.target
	case e.other != "" && e.other != w.target, e.loader != "" && e.loader != w.loader:
		w.in.log.Warn("approval window tampered with; taken as a refusal")
		return Declined, true
	}
	return "", false
}

// show puts a question on the screen: the first in a window of its own, the next
// in its place.
func (w *promptWindow) show(ctx context.Context, content promptPage, nonce string) error {
	config := map[string]string{"binding": w.binding, "nonce": nonce, "title": content.Title}
	if w.target == "" {
		if err := w.create(ctx, content); err != nil {
			return err
		}
	} else {
		body, err := content.render("body")
		if err != nil {
			return err
		}
		config["body"] = body
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return err
	}
	focused, err := w.evaluate("(" + strings.TrimSpace(stripComments(approvalJS)) + ")(" + string(raw) + ")")
	if err != nil {
		return fmt.Errorf("setting up the approval window: %w", err)
	}
	if config["body"] == "" {
		close(w.up)
	}
	return w.focus(ctx, focused)
}

// stripComments drops the script's heading, so that an expression is left.
func stripComments(script string) string {
	for strings.HasPrefix(script, "//") {
		_, script, _ = strings.Cut(script, "\n")
	}
	return script
}

// settle waits for the first document, and remembers it: any other declines.
func (w *promptWindow) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, promptSetUp)
	defer cancel()
	for {
		tree, err := chromedp.Call(w.ctx, page.GetFrameTree, cdp.Empty{})
		if err != nil {
			return fmt.Errorf("looking at the approval window: %w", err)
		}
		if f := tree.FrameTree.Frame; strings.HasPrefix(f.URL, "data:text/html") {
			w.loader = f.LoaderID
			return nil
		}
		if err := rest(ctx, 20*time.Millisecond); err != nil {
			return errTampered
		}
	}
}

// evaluate runs an expression in the isolated world and returns its truth.
func (w *promptWindow) evaluate(expression string) (bool, error) {
	value, err := w.value(expression)
	return string(value) == "true", err
}

// value returns an expression's value as JSON.
func (w *promptWindow) value(expression string) ([]byte, error) {
	byValue := true
	r, err := chromedp.Call(w.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ContextID: w.world, ReturnByValue: &byValue})
	if err != nil {
		return nil, err
	}
	if r.ExceptionDetails != nil {
		return nil, fmt.Errorf("its script failed: %s", r.ExceptionDetails.Text)
	}
	return r.Result.Value, nil
}

// Close takes the window away. It may be called more than once.
func (w *promptWindow) Close() {
	w.release()
	w.cancel()
	_, err := chromedp.CallBrowser(w.in.ctx, target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: w.context})
	if err != nil {
		w.in.log.Debug("closing an approval window", "error", err)
	}
}

func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
