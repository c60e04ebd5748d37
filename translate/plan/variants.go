package plan

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/gatefold/gatefold/translate/ir"
)

// maxVariants limits the requests that are tried for one example. The limit applies to the result of the method
// variants and, separately, to the result of the method byAccess.
const maxVariants = 200

// variant is a request, with the address of the client that sends it (from). A plan may show the request as the
// example of a Change. If the address is invalid, the address of the client does not matter.
type variant struct {
	request
	from netip.Addr
}

// variantMaker makes variants of requests that the policies of rules may treat differently.
type variantMaker struct {
	indexes     [2]*index
	patterns    patterns
	expressions expressions
}

// variants returns the request r and variants of r. For all of them, Envoy chooses the same two rules: p.before in
// the old configuration, and p.after in the new one. But the policies of these rules may treat a variant
// differently from r. If a rule of p matches gRPC methods, and r has no header Content-Type, variants first adds
// this header to r.
func (m *variantMaker) variants(p pair, r request) []variant {
	byGRPC := false
	for _, match := range p.matches() {
		byGRPC = byGRPC || match.Path.RPC.Is
	}
	if byGRPC && r.headers.Get("Content-Type") == "" {
		r.headers.Set("Content-Type", "application/grpc")
	}
	out := []variant{{request: r}}
	if p == (pair{}) {
		return out
	}
	deeper := r
	deeper.path = strings.TrimSuffix(r.path, "/") + "/any"
	if m.meets(p, deeper) {
		out = append(out, variant{request: deeper})
	}
	for _, e := range []*entry{p.before, p.after} {
		if e != nil {
			out = append(out, m.byPolicies(p, r, &e.rule.Action)...)
		}
	}
	return out[:min(len(out), maxVariants)]
}

// byAccess returns variants of a request that the ACL and RBAC of the rules may treat differently. The variants
// have other client addresses, or values that CEL expressions compare.
func (m *variantMaker) byAccess(p pair, r request) (out []variant) {
	var both [2]*admission
	requests := []request{r}
	for side, e := range []*entry{p.before, p.after} {
		if e == nil {
			both[side] = admissionOf(nil, nil)
			continue
		}
		extras := e.rule.Action.Extras.OrNone()
		both[side] = admissionOf(extras.ACL, extras.RBAC)
		if extras.RBAC == nil {
			continue
		}
		for _, text := range extras.RBAC.Expressions[:min(len(extras.RBAC.Expressions), maxByExpression)] {
			for _, one := range m.expressions.variants(text, r) {
				if len(requests) < maxVariants && m.meets(p, one) {
					requests = append(requests, one)
				}
			}
		}
	}
	from := clients(both[0], both[1])
	for _, address := range from {
		out = append(out, variant{request: r, from: address})
	}
	for _, one := range requests[1:] {
		out = append(out, variant{request: one})
	}
	for _, address := range from {
		for _, one := range requests[1:] {
			out = append(out, variant{request: one, from: address})
		}
	}
	return out[:min(len(out), maxVariants)]
}

// meets reports whether a request meets the pair p: Envoy chooses the rule p.before for the request in the old
// configuration, and the rule p.after in the new one (see pair).
func (m *variantMaker) meets(p pair, r request) bool {
	l := lists{before: m.indexes[0].at(r.path, m.patterns), after: m.indexes[1].at(r.path, m.patterns), patterns: m.patterns}
	return l.pairOf(r) == p
}

// byPolicies returns variants of the request r that the policies of an action may treat differently from r. It
// leaves out a variant that does not meet the pair p: Envoy chooses another rule for it, in the old or in the new
// configuration (see meets).
func (m *variantMaker) byPolicies(p pair, r request, action *ir.Action) (out []variant) {
	with := func(method string, headers ...string) {
		one := r
		if method != "" {
			one.method = method
		}
		one.headers = r.headers.Clone()
		for i := 0; i+1 < len(headers); i += 2 {
			one.headers.Set(headers[i], headers[i+1])
		}
		if m.meets(p, one) {
			out = append(out, variant{request: one})
		}
	}
	extras := action.Extras.OrNone()
	if extras.CSRF != nil {
		with(http.MethodPost, "Origin", "https://other.example")
		with(http.MethodPost)
		for _, origin := range originsOf(extras.CSRF.Origins) {
			with(http.MethodPost, "Origin", origin)
		}
	}
	if cors := action.CORSInForce(); cors != nil {
		for _, origin := range append(originsOf(cors.Origins), "https://other.example") {
			with(http.MethodOptions, "Origin", origin, "Access-Control-Request-Method", cmp.Or(r.headers.Get("Access-Control-Request-Method"), http.MethodGet))
		}
	}
	if extras.BufferBytes > 0 {
		with(http.MethodPost, "Content-Length", fmt.Sprint(extras.BufferBytes+1))
	}
	for _, name := range namesOf(action) {
		with("", name, "any")
	}
	return out
}

// originsOf returns origins that the matches of a list accept, at most maxChoices.
func originsOf(list []ir.StringMatch) (out []string) {
	for _, m := range list {
		switch m.Kind {
		case ir.StringExact:
			out = append(out, m.Value)
		case ir.StringPrefix:
			out = append(out, m.Value+"any")
		case ir.StringSuffix:
			out = append(out, "https://any"+m.Value)
		case ir.StringContains:
			out = append(out, "https://any."+m.Value+".example")
		case ir.StringRegex:
			values, _ := patterns{}.samples(m.Value, nil, pathCharacters, nil)
			out = append(out, values...)
		}
	}
	return out[:min(len(out), maxChoices)]
}

// namesOf returns the names of request headers that an action removes or sets, or that its transformation changes
// or reads. It leaves out pseudo-headers and Host. It returns at most 4*maxChoices names.
func namesOf(action *ir.Action) (names []string) {
	add := func(m ir.HeaderMods) {
		names = append(names, m.Remove...)
		for _, header := range m.Set {
			names = append(names, header.Name)
		}
	}
	extras := action.Extras.OrNone()
	add(action.RequestHeaders.OrNone())
	add(extras.RequestHeaders)
	for _, change := range extras.Request {
		names = append(names, change.Name)
		names = append(names, readBy(change.Value)...)
	}
	var out []string
	for _, name := range names[:min(len(names), 4*maxChoices)] {
		if name != "" && name[0] != ':' && !strings.EqualFold(name, "host") {
			out = append(out, name)
		}
	}
	return out
}

// readBy returns the names of headers that a template reads.
func readBy(template ir.Template) (names []string) {
	for _, e := range template {
		if e.Func == "header" || e.Func == "request_header" {
			names = append(names, e.Text)
		}
		names = append(names, readBy(e.Args)...)
	}
	return names
}
