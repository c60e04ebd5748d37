package xds

import (
	"fmt"
	"slices"
	"strings"

	xdstypev3 "github.com/cncf/xds/go/xds/type/v3"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/store/counted"
	"github.com/gatefold/gatefold/store/manifest"
)

// Envoy accepts expressions of CEL only in parsed form, and has no macro except has(). If Envoy cannot evaluate
// an expression, the expression never matches, and Envoy reports no error. So gatefold checks expressions
// before it sends them.

// parseCEL returns an expression in the form that Envoy accepts (parsed), and as a syntax tree (tree). The string
// fault says what is wrong with the expression. If it is not "", parsed and tree are nil.
func parseCEL(text string) (parsed *xdstypev3.CelExpression, tree ast.Expr, fault string) {
	read, err := counted.ParseCEL(text)
	if err != nil {
		return nil, nil, err.Error()
	}
	tree = read.NativeRep().Expr()
	c := celChecker{}
	if c.walk(tree, 1); c.fault == "" && !mayBeBool(tree) {
		c.fault = "is not true or false"
	}
	if c.fault != "" {
		return nil, nil, c.fault
	}
	message, err := cel.AstToParsedExpr(read)
	if err != nil {
		return nil, nil, "cannot be sent: " + err.Error()
	}
	message.GetSourceInfo().Reset() // removes positions in the text
	parsed = &xdstypev3.CelExpression{}
	of := parsed.ProtoReflect()
	into := of.Mutable(of.Descriptor().Fields().ByName("cel_expr_parsed")).Message().Interface()
	if err := proto.Unmarshal(marshal(message), into); err != nil { // both types have one encoding
		return nil, nil, "cannot be sent: " + err.Error()
	}
	return parsed, tree, ""
}

// celAttributes returns the attributes that Envoy knows when it checks a request. The key is the first word of
// an attribute, and the value has its possible fields. A nil value means fields of any name, and that the attribute
// can be used without a field.
func celAttributes() map[string][]string {
	return map[string][]string{
		"request":     {"path", "url_path", "host", "scheme", "method", "headers", "referer", "useragent", "time", "id", "protocol", "query", "size"},
		"source":      {"address", "port"},
		"destination": {"address", "port"},
		"connection": {
			"mtls", "requested_server_name", "tls_version", "id", "subject_local_certificate", "subject_peer_certificate", "dns_san_local_certificate",
			"dns_san_peer_certificate", "uri_san_local_certificate", "uri_san_peer_certificate", "sha256_peer_certificate_digest",
		},
		"metadata": {"filter_metadata"}, "filter_state": nil, "xds": nil,
	}
}

// celFunctions returns the functions that Envoy supports. The value is true if the function may return a
// boolean. "+" is missing: Envoy accepts an expression with "+" for texts, but fails to evaluate it.
func celFunctions() map[string]bool {
	return map[string]bool{
		operators.LogicalAnd: true, operators.LogicalOr: true, operators.LogicalNot: true, operators.Conditional: true, operators.In: true,
		operators.Equals: true, operators.NotEquals: true, operators.Less: true, operators.LessEquals: true, operators.Greater: true, operators.GreaterEquals: true,
		"startsWith": true, "endsWith": true, "contains": true, "matches": true,
		operators.Index: true, "size": false, "int": false,
		operators.Subtract: false, operators.Multiply: false, operators.Divide: false, operators.Modulo: false, operators.Negate: false,
	}
}

// celChecker checks an expression. The field fault describes the first part that Envoy rejects or that never
// matches, or says that the expression is too large. It is "" if there is no fault. The field nodes is the number of
// parts that were checked.
type celChecker struct {
	nodes int
	fault string
}

// walk checks the expression e and the expressions in e, and sets c.fault at the first fault. The parameter depth is
// how deep e is nested.
func (c *celChecker) walk(e ast.Expr, depth int) {
	c.nodes++
	switch {
	case c.fault != "":
		return
	case depth > counted.MaxCELDepth:
		c.fault = fmt.Sprintf("is nested more than %d deep", counted.MaxCELDepth)
		return
	case c.nodes > counted.MaxCELParts:
		c.fault = fmt.Sprintf("has more than %d parts", counted.MaxCELParts)
		return
	}
	switch e.Kind() {
	case ast.LiteralKind:
	case ast.IdentKind:
		c.ident(e.AsIdent())
	case ast.SelectKind:
		c.selects(e.AsSelect(), depth)
	case ast.CallKind:
		c.call(e.AsCall(), depth)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			c.walk(element, depth+1)
		}
	default:
		c.fault = "has a map or an object, which Envoy cannot compare"
	}
}

// ident checks an attribute that an expression uses without a field. It sets c.fault if Envoy does not know the
// attribute when it checks a request, or if the attribute needs a field, as in request.path.
func (c *celChecker) ident(name string) {
	fields, known := celAttributes()[name]
	switch {
	case name == "response" || name == "upstream":
		c.fault = fmt.Sprintf("reads %s, which does not exist yet when the request is checked", name)
	case !known:
		c.fault = fmt.Sprintf("reads %q: Envoy has request, source, destination, connection, metadata, filter_state and xds", manifest.Shorten(name))
	case fields != nil:
		c.fault = fmt.Sprintf("reads %s without a field, such as %s.%s", name, name, fields[0])
	}
}

// selects checks an expression of the form x.field, such as request.path. If x is a name, selects sets c.fault if
// Envoy does not know an attribute x, or if the attribute x has no such field (see celAttributes). If x is another
// expression, selects checks x. The parameter depth is how deep x.field is nested in the whole expression.
func (c *celChecker) selects(s ast.SelectExpr, depth int) {
	if s.Operand().Kind() != ast.IdentKind {
		if of := celType(s.Operand()); of != "" && of != aMap {
			c.fault = fmt.Sprintf("reads %s of %s, which has no fields", manifest.Shorten(s.FieldName()), of)
			return
		}
		c.walk(s.Operand(), depth+1)
		return
	}
	name := s.Operand().AsIdent()
	fields, known := celAttributes()[name]
	if !known {
		c.ident(name)
	}
	if fields != nil && !slices.Contains(fields, s.FieldName()) {
		c.fault = fmt.Sprintf("reads %s.%s, which Envoy does not know when the request is checked; it has %s", name, manifest.Shorten(s.FieldName()), strings.Join(fields, ", "))
	}
}

// call checks the call of a function or operator. It sets c.fault if Envoy does not have the function, if a regular
// expression is invalid or not a constant, if an operand has a type or value with which the call makes no sense (see
// operandFault), or if there is a fault in an argument or in the receiver of a method call. The parameter depth is how
// deep the call is nested.
func (c *celChecker) call(call ast.CallExpr, depth int) {
	name := call.FunctionName()
	if _, known := celFunctions()[name]; !known {
		c.fault = fmt.Sprintf("has %q, which Envoy's expressions do not have", manifest.Shorten(strings.Trim(name, "_")))
		return
	}
	args := call.Args()
	if name == "matches" {
		pattern, constant := "", len(args) > 0 && args[len(args)-1].Kind() == ast.LiteralKind
		if constant {
			pattern, constant = args[len(args)-1].AsLiteral().Value().(string)
		}
		if fault := regexFault(pattern); !constant {
			c.fault = "has a regular expression that is not written out"
		} else if fault != "" {
			c.fault = fmt.Sprintf("has the regular expression %q, which %s", manifest.Shorten(pattern), fault)
		}
	}
	if name == "int" && call.IsMemberFunction() {
		c.fault = "has int as a method: write int(…)"
	}
	operands := args
	if call.IsMemberFunction() {
		operands = append([]ast.Expr{call.Target()}, args...)
	}
	if fault := operandFault(name, operands); c.fault == "" {
		c.fault = fault
	}
	for _, operand := range operands {
		c.walk(operand, depth+1)
	}
}
