package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// arrows is the table of DESIGN.md: which house may import which. The root, and
// the programs under scripts, may import all.
var arrows = map[string][]string{
	"chrome/reading": {}, // a room of chrome's that knows no browser
	"gate":           {},
	"ledger":         {"gate"},
	"certs":          {},
	"proxy":          {"gate", "ledger", "certs"},
	"chrome":         {"gate", "ledger", "chrome/reading"},
	"mcpfront":       {"gate", "ledger", "chrome"},
	"fixtures":       {},
}

// libraries says in which house each third-party library lives, so that
// replacing one touches one house. The root is ".".
var libraries = map[string]string{
	"github.com/nlnwa/whatwg-url":  "gate",
	"github.com/elazarl/goproxy":   "proxy",
	"github.com/chromedp/chromedp": "chrome",
	"github.com/chromedp/cdproto":  "chrome",
	"github.com/mark3labs/mcp-go":  "mcpfront",
	"github.com/spf13/cobra":       ".",
	"github.com/spf13/pflag":       ".",
	"github.com/spf13/viper":       ".",
}

// source is one Go file of the module.
type source struct {
	path  string // relative to the root, with slashes
	house string // the directory; "." is the root
	file  *ast.File
	set   *token.FileSet
}

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) line(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.set.Position(n.Pos()).Line)
}

func (s source) imports() []string {
	var all []string
	for _, spec := range s.file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		all = append(all, path)
	}
	return all
}

// sources parses every Go file of the module, tests too.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		if err != nil || entry.IsDir() {
			if err == nil && path != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		all = append(all, source{filepath.ToSlash(path), filepath.ToSlash(filepath.Dir(path)), file, set})
		return err
	})
	require.NoError(t, err)
	require.Greater(t, len(all), 50, "the test looks in the right place")
	return all
}

func TestTheHousesImportAsTheArrowsSay(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || s.file.Name.Name == "main" {
			continue
		}
		allowed, known := arrows[s.house]
		if !assert.True(t, known, "%s is in no house of DESIGN.md's table", s.path) {
			continue
		}
		for _, path := range s.imports() {
			if house, own := strings.CutPrefix(path, "sallyport/"); own {
				assert.Contains(t, allowed, house, "%s imports %s", s.path, path)
			}
		}
	}
}

func TestEachLibraryIsImportedByOneHouse(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		for _, path := range s.imports() {
			first, _, _ := strings.Cut(path, "/")
			if !strings.Contains(first, ".") || first == "golang.org" {
				continue
			}
			library := strings.Join(strings.SplitN(path, "/", 4)[:min(3, strings.Count(path, "/")+1)], "/")
			house, known := libraries[library]
			assert.True(t, known, "%s imports %s, which DESIGN.md does not know", s.path, library)
			assert.Equal(t, house, s.house, "%s imports %s", s.path, library)
		}
	}
}

// selections calls f for every "name.Selected" of a file.
func (s source) selections(f func(at ast.Node, name string)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := selector.X.(*ast.Ident); ok {
				f(n, of.Name+"."+selector.Sel.Name)
			}
		}
		return true
	})
}

func TestStandardOutputBelongsToMCP(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || s.house == "scripts/demoperson" {
			continue
		}
		s.selections(func(at ast.Node, name string) {
			if name == "os.Stdout" || strings.HasPrefix(name, "fmt.Print") {
				assert.Equal(t, "main.go", s.path, "%s writes %s", s.line(at), name)
			}
		})
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if name, ok := call.Fun.(*ast.Ident); ok {
					assert.NotContains(t, []string{"print", "println"}, name.Name, s.line(n))
				}
			}
			return true
		})
	}
}

func TestOnlyMainEndsTheProcess(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		s.selections(func(at ast.Node, name string) {
			if name == "os.Exit" || strings.HasPrefix(name, "log.Fatal") || strings.HasPrefix(name, "log.Panic") {
				assert.Equal(t, "main.go", filepath.Base(s.path), "%s calls %s", s.line(at), name)
			}
		})
	}
}

func TestGoproxysBundledAuthorityIsNeverUsed(t *testing.T) {
	// Its private key is public. The names are split, so that a search for them
	// finds nothing here either.
	names := []string{"Goproxy" + "Ca", "Mitm" + "Connect", "Ok" + "Connect", "Https" + "MitmConnect", "CA_" + "CERT", "CA_" + "KEY", "Always" + "Mitm"}
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok {
				assert.NotContains(t, names, name.Name, s.line(n))
			}
			return true
		})
	}
}

// TestOnlyTestsAnswerForThePerson holds that no build of the product can approve,
// or blind or open a gate, by itself: the seams are set in test files alone.
func TestOnlyTestsAnswerForThePerson(t *testing.T) {
	seams := []string{"Person", "Witness", "Decide", "Hear"}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if !isGateConfig(s, n.Type) {
					break
				}
				for _, element := range n.Elts {
					pair, keyed := element.(*ast.KeyValueExpr)
					if assert.True(t, keyed, "%s fills a gate's Config by position", s.line(n)) {
						assert.NotContains(t, seams, pair.Key.(*ast.Ident).Name, s.line(pair))
					}
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					selector, ok := left.(*ast.SelectorExpr)
					if ok && slices.Contains(seams, selector.Sel.Name) {
						assert.True(t, ownDefault(s, n, i), "%s sets %s", s.line(n), selector.Sel.Name)
					}
				}
			case *ast.UnaryExpr:
				selector, ok := n.X.(*ast.SelectorExpr)
				assert.False(t, ok && n.Op == token.AND && slices.Contains(seams, selector.Sel.Name), "%s takes the address of a seam", s.line(n))
			}
			return true
		})
	}
}

// isGateConfig reports chrome.Config and proxy.Config.
func isGateConfig(s source, typ ast.Expr) bool {
	gates := []string{"chrome", "proxy"}
	switch typ := typ.(type) {
	case *ast.SelectorExpr:
		of, ok := typ.X.(*ast.Ident)
		return ok && slices.Contains(gates, of.Name) && typ.Sel.Name == "Config"
	case *ast.Ident:
		return slices.Contains(gates, s.house) && typ.Name == "Config"
	}
	return false
}

// ownDefault allows what is no seam (a tab's Person in the ledger says whose
// document it shows) and the defaults of chrome.New and proxy.New, which are the
// ledger's Witness and the policy's Decide.
func ownDefault(s source, n *ast.AssignStmt, i int) bool {
	if s.house == "ledger" {
		return true // it can't see chrome.Config
	}
	if s.house != "chrome" && s.house != "proxy" || len(n.Rhs) <= i {
		return false
	}
	left := n.Lhs[i].(*ast.SelectorExpr)
	right, ok := n.Rhs[i].(*ast.SelectorExpr)
	return ok && left.Sel.Name != "Person" && right.Sel.Name == left.Sel.Name
}

func TestFilesAndFunctionsStayShort(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		lines := s.set.File(s.file.Pos()).LineCount()
		assert.LessOrEqual(t, lines, 400, s.path)
		for _, declared := range s.file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok {
				long := s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line + 1
				assert.LessOrEqual(t, long, 60, "%s: %s", s.path, f.Name.Name)
			}
		}
	}
}
