package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
)

// freeTables are the tables that each match may always stand in: two hostnames, on HTTP
// and HTTPS.
const freeTables = 4

// freeUnits is what policies may add to each virtual host, in plain routes: 2 KB.
const freeUnits = 4

// shareKey names what a route puts into tables itself or, with Child, what the child puts there
// below it. If Root is a TrafficPolicy, it names what the policy puts on virtual hosts.
type shareKey struct{ Root, Child manifest.Key }

// object returns the route or policy that makes the copies.
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

// copies count how often something is in tables. The type is small, because every route has such a
// value.
type copies struct {
	// Owner answers for them: the namespace of the root or, as a root may be shared, those of
	// the root and of the child.
	Owner string
	// Tables are the hosts and ports. Cost is that of all copies, in plain routes of Envoy, and
	// Free what of it the namespace may have anyway.
	Tables, Cost, Free int
}

// newCopies returns the copies of a load in a number of tables.
func newCopies(owner string, tables int, load route.Load) copies {
	return copies{Owner: owner, Tables: tables, Cost: tables * load.Made, Free: max(load.Written, freeTables*load.Matches)}
}

// extra returns the part of the cost that is not free.
func (c copies) extra() int { return max(0, c.Cost-c.Free) }

// share is what the object of a shareKey asks for.
type share struct {
	Key shareKey
	copies
}

// compareShares sorts the share that asks for the least first.
func compareShares(a, b share) int {
	return cmp.Or(cmp.Compare(a.extra(), b.extra()), compareShareKeys(a.Key, b.Key))
}

// spreadTotal is the sum of all shares beyond the free amount.
type spreadTotal struct {
	Extra  int
	Shares memo.Ordered[share] // those that are not free
}

func sameTotal(a, b spreadTotal) bool { return a.Extra == b.Extra && a.Shares.Same(b.Shares) }

// closedKey names Points below a root that look for routes with a property.
type closedKey struct {
	Root     manifest.Key
	Property route.Property
}

// partOf returns the limit of each part, so that the sum of all is at most most. A part that asks
// for less than the limit gets all that it asks for.
func partOf(most int, asked []int) int {
	slices.Sort(asked)
	for i, n := range asked {
		if part := most / (len(asked) - i); n > part {
			return part
		}
		most -= n
	}
	return most
}

// overloads are the shares that exceed the limit.
type overloads struct {
	Cut map[shareKey]overload
	// Closed has the Points that look for a route that is cut below their root.
	Closed map[closedKey]bool
}

// overload is why a route serves nowhere, or why a policy closes its listeners. Limit is the share
// of its namespace.
type overload struct {
	Tables, Cost, Limit int
	// Closed is true if the hosts of the route answer 500. A route for which that does not fit
	// either has no hosts.
	Closed bool
	// Field is the part of a policy that costs most.
	Field string
}

func (o overload) String() string {
	if o.Field != "" {
		return fmt.Sprintf("what policies add to the virtual hosts of %d hosts and ports costs Envoy as much as %d plain routes; what the namespace may add beyond %d for each host is %d", o.Tables, o.Cost, freeUnits, o.Limit)
	}
	return fmt.Sprintf("its matches would stand in the tables of %d hosts and ports, which costs Envoy as much as %d plain routes; what the namespace may add beyond %d for each match is %d", o.Tables, o.Cost, freeTables, o.Limit)
}

// cuts reports whether the rules of a node must not be in tables.
func (o *overloads) cuts(key flatKey) bool {
	_, root := o.Cut[shareKey{Root: key.root()}]
	_, own := o.Cut[shareKey{key.root(), key.Route}]
	return root || own
}

// closes reports whether a Point of a node looks for a route that is cut below the root. The
// requests of that route get 500.
func (o *overloads) closes(key flatKey, point *route.Point) bool {
	if len(o.Closed) == 0 {
		return false
	}
	return slices.ContainsFunc(route.Wants(key.Route, []*route.Point{point}), func(property route.Property) bool {
		return o.Closed[closedKey{key.root(), property}]
	})
}

// problems reports the routes that serve nowhere, or not below a root, and the policies that close listeners.
func (o *overloads) problems() []manifest.Problem {
	var problems []manifest.Problem
	for _, key := range slices.SortedFunc(maps.Keys(o.Cut), compareShareKeys) {
		problems = append(problems, o.Cut[key].problem(key))
	}
	return problems
}

func (o overload) problem(key shareKey) manifest.Problem {
	out := manifest.Problem{
		Code: "TooManyCopies", Severity: manifest.Error, Object: key.object(), Field: "spec.parentRefs",
		Hint: "name the listeners that it is for by sectionName, name fewer hostnames, use fewer regular expressions and smaller policies and filters, or raise --max-copies",
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

// cut returns the shares that do not fit if all together may have most.
func (t spreadTotal) cut(most int) map[shareKey]overload {
	out := map[shareKey]overload{}
	if t.Extra <= most {
		return out
	}
	asked, left, closing := map[string]int{}, map[string]int{}, map[string]int{}
	for s := range t.Shares.All() {
		asked[s.Owner] += s.extra()
	}
	part := partOf(most, slices.Collect(maps.Values(asked)))
	for s := range t.Shares.All() {
		if _, begun := left[s.Owner]; !begun {
			left[s.Owner], closing[s.Owner] = part, part
		}
		if asked[s.Owner] > part && s.extra() > left[s.Owner] {
			closed := max(0, s.Tables-s.Free) // a plain route for each table
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
