package store

import (
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/watcher"
)

const (
	kindNamespace = "Namespace"
	kindGateway   = "Gateway"
)

// The codes of the problems of definitions that may not serve.
const (
	outsideFence        = "OutsideFence"
	portNotAllowed      = "PortNotAllowed"
	clusterPathsMissing = "ClusterPathsMissing"
)

// fence decides by path policies which definitions may serve. The decision depends on their files
// (package tenancy). A definition that is rejected is read and reported, but has no effect on
// definitions that may serve.
type fence struct {
	policy  tenancy.Policy
	outside map[manifest.Key]struct{} // keys with definitions that are outside
	// foundOutside holds what holdsOutside found since the policies or a file changed.
	foundOutside map[*file]bool
}

func newFence(cluster tenancy.Globs) *fence {
	return &fence{policy: tenancy.New(cluster), outside: map[manifest.Key]struct{}{}, foundOutside: map[*file]bool{}}
}

// sourceOf returns whether the objects of a file come from cluster paths.
func (f *fence) sourceOf(file string) manifest.Source {
	switch {
	case !f.policy.InForce():
		return manifest.AnyFile
	case f.policy.Cluster(file):
		return manifest.ClusterPaths
	}
	return manifest.OtherFile
}

// check returns why a file must not define an object. ok is true if it may.
func (f *fence) check(file string, o *manifest.Object) (why outsideReason, ok bool) {
	if !f.policy.InForce() {
		return checkWithoutPolicies(o)
	}
	if refusal := f.policy.CheckNamespace(file, o.Key.Namespace); refusal != (tenancy.Violation{}) {
		return outsideReason{refusal, outsideFence, "metadata.name"}, false
	}
	for _, port := range opens(o) {
		refusal := f.policy.CheckPort(file, o.Key.Namespace, port.number)
		if refusal == (tenancy.Violation{}) && o.Key.Kind == kindGateway && port.number != 0 {
			refusal = f.policy.CheckSharedPort(file, o.Key.Namespace, port.number)
		}
		if refusal != (tenancy.Violation{}) {
			return outsideReason{refusal, portNotAllowed, port.field}, false
		}
	}
	return outsideReason{}, true
}

// checkWithoutPolicies rejects a Namespace with annotations of path policies if gatefold runs
// without path policies. Then any file could define such a Namespace.
func checkWithoutPolicies(o *manifest.Object) (why outsideReason, ok bool) {
	if !grantOf(o).Asks() {
		return outsideReason{}, true
	}
	return outsideReason{tenancy.Violation{
		Message: "the Namespace has annotations of path policies, which are not in force: gatefold runs without --cluster-paths, and any file may define Namespaces",
		Hint:    "start gatefold with --cluster-paths, the files that may define Namespaces and GatewayClasses; or remove the annotations",
	}, clusterPathsMissing, "metadata.annotations"}, false
}

// outsideReason is why a definition may not serve.
type outsideReason struct {
	tenancy.Violation
	code  string
	field string
}

// permits reports whether a file may define an object.
func (f *fence) permits(file string, o *manifest.Object) bool {
	_, ok := f.check(file, o)
	return ok
}

// admits reports whether a file may define objects of the key's namespace.
func (f *fence) admits(file string, key manifest.Key) bool {
	return f.policy.CheckNamespace(file, key.Namespace) == tenancy.Violation{}
}

// rejects reports whether the path policies reject a definition.
func (f *fence) rejects(d *definition) bool { return !f.permits(d.file.path, d.object) }

// inside returns the definitions that the path policies accept, and notes whether there are others.
func (f *fence) inside(key manifest.Key, definitions []*definition) []*definition {
	delete(f.outside, key)
	if !slices.ContainsFunc(definitions, f.rejects) {
		return definitions
	}
	f.outside[key] = struct{}{}
	return slices.DeleteFunc(slices.Clone(definitions), f.rejects)
}

// definesOutside reports whether a file has a definition that the path policies reject. Such a file
// keeps its earlier objects, as a broken file does.
func (f *fence) definesOutside(of *file) bool {
	holds, known := f.foundOutside[of]
	if !known {
		holds = slices.ContainsFunc(of.definitions, f.rejects)
		f.foundOutside[of] = holds
	}
	return holds
}

// hides reports whether a skipped file or directory may contain Namespaces of cluster paths. A
// directory with a name like a file's is never read.
func (f *fence) hides(skip watcher.Skip) bool {
	ignoreFile := skip.Reason == watcher.InvalidIgnore || skip.Reason == watcher.IgnoreNotAllowed
	if !f.policy.InForce() || ignoreFile {
		return false
	}
	loadable := slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(skip.Path))
	return f.policy.Cluster(skip.Path) || !loadable && f.policy.ClusterBelow(skip.Path)
}

// opened is a port that an object opens, with its field.
type opened struct {
	number int32
	field  string
}

// opens returns the ports that a Gateway or ListenerSet opens, none for other kinds. Port 0 means
// any port and comes first.
func opens(o *manifest.Object) []opened {
	var listeners []gwv1.PortNumber
	switch value := o.Value.(type) {
	case *gwv1.Gateway:
		for _, l := range value.Spec.Listeners {
			listeners = append(listeners, l.Port)
		}
	case *gwv1.ListenerSet:
		for _, l := range value.Spec.Listeners {
			listeners = append(listeners, l.Port)
		}
	default:
		return nil
	}
	all := []opened{{0, "metadata.name"}}
	for i, port := range listeners {
		all = append(all, opened{port, fmt.Sprintf("spec.listeners[%d].port", i)})
	}
	return all
}

// isNamespace reports whether the key is that of a Namespace.
func isNamespace(k manifest.Key) bool { return k.Group == "" && k.Kind == kindNamespace }

// grantOf returns what a Namespace allows its namespace, nothing for other kinds. The schema has
// checked that its annotations can be read.
func grantOf(o *manifest.Object) tenancy.Grant {
	namespace, ok := manifest.As[*corev1.Namespace](o)
	if !ok {
		return tenancy.Grant{}
	}
	grant, _ := tenancy.Read(namespace.Annotations)
	return grant
}
