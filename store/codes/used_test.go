package codes

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// module is the path that the packages of this repository begin with.
const module = "github.com/gatefold/gatefold"

// conditionsOnly are the reasons that only conditions of a status have, never a problem.
var conditionsOnly = []string{
	"Accepted", "ResolvedRefs", "Programmed", "NoConflicts", "Pending", "ListenersNotValid", "ListenersNotResolved",
	"ConfigurationChanged", "ParentNotProgrammed", "Valid", "IncompatibleFilters", "PortUnavailable", "NoValidCACertificate",
	"OverlappingHostnames", "OverlappingCertificates",
}

// TestEveryCodeHasAnEntry reads the types of the whole program and finds each constant
// that becomes the code of a problem. Each must be in All, and All has no others.
func TestEveryCodeHasAnEntry(t *testing.T) {
	used := usedCodes(t)
	for _, code := range conditionsOnly {
		delete(used, code)
	}
	for code, at := range used {
		if _, ok := Find(code); !ok {
			t.Errorf("%s: the code %s has no entry in store/codes/entries*.go: say its cause and its fix there, and add testdata/%s.txtar", at, code, code)
		}
	}
	for _, entry := range All() {
		if _, ok := used[entry.Name]; !ok {
			t.Errorf("store/codes/entries*.go has %s, which nothing uses", entry.Name)
		}
	}
}

// usedCodes returns where each code is used.
func usedCodes(t *testing.T) map[string]string {
	t.Helper()
	packages := listPackages(t)
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	c := &collector{files: token.NewFileSet(), found: map[string]string{}}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	imports := importer.ForCompiler(c.files, "gc", lookup)
	for _, p := range packages {
		if strings.HasPrefix(p.ImportPath, module+"/") && !strings.Contains(p.ImportPath, "/api") {
			c.read(t, p, imports)
		}
	}
	if len(c.found) < 50 {
		t.Fatalf("only %d codes found", len(c.found))
	}
	return c.found
}

// A listed is what `go list` prints of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", module+"/server/cli").Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// A collector finds the constants that stand where a code is expected.
type collector struct {
	files *token.FileSet
	info  *types.Info
	found map[string]string
}

func (c *collector) read(t *testing.T, p listed, imports types.Importer) {
	t.Helper()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(c.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	c.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: imports}
	if _, err := config.Check(p.ImportPath, c.files, parsed, c.info); err != nil {
		t.Fatal(err)
	}
	for _, file := range parsed {
		ast.Inspect(file, c.node)
	}
}

// node takes the constants that are of a type of reasons, and those that are given to
// something called code or reason.
func (c *collector) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && isCode(key.Name) {
			c.add(n.Value)
		}
	case ast.Expr:
		if value, ok := c.info.Types[n]; ok && value.Value != nil {
			if named, ok := value.Type.(*types.Named); ok && strings.HasSuffix(named.Obj().Name(), "Reason") && !foreign(named) {
				c.add(n)
			}
		}
		switch n := n.(type) {
		case *ast.CallExpr:
			c.arguments(n)
		case *ast.CompositeLit:
			c.fields(n)
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if len(n.Lhs) == len(n.Rhs) && isCode(name(left)) {
				c.add(n.Rhs[i])
			}
		}
	case *ast.ValueSpec:
		for i, left := range n.Names {
			if i < len(n.Values) && isCode(left.Name) {
				c.add(n.Values[i])
			}
		}
	}
	return true
}

// foreign reports whether a type of reasons is not of problems: why an Envoy holds an
// endpoint unhealthy, for instance.
func foreign(named *types.Named) bool {
	return strings.HasSuffix(named.Obj().Pkg().Path(), "/health") || strings.Contains(named.Obj().Pkg().Path(), "envoyproxy")
}

func (c *collector) arguments(call *ast.CallExpr) {
	signature, ok := c.info.Types[call.Fun].Type.(*types.Signature)
	if !ok {
		return
	}
	for i, argument := range call.Args {
		if i < signature.Params().Len() && isCode(signature.Params().At(i).Name()) {
			c.add(argument)
		}
	}
}

// fields looks at a struct that is written without the names of its fields.
func (c *collector) fields(literal *ast.CompositeLit) {
	fields, ok := c.info.Types[literal].Type.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, value := range literal.Elts {
		if _, keyed := value.(*ast.KeyValueExpr); !keyed && i < fields.NumFields() && isCode(fields.Field(i).Name()) {
			c.add(value)
		}
	}
}

// isCode reports whether a variable of this name holds a code: code, problemCode, codeShadowed.
func isCode(name string) bool {
	return name == "code" || name == "Code" || strings.HasPrefix(name, "code") && len(name) > 4 && name[4] <= 'Z'
}

// name returns the name of a variable or field, "" for other expressions.
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

var camel = regexp.MustCompile(`^[A-Z][a-z]*([A-Z][A-Za-z0-9]*)*$`)

func (c *collector) add(e ast.Expr) {
	value := c.info.Types[e].Value
	if value == nil || value.Kind() != constant.String || !camel.MatchString(constant.StringVal(value)) {
		return
	}
	position := c.files.Position(e.Pos())
	c.found[constant.StringVal(value)] = filepath.Base(filepath.Dir(position.Filename)) + "/" + filepath.Base(position.Filename)
}

func TestAllIsSorted(t *testing.T) {
	if !slices.IsSortedFunc(All(), func(a, b Entry) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("All is not sorted by name")
	}
}
