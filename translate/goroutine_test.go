package translate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Translation is one goroutine's work: no package of it starts another, so that the race
// detector has nothing to find there.
func TestTranslateStartsNoGoroutine(t *testing.T) {
	read := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		read++
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine", files.Position(n.Pos()))
			case *ast.SelectorExpr:
				if n.Sel.Name == "Go" { // of sync.WaitGroup and errgroup.Group
					t.Errorf("%s calls a method Go", files.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || read < 100 {
		t.Errorf("%d files read, %v", read, err)
	}
}
