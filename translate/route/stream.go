package route

import (
	"cmp"
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
)

// StreamFlat is the translation of a TCPRoute, TLSRoute or UDPRoute.
type StreamFlat struct {
	Route *ir.StreamRoute
	// Backends are the resolved backends, sorted and unique. For a UDPRoute with a backend that can get
	// traffic, this is one backend, which combines all backendRefs.
	Backends []*backend.Key
	Problems []manifest.Problem
	// Unresolved has the reason of the first reference that cannot be resolved, and a message about all such
	// references.
	Unresolved Unresolved
}

// IsStream reports whether the key is that of a TCPRoute, TLSRoute or UDPRoute.
func IsStream(key manifest.Key) bool {
	kind, served := KindOf(key)
	return served && !kind.Tables
}

// Stream translates a TCPRoute, TLSRoute or UDPRoute. The schema allows only one rule. A backendRef that cannot
// be resolved keeps its weight: Envoy closes that share of the connections, or drops that share of the
// datagrams (Gateway API, TCPRouteRule.backendRefs).
func Stream(object *manifest.Object, resolve Resolver) *StreamFlat {
	out := &StreamFlat{Route: &ir.StreamRoute{Origin: OriginOf(object)}}
	section, refs := streamRule(object)
	if section != nil {
		out.Route.Section = string(*section)
	}
	var words []string
	for i, ref := range refs {
		target := ir.Backend{Weight: 1, Field: fmt.Sprintf("spec.rules[0].backendRefs[%d]", i)}
		if ref.Weight != nil {
			target.Weight = uint32(*ref.Weight)
		}
		switch r := resolve(ref.BackendObjectReference, false); {
		case r.OK():
			target.Cluster = r.Cluster
			out.Backends = append(out.Backends, r.Key)
		default:
			out.Problems = append(out.Problems, manifest.Problem{
				Code: string(r.Reason), Severity: manifest.Error, Object: object.Key, Field: target.Field, Message: r.Message, Hint: r.Hint,
			})
			out.Unresolved.Reason = cmp.Or(out.Unresolved.Reason, r.Reason)
			if !slices.Contains(words, r.Message) {
				words = append(words, r.Message)
			}
		}
		out.Route.Backends = append(out.Route.Backends, target)
	}
	out.weigh(object.Key)
	out.Unresolved.Message = Several(words)
	out.Backends = backend.Unique(out.Backends)
	if object.Key.Kind == "UDPRoute" && out.Route.Live() {
		all := backend.Key{Object: object.Key, UDP: true}
		out.Backends, out.Route.Cluster = []*backend.Key{&all}, all.Cluster()
	}
	return out
}

// weigh warns if the route has backends and all of them have weight 0. The parameter key is the route's.
func (f *StreamFlat) weigh(key manifest.Key) {
	weighs := func(b ir.Backend) bool { return b.Weight > 0 }
	if len(f.Route.Backends) == 0 || slices.ContainsFunc(f.Route.Backends, weighs) {
		return
	}
	answer := "Envoy closes every connection"
	if key.Kind == "UDPRoute" {
		answer = "Envoy drops every datagram"
	}
	f.Problems = append(f.Problems, manifest.Problem{
		Code: codeWeightZero, Severity: manifest.Warning, Object: key, Field: "spec.rules[0].backendRefs",
		Message: weightless + ": " + answer, Hint: hintWeight,
	})
}

// Sections returns the names of a route's rules, and leaves out rules without a name. The route may be of any
// kind.
func Sections(object *manifest.Object) (names []string) {
	if name, _ := streamRule(object); name != nil {
		names = append(names, string(*name))
	}
	for _, rule := range Rules(object) {
		if rule.Name != nil {
			names = append(names, string(*rule.Name))
		}
	}
	return names
}

// streamRule returns the name and the backendRefs of the first rule of a TCPRoute, TLSRoute or UDPRoute. It
// returns nil for other kinds.
func streamRule(object *manifest.Object) (name *gwv1.SectionName, refs []gwv1.BackendRef) {
	if tcp, ok := manifest.As[*gwv1.TCPRoute](object); ok && len(tcp.Spec.Rules) > 0 {
		return tcp.Spec.Rules[0].Name, tcp.Spec.Rules[0].BackendRefs
	}
	if tls, ok := manifest.As[*gwv1.TLSRoute](object); ok && len(tls.Spec.Rules) > 0 {
		return tls.Spec.Rules[0].Name, tls.Spec.Rules[0].BackendRefs
	}
	if udp, ok := manifest.As[*gwv1.UDPRoute](object); ok && len(udp.Spec.Rules) > 0 {
		return udp.Spec.Rules[0].Name, udp.Spec.Rules[0].BackendRefs
	}
	return nil, nil
}
