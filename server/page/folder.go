package page

import (
	"cmp"
	"slices"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/route"
)

// folder has the served objects and the references between them.
type folder struct {
	objects map[manifest.Key]*manifest.Object
	// beside are the Secrets of --secret-dir. They have no page.
	beside map[manifest.Key]bool
	// kinds are the objects of each kind, sorted by key.
	kinds map[apischema.GroupKind][]*manifest.Object
	// referrers are the fields that name each object, in no order.
	referrers map[manifest.Key][]referrer
	// selections are the fields that select objects by label or namespace, instead of naming them.
	selections map[selectedBy][]selection
	// wildcard is a special namespace in a backendRef that selects routes by label: it stands for all namespaces (see
	// route.AllNamespaces).
	wildcard string
	// labels returns the labels of Secrets. The Secrets in objects do not contain their labels.
	labels func([]manifest.Key) []map[string]string
}

// folder returns the objects that are served now. The error is admin.ErrBusy.
func (p *pages) folder() (folder, error) {
	return p.objects.get(p.documents.Generation(), struct{}{}, func() (folder, error) {
		objects, options, err := p.documents.Objects()
		if err != nil {
			return folder{}, err
		}
		f := newFolder(objects, cmp.Or(options.WildcardNamespace, route.AllNamespaces))
		f.labels = p.documents.Labels
		return f, nil
	})
}

// newFolder returns a folder with the objects and their references. An object whose Value is nil is a Secret of
// --secret-dir. The parameter wildcard becomes the field folder.wildcard.
func newFolder(objects []*manifest.Object, wildcard string) folder {
	f := folder{
		objects: make(map[manifest.Key]*manifest.Object, len(objects)), beside: map[manifest.Key]bool{},
		kinds: map[apischema.GroupKind][]*manifest.Object{}, referrers: map[manifest.Key][]referrer{}, wildcard: wildcard,
	}
	w := newReferenceWalker(wildcard)
	for _, o := range objects {
		if o.Value == nil {
			f.beside[o.Key] = true
			continue
		}
		f.objects[o.Key] = o
		f.kinds[o.Key.GroupKind()] = append(f.kinds[o.Key.GroupKind()], o)
		w.found = w.found[:0]
		w.read(o)
		for _, r := range w.found {
			f.referrers[r.To] = append(f.referrers[r.To], referrer{r.Field, o})
		}
	}
	for _, kind := range f.kinds {
		slices.SortFunc(kind, func(a, b *manifest.Object) int { return manifest.CompareKeys(a.Key, b.Key) })
	}
	f.selections = selectionsOf(w.selected)
	return f
}

// serves reports whether an object is served. It returns true for every GatewayClass, because a GatewayClass
// need not be in a file.
func (f folder) serves(key manifest.Key) bool {
	return f.objects[key] != nil || f.beside[key] || key.GroupKind() == apischema.GroupKind{Group: gwv1.GroupName, Kind: "GatewayClass"}
}

// references returns the references from the object o to other objects: first the references by name, in the order
// of the fields, then the references by selector. It returns at most limit references. The result omitted is the
// number of references that were left out.
func (f folder) references(o *manifest.Object, limit int) (to []reference, omitted int) {
	w := newReferenceWalker(f.wildcard)
	w.read(o)
	named := w.found[:min(len(w.found), limit)]
	selected, omitted := f.selected(w.selected, limit-len(named))
	return append(named, selected...), len(w.found) - len(named) + omitted
}

// from returns the references by which other objects name or select the object o, sorted. It returns at most limit
// references. The result omitted is the number of references that were left out.
func (f folder) from(o manifest.Key, limit int) (from []reference, omitted int) {
	from = make([]reference, 0, len(f.referrers[o]))
	for _, r := range f.referrers[o] {
		from = append(from, reference{Field: r.field, From: r.from.Key, To: o})
	}
	if object := f.objects[o]; object != nil {
		from = append(from, f.selecting(object)...)
	}
	sortReferrers(from)
	shown := from[:min(len(from), limit)]
	return shown, len(from) - len(shown)
}
