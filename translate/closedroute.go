package translate

import (
	"crypto/sha256"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// Closed returns the closed copy of an HTTPRoute or GRPCRoute that gatefold fails on. The rules of the copy have only
// names and matches, and no filters or backends. So the copy gets the same requests as the route, and answers them with
// 500 (a GRPCRoute with UNAVAILABLE). Closed returns nil for other kinds.
func Closed(o *manifest.Object) *manifest.Object {
	return closedCopy(o, manifest.Closed{Why: o.Key.String() + " answers 500 until its error is fixed"})
}

// closedCopy returns the closed copy of an HTTPRoute or GRPCRoute for the given reason, and nil for other kinds.
func closedCopy(o *manifest.Object, closed manifest.Closed) *manifest.Object {
	out := &manifest.Object{Key: o.Key, Source: o.Source, Closed: &closed, Hash: sha256.Sum256(append([]byte("closed "+closed.Why+" "), o.Hash[:]...))}
	switch from := o.Value.(type) {
	case *api.HTTPRoute:
		r := *from
		r.Spec.Rules = make([]api.HTTPRouteRule, len(from.Spec.Rules))
		for i, rule := range from.Spec.Rules {
			r.Spec.Rules[i].Name, r.Spec.Rules[i].Matches = rule.Name, rule.Matches
		}
		out.Value = &r
	case *gwv1.GRPCRoute:
		r := *from
		r.Spec.Rules = make([]gwv1.GRPCRouteRule, len(from.Spec.Rules))
		for i, rule := range from.Spec.Rules {
			r.Spec.Rules[i].Name, r.Spec.Rules[i].Matches = rule.Name, rule.Matches
		}
		out.Value = &r
	default:
		return nil
	}
	return out
}

// readMatch returns what can be read of a match.
func readMatch(match ir.Match) route.ClosedMatch {
	r := xds.ReadMatch(match)
	return route.ClosedMatch{Match: r.Match, Place: r.Place, Whole: r.Whole, Left: r.Left}
}

// close replaces the rules of a node by those of a closed copy. What the rules of the route lead to and what their
// policies write is kept (entry.Aim), and so are the problems.
func (out *flatOut) close(copied *manifest.Object, setting route.Setting, aims func(*ir.Rule, []*written) *aim) {
	flat := route.FlattenClosed(copied, setting, readMatch)
	out.Rules, out.Closed, out.Live, out.Backends = flat.Rules, flat.Closed, flat.Live, nil
	out.Points, out.Missed, out.Conflict = nil, nil, ""
	out.Entries, out.Policies, out.SignIns, out.Guards, out.Unplaced = nil, nil, nil, nil, nil
	out.Unsupported, out.Unresolved, out.Whole = []string{copied.Closed.Why}, route.Unresolved{}, true
	for _, rule := range out.Rules {
		rule.Action.Respond.Why = copied.Closed.Why
		rule.Action.Parts = []ir.Part{{Kind: ir.PartClosed, Object: copied.Key, Field: ruleField(rule)}}
		if e, _ := out.encode(rule, aims(rule, out.Writes[rule.Name])); e != nil {
			if setting.Port == 0 { // no table contains it
				e = &entry{Rule: e.Rule, Aim: e.Aim}
			}
			out.Entries = append(out.Entries, e)
		}
	}
	out.Live = out.serving()
}
