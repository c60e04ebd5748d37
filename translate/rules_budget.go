package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// A few routes that delegate to each other can stand for more rules than there is
// memory, and so can many roots that share many children. The budget of a host is
// therefore settled level by level, before a level is made. For each level the rules
// are counted that it can come to: the matches of each candidate, times the matches of
// the parents that it can be placed under. Below a root,
// the routes that hang on those of one namespace are a branch of their own, so that a
// namespace that multiplies stops its branch, and not the others of a root that all share.
// So is the first level of a namespace that asks for much of a root.
// Of the branches that ask for a level, those of the namespace that asks for the least are
// counted first: what is left to a namespace does not depend on names and ages. Where a
// branch's level does not fit, no rule of the level above it delegates: these rules answer
// 500 with a problem, and branches that fit are served (docs/design/routes.md). What a
// level counts depends on the levels above it alone, so that the answer does not depend on
// the order of edits.

const (
	// budgetBase and budgetPerRoute give the rules that delegation may come to on a
	// host: many for a folder of many routes, few for a few that multiply. An
	// HTTPRoute has 128 matches at most, so that each may be placed twice.
	budgetBase     = 1000
	budgetPerRoute = 256
	// allPerRoute is what each HTTPRoute adds to Options.MaxRoutes for all hosts together: roots and
	// children that they share multiply, too, whatever each host comes to.
	allPerRoute = 16
)

// demandOut is the number of rules that a branch asks for.
type demandOut struct {
	branchKey
	Origin *ir.Origin // of the root
	// Team is true if path policies are in force and the root does not come from cluster
	// paths: its namespace answers for all that it names.
	Team   bool
	Tables []tableKey
	Levels []int // the rules that each level can come to, from the root's on
}

// owner returns the namespaces that cause the size of the branch. That is the namespace of the root
// or, because other namespaces may share a root, those of the root and of its children.
func (d *demandOut) owner() string {
	if d.Team || d.Space == "" {
		return d.Root.Namespace
	}
	return d.Root.Namespace + ">" + d.Space
}

// at returns the number of rules that a level asks for.
func (d *demandOut) at(depth int) int {
	if depth >= len(d.Levels) {
		return 0
	}
	return d.Levels[depth]
}

func compareDemands(a, b *demandOut) int {
	return cmp.Or(route.CompareOrigins(a.Origin, b.Origin), cmp.Compare(a.Space, b.Space))
}

// crowd is the sum of what all branches of a host ask for.
type crowd struct {
	Rules    int
	Branches memo.Ordered[*demandOut]
}

func sameCrowd(a, b crowd) bool { return a.Rules == b.Rules && a.Branches.Same(b.Branches) }

// budgetOut is the number of levels that a branch may delegate.
type budgetOut struct {
	// Depth is the number of levels below the root that are made.
	Depth int
	// Rules is the number of rules that the host would have with the first level that is left
	// out; 0 if no level is left out.
	Rules, Limit int
	// Few is true if Limit is that of a folder of as few routes, and less than
	// Options.MaxRoutes.
	Few bool
	// Host is "" for all hosts together.
	Host string
	// Message and Hint are of the problem TooManyRoutes, "" if no level is left out. All
	// Points of the branch share them.
	Message, Hint string
}

// describe returns the budget with the message about the levels below a branch that are left out.
func (b budgetOut) describe(key branchKey) budgetOut {
	which, where := "routes", "on the host "+b.Host
	if key.Space != "" {
		which = "routes of namespace " + key.Space
	}
	if b.Host == "" {
		where = "with those of all other hosts"
	}
	b.Message = fmt.Sprintf("the %s below %s multiply: they can come to %d rules %s, and the limit is %d; the rule answers 500", which, key.Root, b.Rules, where, b.Limit)
	b.Hint = "delegate to fewer routes, or take matches out: the matches of parents and children multiply; "
	if b.Few {
		b.Hint += fmt.Sprintf("the limit of a folder is %d rules and %d more for each of its HTTPRoutes, whatever --max-routes-per-host", budgetBase, budgetPerRoute)
	} else {
		b.Hint += "or raise --max-routes-per-host"
	}
	return b
}

type budgetIn struct {
	*offerRules
	*contestRules
	fanout *memo.Rule[flatKey, *fanoutOut]
	routes *objects
	Options
}

// budgetRules limit the number of levels that the branches of roots may delegate.
type budgetRules struct {
	in     budgetIn
	depths *memo.Fold[levelKey, flatKey, int, int]
	demand *memo.Rule[branchKey, *demandOut]
	crowd  *memo.Fold[tableKey, branchKey, *demandOut, crowd]
	cut    *memo.Rule[tableKey, map[branchKey]budgetOut]
	all    *memo.Fold[struct{}, branchKey, *demandOut, crowd]
	cutAll *memo.Rule[struct{}, map[branchKey]budgetOut]
	budget *memo.Rule[branchKey, budgetOut]
}

func newBudgetRules(e *memo.Engine, in budgetIn) *budgetRules {
	r := &budgetRules{in: in}
	r.depths = memo.NewFold[levelKey, flatKey](e, "depths", sum[flatKey], identical[int])
	memo.From(r.depths, in.fanout, func(key flatKey, f *fanoutOut, yield func(memo.Place[levelKey, flatKey], int)) {
		yield(memo.Place[levelKey, flatKey]{Key: levelKey{key.branch(), key.depth()}, ID: key}, f.Rules)
		for space, rules := range f.Heavy {
			yield(memo.Place[levelKey, flatKey]{Key: levelKey{key.heavy(space), 0}, ID: key}, rules)
		}
	}, identical)
	r.demand = memo.NewRule(e, "demand", r.runDemand, deepEqual)
	memo.EachOf(r.demand, in.fanout, func(key flatKey, f *fanoutOut) []branchKey {
		if key.depth() > 1 {
			return nil // the one above it has named the branch
		}
		out := []branchKey{key.branch()}
		for space := range f.Heavy {
			out = append(out, key.heavy(space))
		}
		return out
	})
	r.crowd = memo.NewFold[tableKey, branchKey](e, "crowd", gatherDemands(), sameCrowd)
	memo.From(r.crowd, r.demand, func(key branchKey, d *demandOut, yield func(memo.Place[tableKey, branchKey], *demandOut)) {
		for _, table := range d.Tables {
			yield(memo.Place[tableKey, branchKey]{Key: table, ID: key}, d)
		}
	}, identical)
	r.cut = memo.NewRule(e, "cut", r.runCut, maps.Equal[map[branchKey]budgetOut])
	r.all = memo.NewFold[struct{}, branchKey](e, "crowds", gatherDemands(), sameCrowd)
	memo.From(r.all, r.demand, func(key branchKey, d *demandOut, yield func(memo.Place[struct{}, branchKey], *demandOut)) {
		if d.Origin != nil { // its root is there
			yield(memo.Place[struct{}, branchKey]{ID: key}, d)
		}
	}, identical)
	r.cutAll = memo.NewRule(e, "cutall", r.runCutAll, maps.Equal[map[branchKey]budgetOut])
	r.budget = memo.NewRule(e, "budget", r.runBudget, identical)
	return r
}

// runDemand counts the rules of a branch, level by level.
func (r *budgetRules) runDemand(c *memo.Ctx, key branchKey) *demandOut {
	object, ok := r.in.routes.Get(c, key.Root)
	if !ok {
		return &demandOut{}
	}
	out := &demandOut{branchKey: key, Origin: route.OriginOf(object), Team: object.Source == manifest.OtherFile}
	out.Tables, _ = r.in.tablesOf(c, flatKey{Route: key.Root, Port: key.Port}, ir.EveryHost())
	for depth := range r.in.MaxDepth {
		rules, _ := r.depths.Get(c, levelKey{key, depth})
		if rules == 0 && (depth > 0 || key.Space == "") {
			break
		}
		out.Levels = append(out.Levels, rules)
	}
	return out
}

// gatherDemands is the step of the fold crowd.
func gatherDemands() func(crowd, []memo.Member[branchKey, *demandOut]) crowd {
	step := gather[branchKey](compareDemands)
	rules := func(d *demandOut, had bool) (n int) {
		if had {
			for _, level := range d.Levels {
				n += level
			}
		}
		return n
	}
	return func(so crowd, members []memo.Member[branchKey, *demandOut]) crowd {
		for _, m := range members {
			so.Rules += rules(m.New, m.Has) - rules(m.Old, m.Had)
		}
		return crowd{so.Rules, step(so.Branches, members)}
	}
}

// runCut returns the branches of a host that exceed the host's limit. A host with few rules does
// not read the number of routes.
func (r *budgetRules) runCut(c *memo.Ctx, key tableKey) map[branchKey]budgetOut {
	all, _ := r.crowd.Get(c, key)
	if all.Rules <= min(r.in.MaxRoutes, budgetBase) {
		return nil
	}
	routes, _ := r.in.count.Get(c, struct{}{})
	limit := min(r.in.MaxRoutes, budgetBase+budgetPerRoute*routes)
	if all.Rules <= limit {
		return nil
	}
	return all.cut(r.in.MaxDepth, budgetOut{Limit: limit, Few: limit < r.in.MaxRoutes, Host: key.Domain})
}

// runCutAll returns the branches of the folder that must be cut because all hosts together exceed
// the limit.
func (r *budgetRules) runCutAll(c *memo.Ctx, _ struct{}) map[branchKey]budgetOut {
	all, _ := r.all.Get(c, struct{}{})
	if all.Rules <= min(r.in.MaxRoutes, budgetBase) {
		return nil
	}
	routes, _ := r.in.count.Get(c, struct{}{})
	few, many := budgetBase+budgetPerRoute*routes, r.in.MaxRoutes+allPerRoute*routes
	if all.Rules <= min(few, many) {
		return nil
	}
	return all.cut(r.in.MaxDepth, budgetOut{Limit: min(few, many), Few: few < many})
}

// cut returns the branches with a level that does not fit into bound.Limit, each with its budget.
func (so crowd) cut(levels int, bound budgetOut) map[branchKey]budgetOut {
	out, rules, asked := map[branchKey]budgetOut{}, 0, map[string]int{}
	for depth := range levels {
		for _, d := range so.level(depth, out, asked) {
			if more := rules + d.at(depth); more > bound.Limit {
				bound.Depth, bound.Rules = depth, more
				out[d.branchKey] = bound
			} else {
				rules = more
			}
		}
	}
	return out
}

// level returns the branches that ask for a level and are not stopped above it. The namespace that
// asks for the fewest rules comes first. asked has what each namespace asks for on the levels
// above, and after the call on this level, too.
func (so crowd) level(depth int, stopped map[branchKey]budgetOut, asked map[string]int) (level []*demandOut) {
	for d := range so.Branches.All() {
		root := d.branchKey
		root.Space = ""
		_, rootStops := stopped[root]
		if _, stops := stopped[d.branchKey]; stops || rootStops && d.at(0) == 0 || d.at(depth) == 0 {
			continue
		}
		level = append(level, d)
		asked[d.owner()] += d.at(depth)
	}
	slices.SortStableFunc(level, func(a, b *demandOut) int {
		return cmp.Or(cmp.Compare(asked[a.owner()], asked[b.owner()]), cmp.Compare(a.owner(), b.owner()), cmp.Compare(a.at(depth), b.at(depth)))
	})
	return level
}

// runBudget returns the smallest budget of a branch: of its hosts, and of all hosts together.
func (r *budgetRules) runBudget(c *memo.Ctx, key branchKey) budgetOut {
	out := budgetOut{Depth: r.in.MaxDepth}
	for _, table := range r.demand.Get(c, key).Tables {
		if cut, ok := r.cut.Get(c, table)[key]; ok && cut.Depth < out.Depth {
			out = cut
		}
	}
	if cut, ok := r.cutAll.Get(c, struct{}{})[key]; ok && cut.Depth < out.Depth {
		out = cut
	}
	if out.Rules == 0 {
		return out
	}
	return out.describe(key)
}
