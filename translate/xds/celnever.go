package xds

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/gatefold/gatefold/store/counted"
	"github.com/gatefold/gatefold/translate/ir"
)

// neverInPath returns the first text with which an expression compares request.path or request.url_path, and that no
// path has when Envoy evaluates the expression (ir.NormalizePath). It returns "" if there is none.
func neverInPath(tree ast.Expr) (text string) {
	ast.PostOrderVisit(tree, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || text != "" {
			return
		}
		call := e.AsCall()
		operands := call.Args()
		if call.IsMemberFunction() {
			operands = append([]ast.Expr{call.Target()}, operands...)
		}
		if len(operands) != 2 {
			return
		}
		if name := call.FunctionName(); isPath(operands[0]) {
			text = neverOf(name, operands[1])
		} else if isPath(operands[1]) && (name == operators.Equals || name == operators.NotEquals) {
			text = neverOf(name, operands[0])
		}
	}))
	return text
}

// isPath reports whether an expression is the path of the request.
func isPath(e ast.Expr) bool {
	path := celPath(e)
	return path == "request.path" || path == "request.url_path"
}

// neverOf returns the text, or the part of a regular expression, with which a function compares a path in vain.
func neverOf(name string, with ast.Expr) string {
	if name == operators.In && with.Kind() == ast.ListKind {
		for _, element := range with.AsList().Elements() {
			if text := neverOf(operators.Equals, element); text != "" {
				return text
			}
		}
		return ""
	}
	text, ok := textOf(with)
	path, _, _ := strings.Cut(text, "?") // request.path has the query
	whole := name == operators.Equals || name == operators.NotEquals
	switch {
	case !ok:
	case name == "matches":
		if pattern, err := counted.ParseRegex(text); err == nil {
			if part := ir.ImpossibleInPath(pattern); !strings.Contains(part, "?") {
				return part
			}
		}
	case whole && (path == "" || path[0] != '/' || ir.NormalizePath(path) != path), name == "startsWith" && path != "" && path[0] != '/',
		(name == "startsWith" || name == "contains" || name == "endsWith") && !ir.MayBeInPath(path):
		return text
	}
	return ""
}
