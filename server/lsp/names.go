package lsp

import (
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// references returns proposals for a field of a reference to another object (its name, sectionName or
// namespace), sorted. It returns nil if the cursor is not in such a field.
func (s *server) references(doc *document, g gap) (items []completionItem) {
	last := g.path[len(g.path)-1]
	ref, ok := g.referenceAt(g.path, "")
	switch {
	case ok:
		items = []completionItem{}
		if ref.to.Kind == "GatewayClass" {
			items = append(items, g.item(itemReference, "gatefold", quoted("gatefold", g.quote)))
		}
		s.withLive(doc, func(_ *project, live *engine.Live) { items = append(items, g.objects(live, ref)...) })
	case last.Key == "sectionName" || last.Key == "namespace":
		name := last.In.Get("name").Text()
		nameStep := slices.Clone(g.path)
		nameStep[len(nameStep)-1].Key = "name"
		if ref, ok = g.referenceAt(nameStep, name); !ok {
			return nil
		}
		items = []completionItem{}
		s.withLive(doc, func(_ *project, live *engine.Live) {
			if last.Key == "namespace" {
				items = append(items, g.namespaces(live, ref)...)
				return
			}
			for _, section := range sections(live.Object(ref.to)) {
				items = append(items, g.item(itemReference, section, quoted(section, g.quote)))
			}
		})
	default:
		return nil
	}
	slices.SortFunc(items, func(a, b completionItem) int { return strings.Compare(a.SortText, b.SortText) })
	return items
}

// objects returns proposals for the field name in a reference. It proposes the objects of the reference's kind and
// namespace. In two cases it proposes other objects, too:
//   - It proposes an object of another kind, if the method offers returns true for the object.
//   - It proposes an object in another namespace, if the reference has no field namespace yet, and a reference to the
//     object is permitted (see permitted).
//
// Such a proposal inserts the name, and also the fields kind, group and namespace where they are needed. If the
// user writes the name in quotes, objects makes no such proposals.
func (g gap) objects(live *engine.Live, ref reference) (items []completionItem) {
	for o := range live.Objects() {
		key := o.Key
		same := key.Group == ref.to.Group && key.Kind == ref.to.Kind
		if !same && !ref.offers(key) {
			continue
		}
		var more []string
		if key.Namespace != ref.to.Namespace && key.Namespace != "" {
			if has(ref.fields, "namespace") || !permitted(live, g.subject, key) {
				continue
			}
			more = append(more, "namespace: "+key.Namespace)
		}
		if !same {
			more = append(more, "kind: "+key.Kind)
			if key.Group != ref.to.Group {
				more = append(more, "group: "+key.Group)
			}
		}
		if len(more) > 0 && (g.quote != "" || g.edit.Start.Line != g.edit.End.Line) {
			continue
		}
		item := g.item(itemReference, key.Name, quoted(key.Name, g.quote))
		item.Detail, item.SortText = key.String(), "0"+key.Name
		if len(more) > 0 {
			item.SortText = "1" + key.Name + key.String()
			between := ", "
			if !g.flow {
				between = "\n" + strings.Repeat(" ", g.keys)
			}
			item.TextEdit.NewText += between + strings.Join(more, between)
		}
		items = append(items, item)
	}
	return items
}

// offers reports whether an object of another kind than the default is proposed for a reference: a Backend in
// backendRefs, or a ListenerSet in parentRefs. It returns false if the kind or group of the reference is written
// already.
func (r reference) offers(key manifest.Key) bool {
	if has(r.fields, "kind") || has(r.fields, "group") {
		return false
	}
	switch r.list {
	case "backendRefs", "backendRef":
		return key.Group == api.Group && key.Kind == api.KindBackend
	case "parentRefs":
		return key.Group == gwv1.GroupName && key.Kind == "ListenerSet"
	}
	return false
}

// namespaces returns proposals for the namespace of a reference. A namespace is proposed if it has an object of
// the reference's kind to which the reference may refer, for example because of a ReferenceGrant (see
// permitted). If the name of the reference is written already, the object must have that name.
func (g gap) namespaces(live *engine.Live, ref reference) (items []completionItem) {
	seen := map[string]bool{}
	for o := range live.Objects() {
		key := o.Key
		if key.Group != ref.to.Group || key.Kind != ref.to.Kind || ref.to.Name != "" && key.Name != ref.to.Name ||
			seen[key.Namespace] || !permitted(live, g.subject, key) {
			continue
		}
		seen[key.Namespace] = true
		items = append(items, g.item(itemReference, key.Namespace, quoted(key.Namespace, g.quote)))
	}
	return items
}
