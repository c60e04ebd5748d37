package store

import (
	"fmt"
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

// The codes of the problems of definitions that the path policies reject.
const (
	outsideFence        = "OutsideFence"
	portNotAllowed      = "PortNotAllowed"
	clusterPathsMissing = "ClusterPathsMissing"
)

// fence applies the path policies (package tenancy): it decides which files may define which objects. A
// definition that the path policies reject is read and reported, but not served. It has no effect on other
// definitions.
type fence struct {
	policy  tenancy.Policy
	owners  *tenancy.Owners           // those of policy; nil if it is not in force
	outside map[manifest.Key]struct{} // keys with definitions that the path policies reject
	// foundOutside has the results of definesOutside since the policies or a file changed.
	foundOutside map[*file]bool
}

// newFence returns a fence. The parameter cluster has the patterns of the flag --cluster-paths: they match the files
// of the platform team. Without patterns, the path policies are not in force, and any file may define any object
// (except some Namespaces, see checkWithoutPolicies).
func newFence(cluster tenancy.Globs) *fence {
	f := &fence{policy: tenancy.New(cluster), outside: map[manifest.Key]struct{}{}, foundOutside: map[*file]bool{}}
	if f.policy.InForce() {
		f.owners = f.policy.Owners()
	}
	return f
}

// sourceOf returns the Source of the objects in a file: manifest.ClusterPaths if the flag --cluster-paths names the
// file, otherwise manifest.OtherFile. If there are no path policies, it returns manifest.AnyFile for every file.
func (f *fence) sourceOf(file string) manifest.Source {
	switch {
	case !f.policy.InForce():
		return manifest.AnyFile
	case f.policy.Cluster(file):
		return manifest.ClusterPaths
	}
	return manifest.OtherFile
}

// check returns true if a file may define an object. Otherwise it returns false and the reason.
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

// checkWithoutPolicies returns false and the reason for a Namespace with annotations of path policies (Grant.Asks),
// and true for other objects. It is used if gatefold runs without path policies, because then any file could define
// such a Namespace.
func checkWithoutPolicies(o *manifest.Object) (why outsideReason, ok bool) {
	if !grantOf(o).Asks() {
		return outsideReason{}, true
	}
	return outsideReason{tenancy.Violation{
		Message: "the Namespace has annotations of path policies, which are not in force: gatefold runs without --cluster-paths, and any file may define Namespaces",
		Hint:    "start gatefold with --cluster-paths, the files that may define Namespaces and GatewayClasses; or remove the annotations",
	}, clusterPathsMissing, "metadata.annotations"}, false
}

// outsideReason is the reason why the path policies reject a definition, with the code and field of the
// problem.
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

// admits reports whether a file may define objects of the key's namespace. Unlike permits, it does not check
// ports.
func (f *fence) admits(file string, key manifest.Key) bool {
	return f.policy.CheckNamespace(file, key.Namespace) == tenancy.Violation{}
}

// rejects reports whether the path policies reject a definition.
func (f *fence) rejects(d *definition) bool { return !f.permits(d.file.path, d.object) }

// inside returns those definitions of a key that the path policies accept. f.outside then contains the key if
// the path policies reject any of the definitions, and does not contain it otherwise.
func (f *fence) inside(key manifest.Key, definitions []*definition) []*definition {
	delete(f.outside, key)
	if !slices.ContainsFunc(definitions, f.rejects) {
		return definitions
	}
	f.outside[key] = struct{}{}
	return slices.DeleteFunc(slices.Clone(definitions), f.rejects)
}

// definesOutside reports whether a file has a definition that the path policies reject. The earlier objects of
// such a file stay served, like those of a broken file, unless they are cluster-scoped (see keeps).
func (f *fence) definesOutside(of *file) bool {
	holds, known := f.foundOutside[of]
	if !known {
		holds = slices.ContainsFunc(of.definitions, f.rejects)
		f.foundOutside[of] = holds
	}
	return holds
}

// hides reports whether a file or directory that the watcher skipped may contain Namespaces that the path policies
// accept: whether the flag --cluster-paths names the file, or could name a file in the directory. A path that ends in
// .yaml, .yml or .json counts as a file, because the watcher never reads a directory with such a name. hides returns
// false if there are no path policies, for an ignore file that is invalid or not allowed, and for a link to what is read by
// another path.
func (f *fence) hides(skip watcher.Skip) bool {
	reasons := []watcher.SkipReason{watcher.InvalidIgnore, watcher.IgnoreNotAllowed, watcher.ReadElsewhere}
	if !f.policy.InForce() || slices.Contains(reasons, skip.Reason) {
		return false
	}
	return f.policy.Cluster(skip.Path) || !isManifestPath(skip.Path) && f.policy.ClusterBelow(skip.Path)
}

// opened is a port that an object opens, and the field with the port.
type opened struct {
	number int32
	field  string
}

// opens returns the ports of the listeners of a Gateway or ListenerSet. Port 0 comes first, even if there are no
// listeners: it stands for the right to open ports at all. For other kinds, opens returns nil.
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

// grantOf returns what the annotations of a Namespace allow. It returns the zero Grant for other kinds. The
// schema has already validated the annotations.
func grantOf(o *manifest.Object) tenancy.Grant {
	namespace, ok := manifest.As[*corev1.Namespace](o)
	if !ok {
		return tenancy.Grant{}
	}
	grant, _ := tenancy.Read(namespace.Annotations)
	return grant
}
