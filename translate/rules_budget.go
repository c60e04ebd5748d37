package translate

import (
	"fmt"
	"maps"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// A few routes that all hand requests to each other stand for more nodes than
// there is memory, and so do many roots that share many children. The budget of a
// host is therefore settled level by level, before a level is made: all pairs that
// its roots' rules would have looked at are counted, root after root in the rule of
// ties, and where a root's are too many, no rule of its level before hands its
// requests on; it answers 500 and says so, and roots that fit go on (design section
// 5). What a level counts depends on the levels above it alone, so that the answer
// is the same whatever came first.

const (
	// budgetBase and budgetPerRoute give the pairs that a host may look at: many
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

// demandOut is what a root asks for.
type demandOut struct {
	Root   *ir.Origin
	Port   int32
	Tables []tableKey
	Levels []int // the pairs of each level that has some
}

func compareDemands(a, b *demandOut) int { return route.CompareOrigins(a.Root, b.Root) }

// crowd is what all roots of a host ask for.
type crowd struct {
	Pairs int
	Roots memo.Ordered[*demandOut]
}

func sameCrowd(a, b crowd) bool { return a.Pairs == b.Pairs && a.Roots.Same(b.Roots) }

// budgetOut says how deep a root may hand requests on.
type budgetOut struct {
	// Depth is the number of levels below the root that stand.
	Depth int
	// Pairs were counted on the first level that does not stand, with all that
	// stands on the host; 0 when all do.
	Pairs, Limit int
	// Few tells that Limit is what a folder of as few routes may look at, and less
	// than Options.MaxRoutes.
	Few  bool
	Host string
}

func (n *network) declareBudget(e *memo.Engine) {
	n.offered = memo.NewFold[route.Property, store.Key](e, count[store.Key], identical[int])
	memo.From(n.offered, n.in.routes, func(key store.Key, o *store.Object, yield func(memo.Place[route.Property, store.Key], struct{})) {
		for _, property := range route.Offers(o) {
			if _, named := property.Named(); named {
				continue
			}
			yield(memo.Place[route.Property, store.Key]{Key: property, ID: key}, struct{}{})
		}
	}, identical)
	n.routes = memo.NewFold[struct{}, store.Key](e, count[store.Key], identical[int])
	memo.From(n.routes, n.in.routes, func(key store.Key, _ *store.Object, yield func(memo.Place[struct{}, store.Key], struct{})) {
		yield(memo.Place[struct{}, store.Key]{ID: key}, struct{}{})
	}, identical)

	n.fanout = memo.NewRule(e, "fanout", n.runFanout, identical)
	memo.EachOf(n.fanout, n.flat, ifDelegating)
	n.depths = memo.NewFold[levelKey, flatKey](e, sum[flatKey], identical[int])
	memo.From(n.depths, n.fanout, func(key flatKey, pairs int, yield func(memo.Place[levelKey, flatKey], int)) {
		yield(memo.Place[levelKey, flatKey]{Key: levelKey{key.root(), key.Port, key.depth()}, ID: key}, pairs)
	}, identical)
	n.demand = memo.NewRule(e, "demand", n.runDemand, deepEqual)
	memo.EachOf(n.demand, n.fanout, func(key flatKey, _ int) []rootKey {
		if key.Via != "" {
			return nil
		}
		return []rootKey{{key.Route, key.Port}}
	})
	n.crowd = memo.NewFold[tableKey, rootKey](e, gatherDemands(), sameCrowd)
	memo.From(n.crowd, n.demand, func(key rootKey, d *demandOut, yield func(memo.Place[tableKey, rootKey], *demandOut)) {
		for _, table := range d.Tables {
			yield(memo.Place[tableKey, rootKey]{Key: table, ID: key}, d)
		}
	}, identical)
	n.cut = memo.NewRule(e, "cut", n.runCut, maps.Equal[map[store.Key]budgetOut])
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

// runFanout counts the candidates that a node's rules look at. A name is one, whether
// there is such a route or not.
func (n *network) runFanout(c *memo.Ctx, key flatKey) int {
	pairs := 0
	for _, property := range route.Wants(key.Route, n.flat.Get(c, key).Points) {
		if _, named := property.Named(); named {
			pairs++
			continue
		}
		offered, _ := n.offered.Get(c, property)
		pairs += offered
	}
	return pairs
}

// runDemand adds the nodes of a root up, level by level.
func (n *network) runDemand(c *memo.Ctx, key rootKey) *demandOut {
	object, ok := n.in.routes.Get(c, key.Root)
	if !ok {
		return &demandOut{}
	}
	out := &demandOut{Root: route.OriginOf(object), Port: key.Port}
	out.Tables, _ = n.tablesOf(c, flatKey{Route: key.Root, Port: key.Port}, nil)
	for depth := range n.MaxDepth {
		pairs, _ := n.depths.Get(c, levelKey{key.Root, key.Port, depth})
		if pairs == 0 {
			break
		}
		out.Levels = append(out.Levels, pairs)
	}
	return out
}

// gatherDemands is the step of the fold crowd.
func gatherDemands() func(crowd, []memo.Member[rootKey, *demandOut]) crowd {
	step := gather[rootKey](compareDemands)
	pairs := func(d *demandOut, had bool) (n int) {
		if had {
			for _, level := range d.Levels {
				n += level
			}
		}
		return n
	}
	return func(so crowd, members []memo.Member[rootKey, *demandOut]) crowd {
		for _, m := range members {
			so.Pairs += pairs(m.New, m.Has) - pairs(m.Old, m.Had)
		}
		return crowd{so.Pairs, step(so.Roots, members)}
	}
}

// runCut gives the roots of a host that may not go all the way down. A host that
// asks for little does not even look at the number of routes.
func (n *network) runCut(c *memo.Ctx, key tableKey) map[store.Key]budgetOut {
	all, _ := n.crowd.Get(c, key)
	if all.Pairs <= min(n.MaxRoutes, budgetBase) {
		return nil
	}
	routes, _ := n.routes.Get(c, struct{}{})
	limit := min(n.MaxRoutes, budgetBase+budgetPerRoute*routes)
	if all.Pairs <= limit {
		return nil
	}
	out, pairs, few := map[store.Key]budgetOut{}, 0, limit < n.MaxRoutes
	for depth := range n.MaxDepth {
		for root := range all.Roots.All() {
			if _, stopped := out[root.Root.Key]; stopped || depth >= len(root.Levels) {
				continue
			}
			if pairs+root.Levels[depth] > limit {
				out[root.Root.Key] = budgetOut{Depth: depth, Pairs: pairs + root.Levels[depth], Limit: limit, Few: few, Host: key.Domain}
				continue
			}
			pairs += root.Levels[depth]
		}
	}
	return out
}

// runBudget gives the least of what a root's hosts allow.
func (n *network) runBudget(c *memo.Ctx, key rootKey) budgetOut {
	out := budgetOut{Depth: n.MaxDepth}
	for _, table := range n.demand.Get(c, key).Tables {
		if cut, ok := n.cut.Get(c, table)[key.Root]; ok && cut.Depth < out.Depth {
			out = cut
		}
	}
	return out
}

// runWants gives what a node looks for, nothing beyond the budget.
func (n *network) runWants(c *memo.Ctx, key flatKey) []route.Property {
	if key.depth() >= n.budget.Get(c, rootKey{key.root(), key.Port}).Depth {
		return nil
	}
	return route.Wants(key.Route, n.flat.Get(c, key).Points)
}

// overBudget gives the budget that keeps a node from handing requests on, false when
// it may.
func (n *network) overBudget(c *memo.Ctx, key flatKey) (budgetOut, bool) {
	budget := n.budget.Get(c, rootKey{key.root(), key.Port})
	return budget, key.depth() >= budget.Depth
}

// tooMany says that a rule hands nothing on.
func (out *graftOut) tooMany(point *route.Point, root store.Key, over budgetOut) {
	at := fmt.Sprintf("spec.rules[%d]", point.Rule)
	message := fmt.Sprintf("the routes below %s multiply: %d pairs of a rule and a candidate on the host %s, of at most %d", root, over.Pairs, over.Host, over.Limit)
	hint := "name fewer routes here: routes that all hand requests to each other multiply; "
	if over.Few {
		hint += fmt.Sprintf("a folder may look at %d pairs, and %d more for each of its HTTPRoutes, whatever --max-routes-per-host", budgetBase, budgetPerRoute)
	} else {
		hint += "or raise --max-routes-per-host"
	}
	out.Problems = append(out.Problems, store.Problem{
		Code: "TooManyRoutes", Severity: store.Error, Object: point.Rest.Source.Key, Field: at,
		Message: message + "; the rule answers 500",
		Hint:    hint,
	})
	out.Unresolved = listen.Verdict[gwv1.RouteConditionReason]{Reason: gwv1.RouteReasonUnsupportedValue, Message: at + ": " + message}
}
