package store

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
)

// unreadableText is a text that may be a policy and cannot be read, in its file.
type unreadableText struct {
	*wording
	file   *file
	at     Place
	cause  spotOfError // in the file
	unseen bool        // nobody could look into the file, so that there are no words
	closes []closing   // what is closed because of it; serving.closeUnreadable sets it
}

// closing is what one text closes in one namespace. If whole is true, the text names no object of the folder, and
// everything that is new in the namespace is closed.
type closing struct {
	namespace string
	whole     bool
	keys      []manifest.Key
}

// textPrefix begins the name of each policy that stands for the texts of a file. No name from harmlessName begins so.
const textPrefix = unnamed + "file."

// standsForText reports whether a key is that of a policy that stands for texts.
func standsForText(key manifest.Key) bool { return strings.HasPrefix(key.Name, textPrefix) }

// closeUnreadable closes what the texts that cannot be read name (wordsOf), and opens what none of them closes any more. The
// parameter arrived has the keys that are served now and were not before. Nothing else is closed anew: an object that
// was served and open stays open. The closed objects are the targets of Invalids, one for each file and namespace, which
// closeUnreadable adds to the change.
func (s *serving) closeUnreadable(arrived []manifest.Key, change *Change) {
	if len(s.unreadable)+len(s.texts) == 0 {
		return
	}
	names, unseen := s.namesOf(arrived), map[string]bool{}
	now := map[manifest.Key]*textClosing{}
	for key := range s.texts {
		now[key] = nil // it goes, unless a text has it
	}
	for _, path := range slices.Sorted(maps.Keys(s.unreadable)) {
		for _, d := range s.unreadable[path] {
			before := d.closes
			if d.closes = nil; !d.astray || names.elsewhere(d.named) {
				d.closes = names.closedBy(d.wording, s.reachOf(d, names))
			}
			s.fresh.sure = s.fresh.sure && reflect.DeepEqual(before, d.closes)
			if d.unseen { // all such files of the same namespaces close the same
				if unseen[d.reached()] {
					continue
				}
				unseen[d.reached()] = true
			}
			for _, closes := range d.closes {
				for _, object := range closes.keys {
					key := textPolicy(object, path)
					if now[key] == nil {
						now[key] = &textClosing{d, map[manifest.Key]struct{}{}}
					}
					now[key].objects[object] = struct{}{}
				}
			}
		}
	}
	for key, one := range now {
		if s.frozen.Holds(key) {
			continue
		}
		s.replaceInvalid(key, one.invalid(key), change)
		if delete(s.texts, key); one != nil {
			s.texts[key] = one.first.at
		}
	}
	s.recordClosed()
}

// reached returns the namespaces in which a text closes something, as one text.
func (d *unreadableText) reached() string {
	var all []string
	for _, one := range d.closes {
		all = append(all, one.namespace)
	}
	return strings.Join(all, " ")
}

// unserved returns those keys that are not served.
func (s *serving) unserved(keys map[manifest.Key]struct{}) (all []manifest.Key) {
	for key := range keys {
		if _, serving := s.served[key]; !serving {
			all = append(all, key)
		}
	}
	return all
}

// textClosing has the objects that the texts of one file close in one namespace, and the first of the texts.
type textClosing struct {
	first   *unreadableText
	objects map[manifest.Key]struct{}
}

// invalid returns the policy that stands for the texts. It returns nil if t is nil.
func (t *textClosing) invalid(key manifest.Key) *Invalid {
	if t == nil {
		return nil
	}
	why := Mistake{Message: "the text cannot be read, and may be a policy"}
	if t.first.unseen {
		why.Message = "the file cannot be read, and may have a policy"
	}
	out := &Invalid{Key: key, Nameless: true, Mistakes: []Mistake{why}, Source: t.first.file.source}
	for _, object := range slices.SortedFunc(maps.Keys(t.objects), manifest.CompareKeys) {
		out.Targets = append(out.Targets, Target{GroupKind: object.GroupKind(), Name: object.Name})
	}
	return out
}

// textPolicy returns the key of the policy that stands for the texts of a file and closes an object.
func textPolicy(object manifest.Key, path string) manifest.Key {
	name, _ := harmlessName("in " + path)
	key := manifest.Key{Group: api.Group, Kind: api.KindTrafficPolicy, Namespace: object.Namespace, Name: textPrefix + strings.TrimPrefix(name, unnamed)}
	if isBackend(object.GroupKind()) {
		key.Group, key.Kind = gatewayGroup, kindBackendTLSPolicy
	}
	return key
}

// isBackend reports whether a kind is one that BackendTLSPolicies can target.
func isBackend(kind apischema.GroupKind) bool {
	return slices.Contains(kindOf(apischema.GroupKind{Group: gatewayGroup, Kind: kindBackendTLSPolicy}).policyTargets(), kind)
}

// recordClosed sets s.closed to the targets of the policies that stand for texts. An object that is closed is not saved:
// after a restart it is new, and so closed again.
func (s *serving) recordClosed() {
	before := s.closed
	s.closed = map[manifest.Key]struct{}{}
	for policy := range s.texts {
		if s.invalid[policy] == nil {
			continue
		}
		for _, t := range s.invalid[policy].Targets {
			key := manifest.Key{Group: t.Group, Kind: t.Kind, Namespace: policy.Namespace, Name: t.Name}
			s.closed[key] = struct{}{}
			if _, was := before[key]; !was {
				s.saves.changed(key)
			}
		}
	}
	for key := range before {
		if _, still := s.closed[key]; !still {
			s.saves.changed(key)
		}
	}
}

// objectNames has the served objects that policies can target.
type objectNames struct {
	byName, byLabel map[string][]manifest.Key // by name, and by the values of labels and the names of KongPlugins
	in              map[string][]manifest.Key // by namespace, without Services and Backends
	open            map[string]bool           // namespaces in which one of them stays open
	closable        map[manifest.Key]struct{} // those that may be closed
	wholes          map[string][]manifest.Key // by namespace, what whole returns
	closed          map[manifest.Key]struct{} // those that were closed before
}

// namesOf returns the served objects that policies can target. Closable are those that arrived, and those that are
// closed already. If the content of a policy was not saved, and the folder does not define the policy, everything in
// the policy's namespace is closable: it was served with the policy alone.
func (s *serving) namesOf(arrived []manifest.Key) *objectNames {
	n := &objectNames{
		byName: map[string][]manifest.Key{}, byLabel: map[string][]manifest.Key{}, in: map[string][]manifest.Key{},
		open: map[string]bool{}, closable: maps.Clone(s.closed), closed: s.closed,
		wholes: map[string][]manifest.Key{},
	}
	for _, key := range arrived {
		n.closable[key] = struct{}{}
	}
	lost := map[string]bool{}
	for key := range s.saves.absent {
		if _, serving := s.served[key]; !serving && kindOf(key.GroupKind()).policy() {
			lost[key.Namespace] = true
		}
	}
	front := kindOf(apischema.GroupKind{Group: api.Group, Kind: api.KindTrafficPolicy}).policyTargets()
	for key, at := range s.served {
		isFront := slices.Contains(front, key.GroupKind())
		if !isFront && !isBackend(key.GroupKind()) {
			continue
		}
		if lost[key.Namespace] || s.keepNothing { // without versions before, each object is new
			n.closable[key] = struct{}{}
		}
		n.byName[key.Name] = append(n.byName[key.Name], key)
		for _, value := range at.object.Value.GetLabels() {
			n.byLabel[value] = append(n.byLabel[value], key)
		}
		for _, plugin := range Plugins(at.object) {
			n.byLabel[plugin.Name] = append(n.byLabel[plugin.Name], key)
		}
		if !isFront {
			continue
		}
		n.in[key.Namespace] = append(n.in[key.Namespace], key)
		if _, closable := n.closable[key]; !closable {
			n.open[key.Namespace] = true
		}
	}
	return n
}

// reach is where a text can close something: what it names in the namespaces for which named is true, and whole
// namespaces of the list whole.
type reach struct {
	named func(namespace string) bool
	whole []string
}

// reachOf returns where a text can close something: in the namespaces of which its file may define objects. Where every
// file may, these are the namespaces among the words of the text. If there are none, it is the namespace default; if
// the text has the key namespace all the same, what it names counts everywhere. If only the namespace of the text may be
// lost, it is one among its words, too, unless its file may not define objects of default.
func (s *serving) reachOf(d *unreadableText, names *objectNames) reach {
	may := func(namespace string) bool { return s.fence.admits(d.file.path, manifest.Key{Namespace: namespace}) }
	all := slices.DeleteFunc(slices.Sorted(maps.Keys(names.in)), func(namespace string) bool { return !may(namespace) })
	if d.file.source == manifest.OtherFile && !(d.astray && may(metav1.NamespaceDefault)) {
		return reach{may, all}
	}
	home := func(namespace string) bool { return namespace == metav1.NamespaceDefault }
	among := slices.DeleteFunc(all, func(namespace string) bool { return !d.has(namespace) || d.astray && home(namespace) })
	if len(among) > 0 {
		return reach{func(namespace string) bool { return slices.Contains(among, namespace) }, among}
	}
	lost := slices.ContainsFunc(d.all, func(word string) bool { return strings.HasPrefix(word, "namespace") })
	return reach{func(namespace string) bool {
		return may(namespace) && (lost || home(namespace)) && !(d.astray && home(namespace))
	}, []string{metav1.NamespaceDefault}}
}

// elsewhere reports whether an object outside of the namespace default has one of some names or labels.
func (n *objectNames) elsewhere(names []string) bool {
	outside := func(key manifest.Key) bool { return key.Namespace != metav1.NamespaceDefault }
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(n.byName[name], outside) || slices.ContainsFunc(n.byLabel[name], outside)
	})
}

// closedBy returns what a text closes within its reach, in the order of namespaces: the objects whose name is among its
// words, and those with a label whose value is. If it names no object, it closes all of each namespace in which nothing
// stays open, and of the others what is closed already; a text of which only the namespace may be lost closes nothing then.
func (n *objectNames) closedBy(w *wording, to reach) []closing {
	found, some := map[string]map[manifest.Key]struct{}{}, false
	add := func(key manifest.Key) {
		if !to.named(key.Namespace) || isBackend(key.GroupKind()) && !w.backends {
			return
		}
		some = true
		if _, closable := n.closable[key]; closable {
			if found[key.Namespace] == nil {
				found[key.Namespace] = map[manifest.Key]struct{}{}
			}
			found[key.Namespace][key] = struct{}{}
		}
	}
	for _, word := range w.named {
		for _, key := range n.byName[word] {
			add(key)
		}
		for _, key := range n.byLabel[word] {
			add(key)
		}
	}
	var all []closing
	if some || w.astray {
		for _, namespace := range slices.Sorted(maps.Keys(found)) {
			all = append(all, closing{namespace, false, slices.SortedFunc(maps.Keys(found[namespace]), manifest.CompareKeys)})
		}
		return all
	}
	for _, namespace := range to.whole {
		if keys := n.whole(namespace); len(keys) > 0 {
			all = append(all, closing{namespace, true, keys})
		}
	}
	return all
}

// whole returns what a text closes in a namespace if it names no object, sorted.
func (n *objectNames) whole(namespace string) []manifest.Key {
	keys, known := n.wholes[namespace]
	if !known {
		keys = slices.DeleteFunc(slices.SortedFunc(slices.Values(n.in[namespace]), manifest.CompareKeys), func(key manifest.Key) bool {
			_, closable := n.closable[key]
			_, closed := n.closed[key]
			return !closed && (!closable || n.open[namespace])
		})
		n.wholes[namespace] = keys
	}
	return keys
}
