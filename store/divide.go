package store

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/store/manifest"
)

// Some files of a Tree take longer to read than others. Files that are read completely can be applied first, if
// the files do not affect each other. So an object that moves between two files is always served. A route is
// not applied before the Service to which it refers.

// divide separates the changed files of a Tree (edits) into those that can be applied now and those that must
// wait. A file waits if it is not read completely, or if it is related to a waiting file. Two files are related
// if one of them has objects of a namespace, and the text of the other mentions that namespace. A namespace
// does not count if path policies do not let the waiting file define objects in it.
func (s *serving) divide(edits []edit) (ready, waiting []edit) {
	waits := make([]bool, len(edits))
	var queue []int
	for i, e := range edits {
		if e.after.unread() {
			waits[i], queue = true, append(queue, i)
		}
	}
	if len(queue) == 0 {
		return edits, nil
	}
	// The edits by the namespaces of their objects, and by the namespaces in their texts.
	defining, naming := map[string][]int{}, map[string][]int{}
	for i, e := range edits {
		for namespace := range s.namespacesOf(e) {
			defining[namespace] = append(defining[namespace], i)
		}
		for namespace := range e.mentioned() {
			naming[namespace] = append(naming[namespace], i)
		}
	}
	for len(queue) > 0 {
		e := edits[queue[0]]
		queue = queue[1:]
		join := func(namespaces map[string]struct{}, with map[string][]int) {
			for namespace := range namespaces {
				if !s.fence.admits(e.path, manifest.Key{Namespace: namespace}) {
					continue
				}
				for _, i := range with[namespace] {
					if !waits[i] {
						waits[i], queue = true, append(queue, i)
					}
				}
				delete(with, namespace)
			}
		}
		join(e.mentioned(), defining)
		join(s.namespacesOf(e), naming)
	}
	for i, e := range edits {
		if waits[i] {
			waiting = append(waiting, e)
		} else {
			ready = append(ready, e)
		}
	}
	return ready, waiting
}

// unread reports whether some documents of the file are not read yet. It is false for a nil file.
func (f *file) unread() bool {
	if f != nil {
		for _, d := range f.documents {
			if d.result == nil {
				return true
			}
		}
	}
	return false
}

// namespacesOf returns the namespaces of the objects in an edited file, before and after the edit, and of the
// stale objects of that file. "" stands for cluster-scoped objects. A Namespace counts for the namespace that
// it declares. A broken document counts for every namespace that its text mentions, and an unread document for
// none.
func (s *serving) namespacesOf(e edit) map[string]struct{} {
	all := map[string]struct{}{}
	add := func(key manifest.Key) {
		if isNamespace(key) {
			key.Namespace = key.Name
		}
		all[key.Namespace] = struct{}{}
	}
	for key := range s.kept[e.path] {
		add(key)
	}
	for _, f := range []*file{e.before, e.after} {
		if f == nil {
			continue
		}
		for _, d := range f.documents {
			if d.result == nil {
				continue
			}
			for i := range d.items {
				add(d.items[i].object.Key)
			}
			if d.broken {
				mention(d.text, all)
			}
		}
	}
	return all
}

// mentioned returns the namespaces that the texts of an edited file mention, before and after the edit. The
// result contains "" if a text mentions cluster-scoped objects (see mention).
func (e edit) mentioned() map[string]struct{} {
	all := map[string]struct{}{}
	for _, f := range []*file{e.before, e.after} {
		if f != nil {
			for _, d := range f.documents {
				mention(d.text, all)
			}
		}
	}
	return all
}

// mention finds the namespaces that the text of a document mentions, and adds them to a set (the parameter
// namespaces). An object without metadata.namespace may be cluster-scoped or in the namespace default, so mention
// also adds:
//   - "" if the text has the word GatewayClass, or the word namespace or Namespace without a name after it in the
//     same line, as in "kind: Namespace".
//   - "default" if the first metadata in the text has no namespace, or if the text may be a list of objects because
//     it has the word items.
func mention(text []byte, namespaces map[string]struct{}) {
	if bytes.Contains(text, []byte("GatewayClass")) {
		namespaces[""] = struct{}{}
	}
	_, metadata, _ := bytes.Cut(text, []byte("metadata"))
	metadata, _, _ = bytes.Cut(metadata, []byte("spec"))
	if !bytes.Contains(metadata, []byte("namespace")) || bytes.Contains(text, []byte("items")) { // of a List, metadata is the first
		namespaces[metav1.NamespaceDefault] = struct{}{}
	}
	for found := true; found; {
		if _, text, found = bytes.Cut(text, []byte("amespace")); found {
			name := bytes.TrimLeft(text[:min(len(text), 256)], " \t\"':")
			end := 0
			for end < len(name) && (name[end] == '-' || '0' <= name[end] && name[end] <= '9' || 'a' <= name[end] && name[end] <= 'z') {
				end++
			}
			namespaces[string(name[:end])] = struct{}{}
		}
	}
}
