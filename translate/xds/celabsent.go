package xds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// celPath returns the attribute that an expression reads, in one spelling: "request.path", "request.headers['x-a']" or
// "metadata.filter_metadata['a']['b']". Names of headers are in lower case. The result is "" for an expression that is
// no attribute, or that computes a name.
func celPath(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		s := e.AsSelect()
		return fieldPath(celPath(s.Operand()), s.FieldName())
	case ast.CallKind:
		return callPath(e.AsCall())
	}
	return ""
}

// callPath is celPath for the call of an operator: x[name].
func callPath(call ast.CallExpr) string {
	if call.FunctionName() != operators.Index || len(call.Args()) != 2 {
		return ""
	}
	name, ok := textOf(call.Args()[1])
	if !ok {
		return ""
	}
	return fieldPath(celPath(call.Args()[0]), name)
}

// fieldPath returns the path of a field of an attribute, see celPath.
func fieldPath(of, name string) string {
	switch {
	case of == "":
		return ""
	case of == "request.headers":
		name = strings.ToLower(name)
	case of == "filter_state":
	case !strings.Contains(of, "."):
		return of + "." + name
	}
	return fmt.Sprintf("%s['%s']", of, name)
}

// mayBeAbsent reports whether a request may come without the attribute of a path (celPath), so that an expression that
// reads it fails. The list was found with a request without TLS and without headers, on a real Envoy.
func mayBeAbsent(path string) bool {
	switch path {
	case "request.referer", "request.useragent", "connection.tls_version", "connection.sha256_peer_certificate_digest",
		"xds.cluster_name", "xds.cluster_metadata", "xds.upstream_host_metadata", "xds.node":
		return true
	case "request.headers['host']":
		return false
	}
	return strings.HasPrefix(path, "request.headers['") && !strings.HasPrefix(path, "request.headers[':") ||
		strings.HasPrefix(path, "connection.") && strings.HasSuffix(path, "_certificate") ||
		strings.HasPrefix(path, "metadata.filter_metadata[") || strings.HasPrefix(path, "filter_state[") ||
		strings.HasPrefix(path, "xds.") && strings.HasSuffix(path, "]")
}

// reading is an attribute that an expression reads, and that a request may lack.
type reading struct {
	// path is the attribute, see celPath. If the name is computed, path is the map that has the attribute.
	path     string
	computed bool
	// guard is the expression that asks whether the request has the attribute. It is "" if the name is computed.
	guard string
	// negated is true if the value counts where it is different: below "!" or "!=".
	negated bool
}

// words returns what the request lacks, for messages.
func (r *reading) words() string {
	if name, ok := strings.CutPrefix(r.path, "request.headers['"); ok {
		return "the header " + strings.TrimSuffix(name, "']")
	}
	if r.computed {
		return "the name that is looked up in " + r.path
	}
	return r.path
}

// hint returns how to say what is meant for a request without the attribute. The parameter does says what happens to
// requests for which the expression is true.
func (r *reading) hint(does string) string {
	if r.guard == "" {
		return "write the name out, and ask for it with in"
	}
	guard, not := r.guard, "!("+r.guard+")"
	if strings.HasPrefix(guard, "has(") {
		not = "!" + guard
	}
	return fmt.Sprintf("say what is meant for such a request: %s || … %s it, %s && … does not", not, does, guard)
}

// unguarded returns the first attribute that an expression reads without a test whether the request has it. If negated
// is true, it looks only at attributes below "!" or "!=". The test may be anywhere in the expression: 'x-a' in
// request.headers, has(request.referer), or connection.mtls for what a connection has with a certificate. The result is
// nil if every attribute has a test, or is always there.
func unguarded(tree ast.Expr, negated bool) *reading {
	a := absences{asked: map[string]bool{}}
	a.walk(tree, false)
	for _, r := range a.read {
		if negated && !r.negated {
			continue
		}
		withCertificate := strings.HasPrefix(r.path, "connection.") && a.asked["connection.mtls"]
		if r.computed || !withCertificate && slices.ContainsFunc(prefixes(r.path), func(path string) bool { return !a.asked[path] }) {
			return &r
		}
	}
	return nil
}

// absences collects what an expression reads, and what it asks for.
type absences struct {
	read  []reading
	asked map[string]bool
}

// walk collects from the expression e. The parameter negated is true if e is below "!" or "!=".
func (a *absences) walk(e ast.Expr, negated bool) {
	switch e.Kind() {
	case ast.SelectKind:
		if s := e.AsSelect(); s.IsTestOnly() {
			a.ask(celPath(e))
			a.within(s.Operand(), negated)
			return
		}
		a.within(e, negated)
	case ast.CallKind:
		a.call(e, negated)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			a.walk(element, negated)
		}
	}
}

// call collects from the call of a function or operator.
func (a *absences) call(e ast.Expr, negated bool) {
	call := e.AsCall()
	args := call.Args()
	switch call.FunctionName() {
	case operators.Index:
		a.within(e, negated)
		return
	case operators.In:
		if name, ok := textOf(args[0]); ok {
			a.ask(fieldPath(celPath(args[1]), name))
		}
	case operators.LogicalNot, operators.NotEquals:
		negated = true
	}
	if call.IsMemberFunction() {
		a.walk(call.Target(), negated)
	}
	for _, arg := range args {
		a.walk(arg, negated)
	}
}

// within collects from an expression of the form x.field or x[name]. Of metadata.filter_metadata['a']['b'] it collects
// the whole, not the parts.
func (a *absences) within(e ast.Expr, negated bool) {
	path := celPath(e)
	switch {
	case mayBeAbsent(path):
		a.read = append(a.read, reading{path: path, guard: guardOf(path), negated: negated})
		return
	case path == "connection.mtls":
		a.ask(path)
	case path != "":
		return
	case e.Kind() == ast.CallKind:
		operand, key := e.AsCall().Args()[0], e.AsCall().Args()[1]
		if of := celPath(operand); of != "" {
			a.read = append(a.read, reading{path: of, computed: true, negated: negated})
		}
		a.walk(operand, negated)
		a.walk(key, negated)
	case e.Kind() == ast.SelectKind:
		a.walk(e.AsSelect().Operand(), negated)
	}
}

// ask records that an expression asks whether a request has an attribute.
func (a *absences) ask(path string) {
	a.asked[path] = true
	switch path {
	case "request.referer":
		a.asked["request.headers['referer']"] = true
	case "request.useragent":
		a.asked["request.headers['user-agent']"] = true
	case "request.headers['referer']":
		a.asked["request.referer"] = true
	case "request.headers['user-agent']":
		a.asked["request.useragent"] = true
	}
}

// prefixes returns the path and the shorter paths that must be there for it: for metadata.filter_metadata['a']['b'],
// also metadata.filter_metadata['a'].
func prefixes(path string) []string {
	var all []string
	for i := range path {
		if path[i] == ']' && i < len(path)-1 && path[i+1] == '[' && mayBeAbsent(path[:i+1]) {
			all = append(all, path[:i+1])
		}
	}
	return append(all, path)
}

// guardOf returns the expression that asks whether a request has the attribute of a path.
func guardOf(path string) string {
	if !strings.HasSuffix(path, "]") {
		return "has(" + path + ")"
	}
	var all []string
	for _, one := range prefixes(path) {
		at := strings.LastIndex(one, "['")
		all = append(all, one[at+1:len(one)-1]+" in "+one[:at])
	}
	return strings.Join(all, " && ")
}
