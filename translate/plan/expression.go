package plan

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/gatefold/gatefold/store/counted"
)

// maxByExpression limits how many requests plan makes up for one CEL expression: at most this many for which the
// expression may be true, and at most this many for which it may be false. It also limits how many expressions of a
// rule plan looks at (see variantMaker.byAccess).
const maxByExpression = 24

// expressions are parsed CEL expressions by their text. An invalid expression is nil.
type expressions map[string]ast.Expr

// variants returns variants of a request. For some of them, a CEL expression may be true, and for the others it may
// be false. The variants differ in the method, the path and the headers that the expression compares. Only package
// explain computes the actual value. variants returns nil for an invalid expression.
func (x expressions) variants(text string, r request) (out []request) {
	root, known := x[text]
	if !known {
		if parsed, err := counted.ParseCEL(text); err == nil {
			root = parsed.NativeRep().Expr()
		}
		x[text] = root
	}
	if root == nil {
		return nil
	}
	for _, want := range []bool{true, false} {
		out = append(out, solve(root, want, []request{r})...)
	}
	return out
}

// solve returns variants of the requests in which the CEL expression e may have the value of the parameter want.
// If the form of the expression is not known, solve returns the requests unchanged.
func solve(e ast.Expr, want bool, requests []request) []request {
	if e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() {
		return set(requests, attribute{"header", strings.ToLower(e.AsSelect().FieldName())}, "any", want)
	}
	if e.Kind() != ast.CallKind {
		return requests
	}
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); {
	case name == operators.LogicalNot:
		return solve(args[0], !want, requests)
	case name == operators.LogicalAnd || name == operators.LogicalOr:
		if (name == operators.LogicalAnd) == want { // both operands must have the value
			return solve(args[1], want, solve(args[0], want, requests))
		}
		return bounded(slices.Concat(solve(args[0], want, requests), solve(args[1], want, requests)))
	case name == operators.Equals || name == operators.NotEquals:
		return compared(args[0], args[1], want == (name == operators.Equals), requests)
	case name == operators.In:
		return member(args[0], args[1], want, requests)
	case call.IsMemberFunction() && len(args) == 1:
		return called(name, call.Target(), args[0], want, requests)
	}
	return requests
}

// bounded returns the first maxByExpression requests.
func bounded(requests []request) []request { return requests[:min(len(requests), maxByExpression)] }

// compared handles a comparison of an attribute with a text, such as request.method == "GET". It returns copies of
// the requests. The attribute is the text in the copies if equal is true, and is not the text otherwise (see the
// function set for exceptions). The operands a and b may be in either order. If no operand is an attribute, or none
// is a text, compared returns the requests unchanged.
func compared(a, b ast.Expr, equal bool, requests []request) []request {
	if _, is := literal(a); is {
		a, b = b, a
	}
	at, is := attributeOf(a)
	text, isText := literal(b)
	if !is || !isText {
		return requests
	}
	return set(requests, at, text, equal)
}

// member returns variants of the requests for the expression "a in b". If b is request.headers, a is the name of a
// header: the variants have the header if want is true, and lack it if want is false. If b is a list and a is an
// attribute, the variants are those that the function set returns for the attribute and each text in the list. For
// other operands, member returns the requests unchanged. It returns at most maxByExpression variants for a list.
func member(a, b ast.Expr, want bool, requests []request) []request {
	if name, isText := literal(a); isText && isHeaders(b) {
		return set(requests, attribute{"header", strings.ToLower(name)}, "any", want)
	}
	at, is := attributeOf(a)
	if !is || b.Kind() != ast.ListKind {
		return requests
	}
	var out []request
	for _, one := range b.AsList().Elements() {
		if text, isText := literal(one); isText {
			out = append(out, set(requests, at, text, want)...)
		}
	}
	return bounded(out)
}

// called handles a function call such as request.path.startsWith("/api"): its function is startsWith, its target is
// the attribute request.path, and its argument is the literal "/api". called returns copies of the requests, which it
// changes so that the call may return the value of the parameter want. If the function is not known, the target is
// not an attribute, or the argument is not a string literal, called returns the requests unchanged.
func called(function string, target, arg ast.Expr, want bool, requests []request) []request {
	at, is := attributeOf(target)
	text, isText := literal(arg)
	if !is || !isText {
		return requests
	}
	values := []string{text}
	switch function {
	case "startsWith":
		values = append(values, text+"any")
	case "endsWith", "contains":
		values = append(values, "/any"+text)
	case "matches":
		values, _ = patterns{}.samples(text, nil, pathCharacters, nil)
	default:
		return requests
	}
	var out []request
	for _, value := range values[:min(len(values), maxChoices)] {
		out = append(out, set(requests, at, value, want)...)
	}
	return bounded(out)
}

// attribute is a part of a request that expressions read. kind is "method", "path" or "header"; header is the
// name of the header.
type attribute struct{ kind, header string }

// attributeOf returns the attribute that an expression reads. ok is false if it reads something else.
func attributeOf(e ast.Expr) (at attribute, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		switch field := e.AsSelect(); {
		case isHeaders(field.Operand()):
			return attribute{"header", strings.ToLower(field.FieldName())}, true
		case !isRequest(field.Operand()):
		case field.FieldName() == "method":
			return attribute{kind: "method"}, true
		case field.FieldName() == "path" || field.FieldName() == "url_path":
			return attribute{kind: "path"}, true
		case field.FieldName() == "useragent":
			return attribute{"header", "user-agent"}, true
		case field.FieldName() == "referer":
			return attribute{"header", "referer"}, true
		}
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index || !isHeaders(call.Args()[0]) {
			return at, false
		}
		switch name, isText := literal(call.Args()[1]); {
		case !isText:
		case name == ":method":
			return attribute{kind: "method"}, true
		case name == ":path":
			return attribute{kind: "path"}, true
		case !strings.HasPrefix(name, ":"):
			return attribute{"header", strings.ToLower(name)}, true
		}
	}
	return at, false
}

// isRequest reports whether an expression is the variable request.
func isRequest(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "request" }

// isHeaders reports whether an expression is request.headers.
func isHeaders(e ast.Expr) bool {
	return e.Kind() == ast.SelectKind && e.AsSelect().FieldName() == "headers" && isRequest(e.AsSelect().Operand())
}

// literal returns the text of a string literal. ok is false for any other expression.
func literal(e ast.Expr) (text string, ok bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok = e.AsLiteral().Value().(string)
	return text, ok
}

// set returns copies of the requests with another value of an attribute, which is the method, a header or the path.
// If want is true, set gives the attribute the value. If want is false, set replaces the method if it equals value,
// or removes the header. A path is only changed if want is true and the value begins with "/".
func set(requests []request, at attribute, value string, want bool) (out []request) {
	for _, r := range requests {
		r.headers = r.headers.Clone()
		switch {
		case at.kind == "method" && want:
			r.method = value
		case at.kind == "method":
			if r.method == value {
				r.method = otherMethod(value)
			}
		case at.kind == "path":
			if path, _, _ := strings.Cut(value, "?"); want && strings.HasPrefix(path, "/") {
				r.path = path
			}
		case want:
			r.headers.Set(at.header, value)
		default:
			r.headers.Del(at.header)
		}
		out = append(out, r)
	}
	return out
}

// otherMethod returns a method that differs from the given one: POST for GET, GET for any other.
func otherMethod(method string) string {
	if method == http.MethodGet {
		return http.MethodPost
	}
	return http.MethodGet
}
