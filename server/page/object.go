package page

import (
	"net/http"
	"slices"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

// The page of an object shows at most maxObjectProblems problems, maxConditions conditions, and maxReferences
// references in each direction.
const maxObjectProblems, maxConditions, maxReferences = 50, 200, 200

// objectPage shows one object.
type objectPage struct {
	Key      manifest.Key
	At       store.Place
	Route    bool // true for a route, which may be in the tree of routes
	Status   *objectRow
	Parts    []board.Part // at most maxConditions conditions
	More     int          // conditions that are not shown
	Problems []manifest.Problem
	// YAML is the served object, or "" if none is served. Cut is true if YAML is only its beginning.
	YAML string
	Cut  bool
	// NotServed is true if no version of the object is served (see folder.serves).
	NotServed bool
	// Busy is true if the served objects cannot be read now. YAML, To and From are then empty.
	Busy bool
	// To are the references of this object. From are the references to this object.
	To, From         []reference
	MoreTo, MoreFrom int
}

// object returns the body of the page of one object, which the query names. The error is a failure with 404 if
// gatefold knows nothing of that object, and another error if the query is invalid. The error is admin.ErrBusy if a
// change of the folder takes long, and the object has neither a status nor problems.
func (p *pages) object(r *http.Request) (any, error) {
	key, err := readKey(r)
	if err != nil {
		return nil, err
	}
	page := objectPage{Key: key, Route: routeKinds(key), At: p.documents.Places([]manifest.Field{{Object: key}})[0]}
	filter := board.Filter{Kind: store.KindName{Group: key.Group, Kind: key.Kind}, Namespace: key.Namespace, Name: key.Name}
	if rows := objectRows(p.documents.Status(filter)); len(rows) == 1 {
		page.Status = &rows[0]
		page.bound(rows[0].Parts)
	}
	known := map[manifest.Key]bool{}
	for _, problem := range p.documents.Problems().Problems {
		known[problem.Object] = true
		if problem.Object == key {
			page.Problems = append(page.Problems, problem)
		}
	}
	served, err := p.folder()
	if page.Busy = err != nil; !page.Busy {
		page.show(served, known)
	}
	switch unknown := page.Status == nil && page.YAML == "" && page.At == (store.Place{}) && len(page.Problems) == 0; {
	case unknown && page.Busy:
		return nil, err
	case unknown:
		return nil, failure{http.StatusNotFound, p.documents.Missing(filter)}
	}
	page.Problems = errorsFirst(page.Problems)
	page.Problems = page.Problems[:min(len(page.Problems), maxObjectProblems)]
	return page, nil
}

// bound copies the parts of a status (for example, one for each parent of a route) to o.Parts. It stops after
// maxConditions conditions in all, and adds the number of the remaining conditions to o.More.
func (o *objectPage) bound(parts []board.Part) {
	room := maxConditions
	for _, part := range parts {
		shown := part.Conditions[:min(len(part.Conditions), room)]
		room -= len(shown)
		o.More += len(part.Conditions) - len(shown)
		if len(shown) > 0 {
			o.Parts = append(o.Parts, board.Part{Name: part.Name, Conditions: shown})
		}
	}
}

// show sets the YAML and the references of the object, and whether it is NotServed. The parameter f has the served
// objects. The parameter known has the objects with problems: such an object has a page even if it is not served,
// so that a reference to it can be a link.
func (o *objectPage) show(f folder, known map[manifest.Key]bool) {
	if object := f.objects[o.Key]; object != nil {
		o.YAML, o.Cut = excerpt(object)
		o.To, o.MoreTo = f.references(object, maxReferences)
		for i, r := range o.To {
			served := r.Every() || f.serves(r.To)
			o.To[i].Missing, o.To[i].Linked = !served, !r.Every() && (f.objects[r.To] != nil || !served && known[r.To])
		}
	}
	o.NotServed = !f.serves(o.Key)
	o.From, o.MoreFrom = f.from(o.Key, maxReferences)
}

// readKey returns the object that the query of a request names. It returns an error if the query names no
// object, or if the kind is unknown.
func readKey(r *http.Request) (manifest.Key, error) {
	query := r.URL.Query()
	filter, err := board.NewFilter(query.Get("kind")+"."+query.Get("group"), query.Get("namespace"), query.Get("name"))
	if err == nil && filter.Name == "" {
		err = failure{http.StatusBadRequest, "no object is named: kind, group, namespace and name"}
	}
	return filter.Key(), err
}

// routeKinds reports whether the kind of an object is a route.
func routeKinds(key manifest.Key) bool {
	return slices.Contains([]string{"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"}, key.Kind)
}
