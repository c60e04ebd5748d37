package xds

import (
	"fmt"
	"net/netip"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/gatefold/gatefold/store/counted"
)

// The types of expressions, in words. The type "" means that the type is known only when Envoy has the request, as for
// metadata.
const (
	aText     = "a text"
	aNumber   = "a number"
	aTruth    = "true or false"
	aTime     = "a point in time"
	aMap      = "a map"
	aList     = "a list"
	someBytes = "bytes"
	aNull     = "null"
)

// attributeType returns the type of an attribute of Envoy, by its path (celPath), or "" if it is not known.
func attributeType(path string) string {
	switch path {
	case "request.path", "request.url_path", "request.host", "request.scheme", "request.method", "request.referer", "request.useragent",
		"request.id", "request.protocol", "request.query", "source.address", "destination.address",
		"connection.requested_server_name", "connection.tls_version", "connection.sha256_peer_certificate_digest",
		"xds.route_name", "xds.cluster_name", "xds.filter_chain_name", "xds.virtual_host_name":
		return aText
	case "request.size", "source.port", "destination.port", "connection.id", "xds.listener_direction":
		return aNumber
	case "connection.mtls":
		return aTruth
	case "request.time":
		return aTime
	case "request.headers", "metadata.filter_metadata":
		return aMap
	}
	if strings.HasPrefix(path, "connection.") && strings.HasSuffix(path, "_certificate") {
		return aText
	}
	return ""
}

// celType returns the type of an expression in words, or "" if the type is not known.
func celType(e ast.Expr) string {
	switch e.Kind() {
	case ast.LiteralKind:
		return literalType(e.AsLiteral().Value())
	case ast.ListKind:
		return aList
	case ast.IdentKind:
		return aMap // metadata, filter_state or xds: the other attributes need a field
	case ast.SelectKind:
		s := e.AsSelect()
		switch {
		case s.IsTestOnly():
			return aTruth
		case isHeaders(s.Operand()):
			return aText
		}
		return attributeType(celPath(e))
	case ast.CallKind:
		return callType(e.AsCall())
	}
	return ""
}

// literalType returns the type of a literal value.
func literalType(value any) string {
	switch value.(type) {
	case string:
		return aText
	case int64, uint64, float64:
		return aNumber
	case bool:
		return aTruth
	case []byte:
		return someBytes
	}
	return aNull
}

// callType returns the type of the result of a function or operator.
func callType(call ast.CallExpr) string {
	args := call.Args()
	switch name := call.FunctionName(); name {
	case operators.Index:
		if len(args) == 2 && isHeaders(args[0]) {
			return aText
		}
		return attributeType(callPath(call))
	case operators.Conditional:
		if t := celType(args[1]); t == celType(args[2]) {
			return t
		}
		return ""
	case "size", "int", operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate:
		return aNumber
	default:
		if celFunctions()[name] {
			return aTruth
		}
	}
	return "" // Envoy has no such function
}

// mayBeBool reports whether an expression can be a boolean. Any other expression never matches.
func mayBeBool(e ast.Expr) bool { return among(celType(e), aTruth) }

// among reports whether a type is one of those in the list, or is not known.
func among(of string, list ...string) bool {
	for _, t := range list {
		if of == t {
			return true
		}
	}
	return of == ""
}

// isHeaders reports whether an expression is request.headers.
func isHeaders(e ast.Expr) bool { return celPath(e) == "request.headers" }

// operandFault returns why a function or operator cannot do with its operands what its author wants, or "". For a
// method call, the first operand is the receiver. Envoy does not report such an expression: it fails or is false for
// every request, or with "!=" true for every request.
func operandFault(name string, operands []ast.Expr) string {
	want, number := "", 0
	switch name {
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return compareFault(operands[0], operands[1:])
	case operators.In:
		return memberFault(operands[0], operands[1])
	case "startsWith", "endsWith", "contains", "matches":
		want, number = aText, 2
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
		want, number = aTruth, len(operands)
	case operators.Conditional:
		want, operands, number = aTruth, operands[:1], 1
	case operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate:
		want, number = aNumber, len(operands)
	case operators.Index:
		return indexFault(operands[0], operands[1])
	case "size", "int":
		return measureFault(name, operands)
	}
	if len(operands) != number {
		return fmt.Sprintf("has %s with %d values, and it takes %d", name, len(operands), number)
	}
	for _, operand := range operands {
		if of := celType(operand); !among(of, want) {
			return fmt.Sprintf("has %s where %q takes %s only", of, strings.Trim(name, "_"), want)
		}
	}
	if name == "endsWith" || name == "matches" {
		return addressTailFault(name, operands[0], operands[1])
	}
	return ""
}

// compareFault returns why an operand can never be equal to the others, or be ordered with them, and "" if it can.
func compareFault(one ast.Expr, others []ast.Expr) string {
	for _, other := range others {
		x, y := celType(one), celType(other)
		switch {
		case x == "" || y == "" || x == y:
		case x == aNull || y == aNull:
			return "compares with null, which nothing is equal to: has(…) asks whether an attribute is there"
		default:
			return fmt.Sprintf("compares %s with %s, which are never equal", x, y)
		}
		if fault := addressFault(one, other); fault != "" {
			return fault
		}
		if fault := addressFault(other, one); fault != "" {
			return fault
		}
	}
	return ""
}

// memberFault returns why the operator "in" never finds an item in a list or map, or "".
func memberFault(item, within ast.Expr) string {
	if within.Kind() == ast.ListKind {
		return compareFault(item, within.AsList().Elements())
	}
	if of := celType(within); !among(of, aMap) {
		return fmt.Sprintf("looks with \"in\" into %s: it takes a list or a map; contains(…) looks into a text", of)
	}
	if of := celType(item); isHeaders(within) && !among(of, aText) {
		return fmt.Sprintf("looks for %s among the names of headers, which are texts", of)
	}
	return ""
}

// indexFault returns why x[key] never has a value, or "".
func indexFault(x, key ast.Expr) string {
	of, by := celType(x), celType(key)
	switch {
	case !among(of, aMap, aList):
		return fmt.Sprintf("reads a part of %s, which has none", of)
	case of == aMap && !among(by, aText), of == aList && !among(by, aNumber):
		return fmt.Sprintf("reads a part of %s by %s", of, by)
	}
	return ""
}

// measureFault returns why the function size or int has no result, or "".
func measureFault(name string, operands []ast.Expr) string {
	if len(operands) != 1 {
		return fmt.Sprintf("has %s with %d values, and it takes 1", name, len(operands))
	}
	of := celType(operands[0])
	if name == "size" && among(of, aText, aMap, aList, someBytes) || name == "int" && among(of, aText, aNumber, aTruth, aTime) {
		return ""
	}
	return fmt.Sprintf("has %s of %s", name, of)
}

// isAddress reports whether an expression is the address of a connection's end, which has the port at its end.
func isAddress(e ast.Expr) bool {
	path := celPath(e)
	return path == "source.address" || path == "destination.address"
}

// addressFault returns why a text can never be equal to an address, or "". Envoy's addresses have a port, as in
// 10.0.0.1:80 or [::1]:80.
func addressFault(address, other ast.Expr) string {
	text, ok := textOf(other)
	if _, err := netip.ParseAddrPort(text); !ok || !isAddress(address) || err == nil {
		return ""
	}
	return withoutPort(address, text)
}

// withoutPort returns the words for a comparison of an address with a text without a port.
func withoutPort(address ast.Expr, text string) string {
	hint := "policy.blockedCIDRs and policy.allowedCIDRs, or acl, compare addresses of clients"
	if celPath(address) != "source.address" {
		hint = "destination.port has the port alone"
	}
	return fmt.Sprintf("compares %s with %q, but Envoy's addresses have a port, as in 10.0.0.1:80 and [::1]:80: the two are never equal; %s", celPath(address), text, hint)
}

// addressTailFault returns why an address can never end as a call wants, or "". The call is endsWith, or matches with a
// regular expression that ends in $.
func addressTailFault(name string, address, other ast.Expr) string {
	text, ok := textOf(other)
	if !ok || !isAddress(address) {
		return ""
	}
	if name == "endsWith" && !endsInPort(text) {
		return withoutPort(address, text)
	}
	if pattern, err := counted.ParseRegex(text); name == "matches" && err == nil && neverEndsInPort(pattern) {
		return withoutPort(address, text)
	}
	return ""
}

// endsInPort reports whether an address with a port may end in a text.
func endsInPort(text string) bool {
	port := text[strings.LastIndex(text, ":")+1:]
	return strings.Trim(port, "0123456789") == ""
}

// neverEndsInPort reports whether all texts that a pattern matches end in a literal that is not the end of an address
// with a port. It is false for a pattern that does not end in $.
func neverEndsInPort(pattern *syntax.Regexp) bool {
	all := pattern.Sub
	if pattern.Op != syntax.OpConcat || len(all) < 2 || all[len(all)-1].Op != syntax.OpEndText {
		return false
	}
	return badTail(all[len(all)-2])
}

// badTail reports whether all texts that a pattern matches end as no address with a port does. Patterns that are not
// made of literals, groups and alternatives count as good.
func badTail(pattern *syntax.Regexp) bool {
	switch pattern.Op {
	case syntax.OpLiteral:
		return !endsInPort(string(pattern.Rune))
	case syntax.OpCapture:
		return badTail(pattern.Sub[0])
	case syntax.OpConcat:
		return badTail(pattern.Sub[len(pattern.Sub)-1])
	case syntax.OpAlternate:
		for _, sub := range pattern.Sub {
			if !badTail(sub) {
				return false
			}
		}
		return true
	}
	return false
}

// textOf returns the value of a literal text. ok is false for other expressions.
func textOf(e ast.Expr) (text string, ok bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	value, ok := e.AsLiteral().(types.String)
	return string(value), ok
}
