package translate

import (
	"fmt"
	"math"
	"net/http"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/xds"
)

// weightOfClosed is the weight of a rule that comes after all other rules of a host.
const weightOfClosed = math.MinInt32

// closedHosts returns the only rule of a route that has too many copies, so that it exceeds a limit (over). The
// rule answers 500 to each request of the route's hosts that no other route matches. Without the rule, a wider
// host would get these requests, perhaps a host of another team.
func closedHosts(object *manifest.Object, over overload) *flatOut {
	origin := route.OriginOf(object)
	rule := &ir.Rule{
		Name: fmt.Sprintf("%s/%s/%s/closed", object.Key.Kind, object.Key.Namespace, object.Key.Name), Source: origin, Root: origin, Position: []int{0, 0}, Weight: weightOfClosed,
		Match: ir.Match{Path: ir.Path{Kind: ir.PathPrefix, Value: "/"}},
		Action: ir.Action{
			Respond: &ir.Respond{Status: http.StatusInternalServerError, Why: "TooManyCopies: " + over.String()},
			Parts:   []ir.Part{{Kind: ir.PartClosed, Object: object.Key, Field: "spec.parentRefs"}},
		},
	}
	encoded, problems := xds.Route(rule)
	if len(problems) > 0 {
		panic(fmt.Sprintf("translate: %s is refused: %+v", rule.Name, problems))
	}
	return &flatOut{Flat: &route.Flat{}, Entries: []*entry{{Rule: rule, Encoded: encoded}}}
}
