package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

// freeTables is the cost that the copies of each match may have without counting toward Options.MaxCopies. The unit
// is one plain route of Envoy. So a plain match is free in four virtual hosts: two hostnames, on HTTP and HTTPS.
const freeTables = 4

// freeUnits is the cost that policies may add to each virtual host without counting toward Options.MaxCopies.
// The unit is one plain route of Envoy. Four units are 2 KB.
const freeUnits = 4

// shareKey identifies a share: the copies that one route or one policy causes in virtual hosts. Without Child,
// the share has the copies of the route Root in that route's own virtual hosts. With Child, it has the copies
// of the delegated route Child in the virtual hosts of Root. If Root is a TrafficPolicy, the share is what the
// policy adds to virtual hosts.
type shareKey struct{ Root, Child manifest.Key }

// object returns the route or policy whose copies in virtual hosts the share has: the Child, or the Root if there is
// no Child.
func (k shareKey) object() manifest.Key {
	if k.Child.IsZero() {
		return k.Root
	}
	return k.Child
}

func (k shareKey) String() string {
	if k.Child.IsZero() {
		return k.Root.String()
	}
	return k.Child.String() + " below " + k.Root.String()
}

func compareShareKeys(a, b shareKey) int {
	return cmp.Or(manifest.CompareKeys(a.Root, b.Root), manifest.CompareKeys(a.Child, b.Child))
}

// copies says how many virtual hosts contain the rules of a route, or the fields of a policy, and what that costs. A
// route with many hostnames and listeners has a copy in each virtual host. The rule attachRules.wide uses the type
// differently: it counts places (listen.Place). There, Tables and Cost are both the number of places, and Free is
// the number of places that do not count toward the limit. The type is small, because every route has a value of it.
type copies struct {
	// Owner is the namespace that is responsible for the copies. This is the namespace of the root. For a delegated
	// route in another namespace, Owner is "root>child", the two namespaces, unless the root is a team's own
	// (reach.Team).
	Owner string
	// Tables is the number of virtual hosts with copies. Cost is the cost of all copies in Envoy. Free is how much of
	// Cost does not count toward the limit (Options.MaxCopies). The unit of Cost and Free is the cost of one plain
	// Envoy route (docs/scale.md#copies-of-a-match).
	Tables, Cost, Free int
}

// newCopies returns the copies of a route. The parameter owner becomes the field Owner. The parameter tables is the
// number of virtual hosts that contain the route. The parameter load is what the route adds to each virtual host.
// The field Free of the result is the cost that does not count toward the limit. It is the larger of two costs:
// freeTables times the number of matches, and load.Written, the cost of the route as the user writes it.
func newCopies(owner string, tables int, load route.Load) copies {
	return copies{Owner: owner, Tables: tables, Cost: tables * load.Made, Free: max(load.Written, freeTables*load.Matches)}
}

// extra returns the part of the cost that counts toward the limit: Cost without Free, and at least 0.
func (c copies) extra() int { return max(0, c.Cost-c.Free) }

// share has the copies of the route or policy that Key identifies.
type share struct {
	Key shareKey
	copies
}

// compareShares orders shares by their extra cost (see copies.extra), the smallest first.
func compareShares(a, b share) int {
	return cmp.Or(cmp.Compare(a.extra(), b.extra()), compareShareKeys(a.Key, b.Key))
}

// spreadTotal has the shares that count toward a limit such as Options.MaxCopies: those whose Cost is above Free.
type spreadTotal struct {
	Extra  int                // the sum of copies.extra of all Shares
	Shares ordered.Set[share] // in the order of compareShares
}

func sameTotal(a, b spreadTotal) bool { return a.Extra == b.Extra && a.Shares.Same(b.Shares) }

// closedKey identifies the delegating rules (route.Point) below a root that select child routes by a property,
// for example a label.
type closedKey struct {
	Root     manifest.Key
	Property route.Property
}

// partOf divides the parameter amount fairly between receivers, and returns the largest part that one receiver may
// get. The parameter needs has what each receiver needs. The sum of needs must be larger than amount. What a receiver
// does not need of its part goes to the others. partOf sorts needs in place.
func partOf(amount int, needs []int) int {
	slices.Sort(needs)
	for i, n := range needs {
		if part := amount / (len(needs) - i); n > part {
			return part
		}
		amount -= n
	}
	return amount
}

// overloads are the routes and policies whose copies cost too much (see copies). Cut has the reason for each of
// these routes and policies.
type overloads struct {
	Cut map[shareKey]overload
	// Closed says which delegating matches (route.Point) answer 500 because they select a child route in Cut. Such a
	// match selects child routes by a property, for example a label. So for each key in Cut with a Child, Closed has
	// one closedKey for each property of the Child, with the same Root.
	Closed map[closedKey]bool
	// Warned has the routes whose regular expressions exceed a limit that is an error only for teams (see overtried).
	Warned map[shareKey]overload
}

// overload says that the copies of a route or policy cost too much (see copies). Such a route forwards no requests.
// Such a policy makes the routes of its listeners answer 500. Limit is the limit of the namespace that is
// responsible.
type overload struct {
	Tables, Cost, Limit int
	// Closed is true if the virtual hosts of the route answer 500. If even the rules for these answers exceed the
	// limit, Closed is false, and the route has no virtual hosts. Closed is always false for a policy, a route below a
	// root, and a TCPRoute, TLSRoute or UDPRoute.
	Closed bool
	// Field is the field of a policy with the highest cost, "" for a route.
	Field string
	// Host is not "" if not the copies are too many, but the regular expressions that one request may try on this host:
	// Cost of them, where Limit is allowed.
	Host string
}

func (o overload) String() string {
	if o.Host != "" {
		return fmt.Sprintf("one request to %s may make Envoy try %d regular expressions of its namespace; the limit is %d, and %d for those whose common prefix is not longer than /", o.Host, o.Cost, maxTried, maxTriedAnywhere)
	}
	if o.Field != "" {
		return fmt.Sprintf("what policies add to the virtual hosts of %d hosts and ports costs Envoy as much as %d plain routes; what the namespace may add beyond %d for each host is %d", o.Tables, o.Cost, freeUnits, o.Limit)
	}
	return fmt.Sprintf("its matches would stand in the tables of %d hosts and ports, which costs Envoy as much as %d plain routes; what the namespace may add beyond %d for each match is %d", o.Tables, o.Cost, freeTables, o.Limit)
}

// reason returns the code and the message of an overload, for the status of a route and for explain.
func (o overload) reason() string {
	if o.Host != "" {
		return "TooManyExpressions: " + o.String()
	}
	return "TooManyCopies: " + o.String()
}

// cuts reports whether the rules of a node (see flatKey) are in no virtual host. That is so if the root of the
// node has too many copies (see copies), or if the node's own route has too many copies below that root.
func (o *overloads) cuts(key flatKey) bool {
	_, root := o.Cut[shareKey{Root: key.root()}]
	_, own := o.Cut[shareKey{key.root(), key.Route}]
	return root || own
}

// closes reports whether a delegating rule (point) selects a route that has too many copies below the root (see
// copies). The rule then answers 500 to the requests that the route would get. The parameter key is the node
// that has the rule.
func (o *overloads) closes(key flatKey, point *route.Point) bool {
	if len(o.Closed) == 0 {
		return false
	}
	return slices.ContainsFunc(route.Wants(key.Route, []*route.Point{point}), func(property route.Property) bool {
		return o.Closed[closedKey{key.root(), property}]
	})
}

// problems returns an error for each route or policy in Cut.
func (o *overloads) problems() []manifest.Problem {
	var problems []manifest.Problem
	for _, key := range slices.SortedFunc(maps.Keys(o.Cut), compareShareKeys) {
		problems = append(problems, o.Cut[key].problem(key))
	}
	for _, key := range slices.SortedFunc(maps.Keys(o.Warned), compareShareKeys) {
		problem := o.Warned[key].problem(key)
		problem.Severity, problem.Message = manifest.Warning, o.Warned[key].String()
		problems = append(problems, problem)
	}
	return problems
}

// addTried adds the routes whose regular expressions are too many for one request: those of teams to Cut, and others
// to Warned.
func (o *overloads) addTried(tried ordered.Set[overtried]) {
	for one := range tried.All() {
		over := overload{Cost: one.Tried, Limit: one.Limit, Host: one.At.Domain, Closed: one.Key.Child.IsZero()}
		to := o.Warned
		if one.Team {
			to = o.Cut
		}
		if _, already := to[one.Key]; !already {
			to[one.Key] = over
		}
	}
}

func (o overload) problem(key shareKey) manifest.Problem {
	out := manifest.Problem{
		Code: "TooManyCopies", Severity: manifest.Error, Object: key.object(), Field: "spec.parentRefs",
		Hint: "name the listeners that it is for by sectionName, name fewer hostnames, use fewer regular expressions, above all with long repetitions after .*, and smaller policies and filters, or raise --max-copies",
	}
	if o.Host != "" {
		out.Code, out.Field = "TooManyExpressions", "spec.rules"
		out.Hint = "compare with path prefixes and exact values, begin each expression with a text of its own, or put routes on other hosts"
	}
	where := "the route serves nowhere: "
	switch {
	case o.Field != "":
		where, out.Field = "the routes of its listeners answer 500: ", o.Field
		out.Hint = "make the policy smaller, target single listeners or routes, serve fewer hostnames, or raise --max-copies"
	case !key.Child.IsZero():
		where = "the route serves nothing below " + key.Root.String() + ", which answers 500: "
	case o.Closed:
		where = "the route serves nowhere, its hosts answer 500: "
	}
	out.Message = where + o.String()
	return out
}

// cut returns the routes and policies whose copies must be left out, because the sum of all extra costs exceeds the
// limit (see copies). Each namespace gets an equal part of the limit (see partOf). Within the part of a namespace,
// the routes and policies with the lowest extra cost keep their copies. If the sum does not exceed the limit, the
// result is empty.
func (t spreadTotal) cut(limit int) map[shareKey]overload {
	out := map[shareKey]overload{}
	if t.Extra <= limit {
		return out
	}
	asked, left, closing := map[string]int{}, map[string]int{}, map[string]int{}
	for s := range t.Shares.All() {
		asked[s.Owner] += s.extra()
	}
	part := partOf(limit, slices.Collect(maps.Values(asked)))
	for s := range t.Shares.All() {
		if _, begun := left[s.Owner]; !begun {
			left[s.Owner], closing[s.Owner] = part, part
		}
		if asked[s.Owner] > part && s.extra() > left[s.Owner] {
			closed := max(0, s.Tables-s.Free) // one plain route for each table
			kind, _ := route.KindOf(s.Key.Root)
			over := overload{Tables: s.Tables, Cost: s.Cost, Limit: part, Closed: kind.Tables && s.Key.Child.IsZero() && closed <= closing[s.Owner]}
			if over.Closed {
				closing[s.Owner] -= closed
			}
			out[s.Key] = over
			continue
		}
		left[s.Owner] -= s.extra()
	}
	return out
}
