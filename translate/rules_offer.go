package translate

import (
	"cmp"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

// offerKey is a property by which parents select routes, for example a label (route.Property), and the namespace of
// some of the routes (Space). The property is always one that routes of several namespaces can have (see
// route.Property.Spans). So the key needs the namespace, too.
type offerKey struct {
	Property route.Property
	Space    string
}

// offer says how many routes of one namespace (Space) have a property by which parents select routes
// (route.Property), and how many matches they have (route.Breadth).
type offer struct {
	Space   string
	Breadth route.Breadth
}

type offerIn struct {
	routes *servedRoutes
}

// offerRules count routes for delegation. A parent selects its child routes by a route.Property: a name, a
// namespace, a label or a parentRef. For each such property, offerRules count the routes that have it.
type offerRules struct {
	in offerIn
	// offered has, for each property, the counts of the routes with the property in all namespaces together. It
	// leaves out properties of the forms ByName and ByParentIn (route.SelectorForm).
	offered *memo.Fold[route.Property, manifest.Key, route.Breadth, route.Breadth]
	// offers has the same counts separately for each namespace. It has only properties that routes of several
	// namespaces can have (route.Property.Spans).
	offers *memo.Fold[offerKey, manifest.Key, route.Breadth, route.Breadth]
	// spaces has the counts of offers as one list for each property, sorted by namespace.
	spaces *memo.Fold[route.Property, string, offer, ordered.Set[offer]]
	count  *memo.Fold[struct{}, manifest.Key, struct{}, int] // the number of all routes
}

func newOfferRules(e *memo.Engine, in offerIn) *offerRules {
	r := &offerRules{in: in}
	r.offered = memo.NewFold[route.Property, manifest.Key](e, "offered", sumBreadths, identical[route.Breadth])
	memo.From(r.offered, in.routes, func(key manifest.Key, o *manifest.Object, yield func(memo.Place[route.Property, manifest.Key], route.Breadth)) {
		for _, property := range route.Offers(o) {
			if property.Form == route.ByName || property.Form == route.ByParentIn {
				continue
			}
			yield(memo.Place[route.Property, manifest.Key]{Key: property, ID: key}, route.BreadthOf(o, property.Form))
		}
	}, identical)
	r.offers = memo.NewFold[offerKey, manifest.Key](e, "offers", sumBreadths, identical[route.Breadth])
	memo.From(r.offers, in.routes, func(key manifest.Key, o *manifest.Object, yield func(memo.Place[offerKey, manifest.Key], route.Breadth)) {
		for _, property := range route.Offers(o) {
			if property.Spans() {
				yield(memo.Place[offerKey, manifest.Key]{Key: offerKey{property, key.Namespace}, ID: key}, route.BreadthOf(o, property.Form))
			}
		}
	}, identical)
	r.spaces = memo.NewFold[route.Property, string](e, "spaces", gather[string](func(a, b offer) int { return cmp.Compare(a.Space, b.Space) }), ordered.Set[offer].Same)
	memo.From(r.spaces, r.offers, func(key offerKey, b route.Breadth, yield func(memo.Place[route.Property, string], offer)) {
		yield(memo.Place[route.Property, string]{Key: key.Property, ID: key.Space}, offer{key.Space, b})
	}, identical)
	r.count = memo.NewFold[struct{}, manifest.Key](e, "routecount", count[manifest.Key], identical[int])
	memo.From(r.count, in.routes, func(key manifest.Key, _ *manifest.Object, yield func(memo.Place[struct{}, manifest.Key], struct{})) {
		yield(memo.Place[struct{}, manifest.Key]{ID: key}, struct{}{})
	}, identical)
	return r
}

// sumBreadths updates a sum of sizes (route.Breadth: the numbers of routes and of their matches) after some
// members changed. It adds the new size of each such member to the sum, and subtracts the old size. Two of the
// memo.Folds in offerRules use this function.
func sumBreadths(sum route.Breadth, members []memo.Member[manifest.Key, route.Breadth]) route.Breadth {
	for _, m := range members {
		sum = sum.Plus(m.New).Minus(m.Old)
	}
	return sum
}

// breadth returns how many routes have a property by which parents select routes (route.Property), and how many
// matches they have. If the property is the name of a route that does not exist, the result is one route
// without matches.
func (r *offerRules) breadth(c *memo.Ctx, property route.Property) route.Breadth {
	named, isName := property.Named()
	if !isName {
		offered, _ := r.offered.Get(c, property)
		return offered
	}
	candidate, exists := r.in.routes.Get(c, named)
	if !exists {
		return route.Breadth{Routes: 1}
	}
	return route.BreadthOf(candidate, property.Form)
}

// spacesOf returns the namespaces that have a route with the given property. Parents select routes by such
// properties, for example by a label (see route.Property). Some properties belong to one namespace, for example the
// name of a route (route.Property.Spans is false). For them, spacesOf returns this namespace, even if no route there
// has the property.
func (r *offerRules) spacesOf(c *memo.Ctx, property route.Property) (spaces []string) {
	if !property.Spans() {
		return []string{property.Namespace}
	}
	offers, _ := r.spaces.Get(c, property)
	for offer := range offers.All() {
		spaces = append(spaces, offer.Space)
	}
	return spaces
}
