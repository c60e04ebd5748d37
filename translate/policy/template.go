package policy

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// The functions of a template.
const (
	funcHeader        = "header"         // reads a header of the message that is changed
	funcRequestHeader = "request_header" // reads a header of the request, even if a response is changed
	funcLower         = "lower"
	funcUpper         = "upper"
	funcDefault       = "default"
)

const templateHint = `templates know header("x"), request_header("x"), lower(…), upper(…) and default(…, "text")`

// readable matches the name of a header that a template can read. In Envoy's format strings, header names cannot have
// other characters.
var readable = regexp.MustCompile(`^:?[A-Za-z0-9._-]+$`)

// tokens matches one token of the text between {{ and }}.
var tokens = regexp.MustCompile(`\s*(?:([A-Za-z_]\w*)|"((?:[^"\\]|\\["\\])*)"|'((?:[^'\\]|\\['\\])*)'|([(),]))\s*`)

// parseTemplate parses a text with expressions in {{ }}. It returns a problem, which names no field, if the
// text is not supported.
func parseTemplate(value string) (ir.Template, *manifest.Problem) {
	var out ir.Template
	for value != "" {
		plain, rest, found := strings.Cut(value, "{{")
		if strings.Contains(plain, "{%") || strings.Contains(plain, "{#") {
			return nil, templateFault("statements ({% %}) and comments ({# #})")
		}
		if plain != "" {
			out = append(out, ir.Expr{Text: plain})
		}
		if !found {
			break
		}
		inside, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, templateFault("{{ without }}")
		}
		expr, fault := parseExpr(inside)
		if fault != nil {
			return nil, fault
		}
		out = append(out, expr)
		value = after
	}
	return out, nil
}

// templateFault returns the problem that a template uses a feature that gatefold does not support. The message
// begins with the parameter feature, which is the name or the text of the feature.
func templateFault(feature string) *manifest.Problem {
	return &manifest.Problem{
		Code: "UnsupportedValue", Severity: manifest.Error,
		Message: feature + " in a template is not supported yet", Hint: templateHint,
	}
}

// parser reads the tokens of one expression.
type parser struct {
	source string
	rest   [][]string
}

// parseExpr parses the text between {{ and }}. It returns a problem if the expression is not supported.
func parseExpr(source string) (ir.Expr, *manifest.Problem) {
	p := &parser{source: strings.TrimSpace(source), rest: tokens.FindAllStringSubmatch(source, -1)}
	length := 0
	for _, token := range p.rest {
		length += len(token[0])
	}
	expr, ok := p.expr(0)
	if !ok || len(p.rest) > 0 || length != len(source) {
		return ir.Expr{}, templateFault(fmt.Sprintf("{{ %s }}", manifest.Shorten(p.source)))
	}
	return expr, nil
}

// maxNesting is how deep function calls may be nested.
const maxNesting = 4

// expr parses an expression: a function call or a quoted text. It returns false if there is none, if the call is not
// supported, or if calls are nested deeper than maxNesting.
func (p *parser) expr(depth int) (ir.Expr, bool) {
	if len(p.rest) == 0 || depth > maxNesting {
		return ir.Expr{}, false
	}
	token := p.rest[0]
	p.rest = p.rest[1:]
	switch {
	case token[1] != "":
		return p.call(token[1], depth)
	case token[4] != "":
		return ir.Expr{}, false
	}
	return ir.Expr{Text: unquote(token)}, true
}

// unquote returns the text of a quoted token.
func unquote(token []string) string {
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\'`, `'`).Replace(token[2] + token[3])
}

// call parses the arguments of a call of the function with this name. It returns false if the call is not
// supported.
func (p *parser) call(name string, depth int) (ir.Expr, bool) {
	var args []ir.Expr
	for open := "("; ; open = "," {
		if !p.sign(open) {
			break
		}
		arg, ok := p.expr(depth + 1)
		if !ok {
			return ir.Expr{}, false
		}
		args = append(args, arg)
	}
	if !p.sign(")") {
		return ir.Expr{}, false
	}
	return build(name, args)
}

// sign reads the next token if it is the punctuation mark in the parameter want, and then returns true. Otherwise
// it reads nothing and returns false.
func (p *parser) sign(want string) bool {
	if len(p.rest) == 0 || p.rest[0][4] != want {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// build returns the call of a function. It returns false if the function or its arguments are not supported.
func build(name string, args []ir.Expr) (ir.Expr, bool) {
	plain := func(i int) bool { return len(args) > i && args[i].Func == "" }
	switch name {
	case funcHeader, funcRequestHeader:
		if len(args) != 1 || !plain(0) || !readable.MatchString(args[0].Text) {
			return ir.Expr{}, false
		}
		return ir.Expr{Func: name, Text: strings.ToLower(args[0].Text)}, true
	case funcLower, funcUpper:
		return ir.Expr{Func: name, Args: args}, len(args) == 1
	case funcDefault:
		if len(args) != 2 || !plain(1) {
			return ir.Expr{}, false
		}
		return ir.Expr{Func: name, Text: args[1].Text, Args: args[:1]}, true
	}
	return ir.Expr{}, false
}
