package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

// A few routes that delegate to each other can produce more rules than memory can hold. So can many roots that
// share many children. The budget therefore limits the depth of delegation. It is computed before any delegated
// rule is built.
//
// For each level below a root, the rules of the level are counted: for each candidate route, its matches times
// the matches of the parents that can select it. The rules are divided into branches by the namespace of the
// root's child that they are below. The rules of the root's children themselves are in the branch of the root.
// If the children of one namespace can have many rules (fanoutOut.Heavy), these rules are in the branch of that
// namespace instead. A namespace with too many rules then stops only its own branch, and not other children of
// a shared root.
//
// The levels are added from the root down. Within a level, the branches of the namespace with the fewest rules
// are added first. So the budget of a namespace does not depend on names and ages. If a level of a branch does
// not fit, no rule of the level above delegates: these rules answer 500 with a problem. Branches that fit are
// served (docs/design/routes.md). The count of a level depends only on the levels above. So the result does not
// depend on the order of edits.

const (
	// budgetBase and budgetPerRoute set the number of rules that delegation may create on a host: budgetBase, and
	// budgetPerRoute for each route of the folder, of any kind. But the number is at most Options.MaxRoutes. An
	// HTTPRoute has at most 128 matches. So 256 rules allow each match to be delegated twice.
	budgetBase     = 1000
	budgetPerRoute = 256
	// allPerRoute is the number of rules that each route of the folder adds to the limit for all hosts together,
	// which starts at Options.MaxRoutes. Roots and shared children can exceed that limit even if no single host
	// exceeds its own.
	allPerRoute = 16
)

// demandOut has the number of rules that a branch (see branchKey) can have at most, at each level of
// delegation.
type demandOut struct {
	branchKey
	Origin *ir.Origin // the origin of the root, nil if the root does not exist
	// Team is true if the flag --cluster-paths is set, and the file of the root is not one that the flag names: a
	// team wrote the root. The namespace of the root is then responsible for the whole branch.
	Team   bool
	Tables []tableKey
	Levels []int // the number of rules at each level, from the root's children down
}

// owner returns, as text, who is responsible for the size of the branch. If Team is true, or if Space is "", that is
// the namespace of the root route. Otherwise the root may have children in several namespaces, and each of these
// namespaces is responsible for its own children. The text is then "root>child": the namespace of the root, and the
// namespace of the children in this branch (Space).
func (d *demandOut) owner() string {
	if d.Team || d.Space == "" {
		return d.Root.Namespace
	}
	return d.Root.Namespace + ">" + d.Space
}

// at returns the number of rules at a level, 0 below the last one.
func (d *demandOut) at(depth int) int {
	if depth >= len(d.Levels) {
		return 0
	}
	return d.Levels[depth]
}

func compareDemands(a, b *demandOut) int {
	return cmp.Or(route.CompareOrigins(a.Origin, b.Origin), cmp.Compare(a.Space, b.Space))
}

// crowd is a set of branches (see branchKey) whose rules count together: the branches that have rules on one host or,
// in the fold budgetRules.all, the branches of all hosts. Rules is the number of rules that these branches can have
// in total, at all levels of delegation.
type crowd struct {
	Rules    int
	Branches ordered.Set[*demandOut]
}

func sameCrowd(a, b crowd) bool { return a.Rules == b.Rules && a.Branches.Same(b.Branches) }

// budgetOut says how many levels of delegation are built in a branch (see branchKey). If a level is omitted,
// budgetOut also has the limit that the level would exceed.
type budgetOut struct {
	// Depth is the number of levels below the root that are built.
	Depth int
	// Rules is the number of rules that the host (or all hosts together, if Host is "") would have with the first
	// omitted level. It is 0 if no level is omitted. Limit is the largest number that is allowed.
	Rules, Limit int
	// Few is true if Limit depends only on the number of routes in the folder: Limit is then budgetBase +
	// budgetPerRoute * routes. Few is false if Options.MaxRoutes determines Limit, because that limit is lower or
	// equal.
	Few bool
	// Host is the host that would have too many rules. It is "" if all hosts together would have too many, or if no
	// level is omitted.
	Host string
	// Message and Hint are those of the problem TooManyRoutes, "" if no level is omitted. All route.Points of
	// the branch (branchKey) share them.
	Message, Hint string
}

// describe returns a copy of b with Message and Hint set. The parameter key is the branch that both texts are
// about.
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
		b.Hint += fmt.Sprintf("the limit of a folder is %d rules and %d more for each of its routes, whatever --max-routes-per-host", budgetBase, budgetPerRoute)
	} else {
		b.Hint += "or raise --max-routes-per-host"
	}
	return b
}

type budgetIn struct {
	count *memo.Fold[struct{}, manifest.Key, struct{}, int]
	*contestRules
	fanout    *memo.Rule[flatKey, *fanoutOut]
	routes    *servedRoutes
	MaxDepth  int
	MaxRoutes int
}

// budgetRules compute how many levels of delegation each branch (branchKey) may have. They count how many rules each
// level of the branches can have, for each host and for all hosts together. If a sum exceeds its limit, levels of
// some branches are left out, so that the limit is met.
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
			return nil // the node above it has yielded the branch
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
		if d.Origin != nil { // the root exists
			yield(memo.Place[struct{}, branchKey]{ID: key}, d)
		}
	}, identical)
	r.cutAll = memo.NewRule(e, "cutall", r.runCutAll, maps.Equal[map[branchKey]budgetOut])
	r.budget = memo.NewRule(e, "budget", r.runBudget, identical)
	return r
}

// runDemand returns how many rules a branch (see branchKey) can have at each level of delegation, and the virtual
// hosts (tableKey) of the root route of the branch. The result is empty if the root route does not exist.
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

// gatherDemands returns the step function (see memo.NewFold) of the folds budgetRules.crowd and budgetRules.all. The
// step function adds new branches (see branchKey) to a crowd, updates changed branches, removes branches that no
// longer exist, and updates crowd.Rules.
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

// runCut returns the branches (see branchKey) of a host that must stop delegating, each with its budget. It
// returns nil if the host is within its limit. The limit depends on the number of routes in the folder. For a
// host with few rules runCut does not read that number, so that a new route does not make it run again.
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

// runCutAll returns the branches that must stop delegating because all hosts together exceed the limit, with
// their budgets. It returns nil if the limit is not exceeded.
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

// cut returns the branches (see branchKey) that must stop delegating, each with its budget. It counts the rules of
// all branches together, level by level, from the root down. If the rules of a branch at one level would make the
// count exceed bound.Limit, these rules are not counted, and the branch keeps only the levels above. The parameter
// levels is how many levels are counted at most (Options.MaxDepth). Each budget is a copy of bound with two more
// fields. Depth is the number of levels that the branch keeps. Rules is the count that would have exceeded the limit.
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

// level returns the branches (see branchKey) that have rules at one level (the parameter depth). The parameter
// stopped has the branches that were cut at a level above. level leaves out these branches:
//   - A branch in stopped.
//   - A branch without rules at level 0, if the own branch of its root (the branch without a Space) is in stopped.
//     The rules of such a branch are below the rules of the own branch, which were cut.
//
// The result is in the order in which the method cut adds the branches: the branches of the owner with the fewest
// rules come first (see the method owner). The parameter asked has the number of rules of each owner at the levels
// above. level adds the rules of this level to asked, and then sorts.
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

// runBudget returns the budget of a branch (see branchKey): how many levels of delegation are built (Depth). The
// number of rules by delegation has a limit for each virtual host of the root, and a limit for all hosts together. If
// rules of the branch exceed several limits, the result is the budget with the smallest Depth. If they exceed no
// limit, Depth is Options.MaxDepth.
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
