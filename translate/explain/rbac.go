package explain

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/gatefold/gatefold/store/counted"
	"github.com/gatefold/gatefold/translate/ir"
)

// certainty says whether a condition is true, or whether that depends on facts that the query lacks.
type certainty uint8

const (
	no certainty = iota
	unknown
	yes
)

func (v certainty) and(other certainty) certainty { return min(v, other) }
func (v certainty) or(other certainty) certainty  { return max(v, other) }
func (v certainty) not() certainty                { return yes - v }

// rbacWords returns, as text, which requests the policy field rbac rejects, or TurnedOff if a policy turns rbac
// off.
func rbacWords(extras *ir.Extras) string {
	rbac := extras.RBAC
	if rbac == nil {
		return TurnedOff
	}
	words := []string{"requests that match are rejected with 403"}
	if !rbac.Deny {
		words[0] = "only requests that match pass; others are answered with 403"
	}
	if n := len(rbac.Expressions); n > 0 {
		words = append(words, fmt.Sprintf("expressions: %d", n))
	}
	for _, list := range []struct {
		name   string
		ranges []string
	}{{"from", rbac.Allowed}, {"blocked", rbac.Blocked}} {
		if len(list.ranges) > 0 {
			words = append(words, list.name+": "+aclRuleWords(&ir.ACLRule{Ranges: list.ranges}))
		}
	}
	return strings.Join(words, "; ")
}

// rbacGate returns what the RBAC filter does with a request. It evaluates the expressions as Envoy does: an
// expression with an error is false. The gate is empty if the request passes, and answers 403 if it is denied. If the
// result depends on facts that are not known, the gate has no status, and gate.unless has the text that the request
// may be denied.
func rbacGate(rule *ir.Rule, r *request) gate {
	rbac := rule.Action.Extras.OrNone().RBAC
	if rbac == nil {
		return gate{}
	}
	by := partsOf(&rule.Action, ir.FieldRBAC.PartKind())
	blocked, match := isIn(r.client, rbac.Blocked), yes
	if len(rbac.Allowed) > 0 {
		match = isIn(r.client, rbac.Allowed)
	}
	expressions, which := r.matchesOne(rbac.Expressions)
	match = match.and(expressions)
	denied := match
	if !rbac.Deny {
		denied = match.not()
	}
	switch blocked.or(denied) {
	case no:
		return gate{}
	case unknown:
		depends := "such as TLS, or what other filters find out"
		if !r.client.IsValid() {
			depends = "such as TLS, what other filters find out, or the client's address" + addressUnknown
		}
		return gate{unless: []string{fmt.Sprintf("rbac: %s denies the request (403): it depends on what the question does not say, %s", by, depends)}}
	}
	out := gate{status: http.StatusForbidden}
	switch {
	case blocked == yes:
		out.why = fmt.Sprintf("%s blocks the client's address %s", by, r.client)
		out.at = onlySource(&rule.Action, ir.FieldRBAC, "policy.blockedCIDRs")
	case rbac.Deny && which >= 0:
		out.why = fmt.Sprintf("%s denies the request: matchExpressions[%d] is true", by, which)
		out.at = onlySource(&rule.Action, ir.FieldRBAC, fmt.Sprintf("policy.matchExpressions[%d]", which))
	case rbac.Deny:
		out.why = by + " denies the request"
	default:
		out.why = by + " does not allow the request: nothing of its policy matches"
		out.at = onlySource(&rule.Action, ir.FieldRBAC, "policy")
	}
	return out
}

// isIn reports whether the client's address is in one of the ranges. The result is the certainty unknown if there
// are ranges and the address is not valid. If there are no ranges, the result is the certainty no.
func isIn(client netip.Addr, ranges []string) certainty {
	if len(ranges) > 0 && !client.IsValid() {
		return unknown
	}
	for _, text := range ranges {
		if p, err := netip.ParsePrefix(text); err == nil && p.Contains(client.Unmap()) {
			return yes
		}
	}
	return no
}

// matchesOne reports whether one of the expressions is true. first is the index of the first true expression,
// -1 if none is true. Without expressions it returns yes and -1. It returns unknown if no expression is true
// and one of them depends on unknown attributes, or if CEL does not accept the attributes.
func (r *request) matchesOne(expressions []string) (out certainty, first int) {
	if len(expressions) == 0 {
		return yes, -1
	}
	attributes, err := r.attributes()
	if err != nil {
		return unknown, -1
	}
	for i, text := range expressions {
		switch v := evaluate(text, attributes); v {
		case yes:
			return yes, i
		default:
			out = out.or(v)
		}
	}
	return out, -1
}

// celEnvironment returns the environment in which evaluate runs expressions.
var celEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv()
})

// evaluate returns whether a CEL expression is true. For an expression that is invalid or fails, the result is the
// certainty no. If the value depends on an unknown attribute, the result is the certainty unknown.
func evaluate(text string, attributes cel.PartialActivation) certainty {
	env, err := celEnvironment()
	if err != nil {
		return unknown
	}
	parsed, err := counted.ParseCEL(text)
	if err != nil {
		return no
	}
	program, err := env.Program(parsed, cel.EvalOptions(cel.OptPartialEval))
	if err != nil {
		return no
	}
	value, _, err := program.Eval(attributes)
	switch {
	case err != nil:
		return no
	case types.IsUnknown(value):
		return unknown
	case value == types.True:
		return yes
	}
	return no
}

// attributes returns the values of Envoy's attributes for the request. Attributes that the query lacks are
// marked as unknown. It returns an error if CEL does not accept the attributes.
func (r *request) attributes() (cel.PartialActivation, error) {
	headers := map[string]string{":path": r.path + r.search, ":method": r.query.Method, ":authority": r.query.Host, ":scheme": r.scheme}
	unknowns := []*cel.AttributePatternType{
		cel.AttributePattern("source"), cel.AttributePattern("destination"), cel.AttributePattern("connection"), cel.AttributePattern("metadata"),
		cel.AttributePattern("filter_state"), cel.AttributePattern("xds"),
	}
	for _, name := range []string{"time", "id", "protocol", "size"} {
		unknowns = append(unknowns, cel.AttributePattern("request").QualString(name))
	}
	for name, values := range r.headers {
		headers[name] = strings.Join(values, ",")
	}
	for _, name := range r.answered {
		headers[name] = unknownAnswer
	}
	request := map[string]any{
		"path": r.path + r.search, "url_path": r.path, "host": r.query.Host, "scheme": r.scheme, "method": r.query.Method,
		"query": strings.TrimPrefix(r.search, "?"), "headers": headerMap{types.NewStringStringMap(types.DefaultTypeAdapter, headers)},
	}
	for attribute, name := range map[string]string{"referer": "referer", "useragent": "user-agent"} {
		if r.headers.has(name) {
			request[attribute] = r.headers.first(name)
		}
	}
	return cel.PartialVars(map[string]any{"request": request}, unknowns...)
}

// headerMap is request.headers for CEL. It ignores the case of names. The value of a header with a placeholder
// is unknown to CEL.
type headerMap struct{ traits.Mapper }

// Find returns the value of a header, and false if the request does not have the header. A value that contains a
// placeholder is returned as an unknown value of CEL.
func (h headerMap) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	value, found := h.Mapper.Find(types.String(strings.ToLower(string(name))))
	if text, ok := value.(types.String); found && ok && !isKnown(string(text)) {
		return types.NewUnknown(0, nil), true
	}
	return value, found
}

// Get returns the value of a header, or an error value if the request does not have it.
func (h headerMap) Get(key ref.Val) ref.Val {
	value, found := h.Find(key)
	if !found {
		return types.NewErr("no such key: %v", key)
	}
	return value
}

// Contains returns whether the request has a header. The result is unknown for a header that a service's answer
// may add.
func (h headerMap) Contains(key ref.Val) ref.Val {
	value, found := h.Find(key)
	if found && types.IsUnknown(value) && h.Mapper.Get(key) == types.String(unknownAnswer) {
		return value
	}
	return types.Bool(found)
}
