package translate

import (
	"fmt"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// A few routes that all hand requests to each other stand for more nodes than
// there is memory. The budget of a root is therefore settled level by level,
// before a level is made: all pairs that its rules would have looked at are
// counted, and when they are too many, no rule of the level before hands its
// requests on; it answers 500 and says so (design section 5). What a level
// counts depends on the levels above it alone, so that the answer is the same
// whatever came first.

const (
	// budgetBase and budgetPerRoute give the pairs that a root may look at: many
	// for a folder of many routes, few for a few that multiply.
	budgetBase     = 1000
	budgetPerRoute = 100
)

// levelKey names all nodes of a root on a port that have as many parents.
type levelKey struct {
	Root  store.Key
	Port  int32
	Depth int // 0 for the root itself
}

// rootKey names a root on a port.
type rootKey struct {
	Root store.Key
	Port int32
}

func (k rootKey) String() string { return fmt.Sprintf("%s :%d", k.Root, k.Port) }

// depth is the number of routes above the node.
func (k flatKey) depth() int {
	if k.Via == "" {
		return 0
	}
	return strings.Count(k.Via, ">") + 1
}

// budgetOut says how deep a root may hand requests on.
type budgetOut struct {
	// Depth is the number of levels below the root that stand.
	Depth int
	// Pairs were counted on the first level that does not stand; 0 when all do.
	Pairs, Limit int
}

func (n *network) declareBudget(e *memo.Engine) {
	n.offered = memo.NewFold[route.Property, store.Key](e, count[store.Key], identical[int])
	memo.From(n.offered, n.in.httpRoutes, func(key store.Key, o *store.Object, yield func(memo.Place[route.Property, store.Key], struct{})) {
		for _, property := range route.Offers(o) {
			yield(memo.Place[route.Property, store.Key]{Key: property, ID: key}, struct{}{})
		}
	}, identical)
	n.routes = memo.NewFold[struct{}, store.Key](e, count[store.Key], identical[int])
	memo.From(n.routes, n.in.httpRoutes, func(key store.Key, _ *store.Object, yield func(memo.Place[struct{}, store.Key], struct{})) {
		yield(memo.Place[struct{}, store.Key]{ID: key}, struct{}{})
	}, identical)

	n.fanout = memo.NewRule(e, "fanout", n.runFanout, identical)
	memo.EachOf(n.fanout, n.flat, ifDelegating)
	n.depths = memo.NewFold[levelKey, flatKey](e, sum[flatKey], identical[int])
	memo.From(n.depths, n.fanout, func(key flatKey, pairs int, yield func(memo.Place[levelKey, flatKey], int)) {
		yield(memo.Place[levelKey, flatKey]{Key: levelKey{key.root(), key.Port, key.depth()}, ID: key}, pairs)
	}, identical)
	n.budget = memo.NewRule(e, "budget", n.runBudget, identical)
	n.wants = memo.NewRule(e, "wants", n.runWants, deepEqual)
	memo.EachOf(n.wants, n.flat, ifDelegating)
}

// ifDelegating names a node that hands requests on.
func ifDelegating(key flatKey, f *flatOut) []flatKey {
	if len(f.Points) == 0 {
		return nil
	}
	return []flatKey{key}
}

// sum is the step of a fold that adds its members up.
func sum[ID comparable](n int, members []memo.Member[ID, int]) int {
	for _, m := range members {
		n += m.New - m.Old
	}
	return n
}

// runFanout counts the candidates that a node's rules look at.
func (n *network) runFanout(c *memo.Ctx, key flatKey) int {
	pairs := 0
	for _, property := range route.Wants(key.Route, n.flat.Get(c, key).Points) {
		offered, _ := n.offered.Get(c, property)
		pairs += offered
	}
	return pairs
}

// runBudget adds the levels up until they are too many.
func (n *network) runBudget(c *memo.Ctx, key rootKey) budgetOut {
	routes, _ := n.routes.Get(c, struct{}{})
	limit := min(n.MaxRoutes, budgetBase+budgetPerRoute*routes)
	pairs := 0
	for depth := range n.MaxDepth {
		level, _ := n.depths.Get(c, levelKey{key.Root, key.Port, depth})
		if pairs += level; pairs > limit {
			return budgetOut{Depth: depth, Pairs: pairs, Limit: limit}
		}
		if level == 0 {
			break
		}
	}
	return budgetOut{Depth: n.MaxDepth}
}

// runWants gives what a node looks for, nothing beyond the budget.
func (n *network) runWants(c *memo.Ctx, key flatKey) []route.Property {
	if key.depth() >= n.budget.Get(c, rootKey{key.root(), key.Port}).Depth {
		return nil
	}
	return route.Wants(key.Route, n.flat.Get(c, key).Points)
}

// overBudget says that a node may not hand requests on, "" when it may.
func (n *network) overBudget(c *memo.Ctx, key flatKey) string {
	budget := n.budget.Get(c, rootKey{key.root(), key.Port})
	if key.depth() < budget.Depth {
		return ""
	}
	return fmt.Sprintf("the routes below %s multiply: %d pairs of a rule and a candidate, of at most %d", key.root(), budget.Pairs, budget.Limit)
}

// tooMany says that a rule hands nothing on.
func (out *graftOut) tooMany(point *route.Point, message string) {
	at := fmt.Sprintf("spec.rules[%d]", point.Rule)
	out.Problems = append(out.Problems, store.Problem{
		Code: "TooManyRoutes", Severity: store.Error, Object: point.Rest.Source.Key, Field: at,
		Message: message + "; the rule answers 500",
		Hint:    "name fewer routes here: routes that all hand requests to each other multiply; or raise --max-routes-per-host",
	})
	out.Unresolved = listen.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteReasonUnsupportedValue, Message: at + ": " + message}
}
