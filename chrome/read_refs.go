package chrome

import (
	"strconv"
	"sync"

	"github.com/chromedp/cdproto/cdp"
)

// refs name the elements of one document: an element keeps its name as long as the
// document lives. Readings of a tab may run at once, so it has a lock of its own.
type refs struct {
	mu     sync.Mutex // guards below
	loader cdp.LoaderID
	names  map[element]string
	places map[string]element
}

// element is a node as the browser knows it: its number is of its frame's process.
type element struct {
	frame cdp.FrameID
	node  cdp.BackendNodeID
}

// name gives an element of a document its name, the one it has if it has one.
func (r *refs) name(loader cdp.LoaderID, e element) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loader != loader || r.names == nil {
		r.loader, r.names, r.places = loader, map[element]string{}, map[string]element{}
	}
	if known := r.names[e]; known != "" {
		return known
	}
	name := "e" + strconv.Itoa(len(r.names)+1)
	r.names[e], r.places[name] = name, e
	return name
}

// find returns the element of a name that the document gave.
func (r *refs) find(loader cdp.LoaderID, name string) (element, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, known := r.places[name]
	return e, known && r.loader == loader
}
