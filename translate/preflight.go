package translate

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// A rule whose match has a method or a header does not match the CORS preflight requests for its own requests. So each
// such rule with CORS adds a rule for them (ir.Rule.Preflight), which Envoy's CORS filter answers.

// withPreflights returns entries, and behind each of them the entry for its CORS preflight requests, if it needs one that
// is not there yet. The problems are about those that Envoys reject. The parameter byHost says whether the virtual host
// of the entries has CORS.
func (r rejections) withPreflights(entries []*entry, byHost bool) (out []*entry, problems []manifest.Problem) {
	for i, e := range entries {
		out = append(out, e)
		if i+1 < len(entries) && entries[i+1].Rule.Preflight != nil {
			continue
		}
		added := e.preflight(byHost)
		if added == nil {
			continue
		}
		added, rejection := r.mark(added)
		if out = append(out, added); rejection != nil {
			problems = append(problems, xds.Rejected(added.Rule, rejection))
		}
	}
	return out, problems
}

// preflight returns the entry that answers the CORS preflight requests for an entry. It returns nil if the entry needs
// none: it gets them itself (ir.Match.Preflight), it forwards nothing, or it has no CORS. The parameter byHost says
// whether its virtual host has CORS.
func (e *entry) preflight(byHost bool) *entry {
	rule, x := *e.Rule, e.Rule.Action.Extras.OrNone()
	place, match, needed := rule.Match.Preflight()
	cors := rule.Action.CORSInForce() != nil || byHost && !slices.Contains(x.Replaced, ir.FieldCORS)
	if e.Encoded == nil || !needed || !cors || !xds.Live(rule.Action.Forward) || rule.Preflight != nil || rule.Rejected != nil {
		return nil
	}
	rule.Name, rule.Match, rule.Preflight, rule.Guard = rule.Name+"/preflight", match, &place, false
	rule.Action = ir.Action{
		Forward: &ir.Forward{}, CORS: rule.Action.CORS, Parts: slices.DeleteFunc(slices.Clone(rule.Action.Parts), func(part ir.Part) bool {
			field, ok := part.PolicyField()
			return ok && !ofPreflights(field) || !ok && part.Kind != string(gwv1.HTTPRouteFilterCORS)
		}),
		Extras: &ir.Extras{CORS: x.CORS, ACL: x.ACL, Replaced: slices.DeleteFunc(slices.Clone(x.Replaced), func(field ir.Field) bool { return !ofPreflights(field) })},
	}
	encoded, problems := xds.Route(&rule)
	if len(problems) > 0 { // its path, hosts and query parameters were encoded before
		panic(fmt.Sprintf("translate: %s is rejected: %+v", rule.Name, problems))
	}
	out := &entry{Rule: &rule, Encoded: encoded}
	if e.Own != nil {
		own := e.Own.Only(ofPreflights)
		out.Own = &own
	}
	return out
}

// ofPreflights reports whether a field of policies applies to the rules that are added for preflight requests. No other
// filter comes into play: CORS is the first one, and answers. With acl, Envoy also keeps denied clients from whatever
// CORS should pass on.
func ofPreflights(field ir.Field) bool { return field == ir.FieldCORS || field == ir.FieldACL }
