package translate

import (
	"fmt"
	"net/http"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// closedHosts returns the flattened form of a route that has too many copies (see copies): a single rule
// instead of the route's own rules. That rule answers 500 to each request for the route's hosts that no other
// route matches. Without it, a wildcard host would get these requests, perhaps the host of another team. The
// parameter over is the exceeded limit, for the message.
func closedHosts(object *manifest.Object, over overload) *flatOut {
	origin := route.OriginOf(object)
	rule := &ir.Rule{
		Name: fmt.Sprintf("%s/%s/%s/closed", object.Key.Kind, object.Key.Namespace, object.Key.Name), Source: origin, Root: origin, Position: []int{0, 0}, Weight: route.WeightOfClosed,
		Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}},
		Action: ir.Action{
			Respond: &ir.Respond{Status: http.StatusInternalServerError, Why: over.reason()},
			Parts:   []ir.Part{{Kind: ir.PartClosed, Object: object.Key, Field: "spec.parentRefs"}},
		},
	}
	encoded, problems := xds.Route(rule)
	if len(problems) > 0 {
		panic(fmt.Sprintf("translate: %s is refused: %+v", rule.Name, problems))
	}
	return &flatOut{Flat: &route.Flat{}, Entries: []*entry{{Rule: rule, Encoded: encoded}}}
}
