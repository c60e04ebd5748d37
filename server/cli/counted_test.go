package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notLinear are the calls whose work grows faster than their input, or is far larger: "package path.Func", or a method
// of CEL's environment.
var notLinear = []string{
	"crypto/x509.ParseCertificate", "crypto/x509.ParseCertificates", "crypto/x509.ParsePKCS8PrivateKey", "crypto/x509.ParsePKCS1PrivateKey", "crypto/x509.ParseECPrivateKey",
	"crypto/x509.ParsePKIXPublicKey", "crypto/x509.ParsePKCS1PublicKey", "crypto/x509.ParseCertificateRequest", "crypto/x509.ParseRevocationList", "crypto/x509.DecryptPEMBlock",
	"crypto/tls.X509KeyPair", "crypto/tls.LoadX509KeyPair", "crypto/rsa.VerifyPKCS1v15", "crypto/rsa.VerifyPSS", "crypto/ecdsa.ParseUncompressedPublicKey", "crypto/ecdsa.ParseRawPrivateKey",
	"regexp.Compile", "regexp.CompilePOSIX", "regexp.MustCompile", "regexp.MustCompilePOSIX", "regexp.Match", "regexp.MatchString", "regexp.MatchReader", "regexp/syntax.Parse", "regexp/syntax.Compile",
	"Env.Parse", "Env.Compile", "Env.ParseSource", "Env.CompileSource", "AppendCertsFromPEM",
}

// TestEveryCallIsCounted finds each call of notLinear in the program, and wants it in the file that the table of
// docs/design/safety.md names for it. A regular expression that the program itself has, as a constant, is free.
func TestEveryCallIsCounted(t *testing.T) {
	text, err := os.ReadFile("../../docs/design/safety.md")
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]string{} // the files for each call, in the table's spelling
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*) \\| .* \\| (`[a-z/_0-9]+\\.go`.*) \\|$").FindAllStringSubmatch(string(text), -1) {
		for _, call := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			allowed[call[1]] += row[2]
		}
	}
	if len(allowed) < 12 {
		t.Fatalf("docs/design/safety.md has a table of only %v", allowed)
	}
	seen := map[string]bool{}
	for _, name := range programFiles(t) {
		for _, call := range callsIn(t, name) {
			seen[call] = true
			if want := allowed[call]; !strings.Contains(want, "`"+name+"`") {
				t.Errorf("%s calls %s, whose work is not linear: call what counts first, in %q, or add the call with its count to the table of docs/design/safety.md", name, call, want)
			}
		}
	}
	for call := range allowed {
		if !seen[call] && !strings.HasPrefix(call, "SetBytes") {
			t.Errorf("docs/design/safety.md has %s, which nothing calls", call)
		}
	}
}

// programFiles returns the files of Go that are in the program, from the root of the repository.
func programFiles(t *testing.T) (names []string) {
	t.Helper()
	root := "../.."
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		first, _, _ := strings.Cut(name, "/")
		if entry.IsDir() && (slices.Contains([]string{"bench", "envoy", "examples", "testsize", "packaging"}, first) || strings.HasPrefix(first, ".") && first != "." || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			names = append(names, name)
		}
		return nil
	})
	if err != nil || len(names) < 300 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	return names
}

// callsIn returns the calls of notLinear in a file, as the table spells them: with the last element of the package.
func callsIn(t *testing.T, name string) (calls []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", name), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	packages, cel := map[string]string{}, false
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		local := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			local = spec.Name.Name
		}
		packages[local] = path
		cel = cel || strings.HasSuffix(path, "/cel-go/cel")
	}
	constants := constantCalls(file)
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok || constants[selector] {
			return true
		}
		function := selector.Sel.Name
		if base, ok := selector.X.(*ast.Ident); ok && packages[base.Name] != "" {
			if path := packages[base.Name]; slices.Contains(notLinear, path+"."+function) {
				calls = append(calls, path[strings.LastIndexByte(path, '/')+1:]+"."+function)
			}
			return true
		}
		switch {
		case cel && slices.Contains(notLinear, "Env."+function):
			calls = append(calls, "Env.Parse")
		case slices.Contains(notLinear, function):
			calls = append(calls, function)
		}
		return true
	})
	return calls
}

// constantCalls returns the functions of the calls regexp.MustCompile whose expression is written in the program.
func constantCalls(file *ast.File) map[*ast.SelectorExpr]bool {
	found := map[*ast.SelectorExpr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 && isWritten(call.Args[0]) {
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "MustCompile" {
				found[selector] = true
			}
		}
		return true
	})
	return found
}

// isWritten reports whether an expression is a text in the program, or a name of this file for one.
func isWritten(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit, *ast.Ident:
		return true
	case *ast.BinaryExpr:
		return isWritten(e.X) && isWritten(e.Y)
	}
	return false
}
