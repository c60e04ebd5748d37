// Package tenancy has the path policies of a folder that several teams share. For each namespace, they say
// which files may define its objects, and which ports it may open.
//
// Path policies apply if the operator names cluster paths, the files of the platform team. Only these files may
// define cluster-scoped objects such as Namespaces. Other files may open ports only if the annotations of a
// Namespace (Grant) allow it. The annotations also limit which files may define objects of the namespace. A
// Namespace without the annotation for paths accepts objects from any file. Objects of a namespace without a
// Namespace are rejected.
package tenancy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Policy has the path policies of all namespaces. The zero Policy rejects nothing.
type Policy struct {
	cluster Globs
	// declared has the Grants of each namespace, by the name of the namespace. There is one Grant for each
	// definition of the Namespace object; the Grant is what the annotations of that definition allow.
	declared map[string][]Grant
}

// New returns a Policy. The parameter cluster has the cluster paths: patterns for the files of the platform team.
// Without patterns, the path policies do not apply.
func New(cluster Globs) Policy { return Policy{cluster: cluster, declared: map[string][]Grant{}} }

// InForce reports whether path policies apply.
func (p *Policy) InForce() bool { return len(p.cluster) > 0 }

// Cluster reports whether a file is one of the platform team's, because it matches the cluster paths (the flag
// --cluster-paths).
func (p *Policy) Cluster(file string) bool { return p.cluster.Match(file) }

// ClusterBelow reports whether the path of a file below a directory, at any depth, could match the cluster paths
// (see Cluster).
func (p *Policy) ClusterBelow(directory string) bool { return p.cluster.MatchBelow(directory) }

// Declare records what the annotations of a Namespace allow. The parameter grants has one Grant for each
// definition of the Namespace. If there are several, a file may do only what all Grants allow. changed is false
// if the same grants were recorded already. Without path policies, Declare does nothing and returns false.
func (p *Policy) Declare(namespace string, grants []Grant) (changed bool) {
	before, known := p.declared[namespace]
	if !p.InForce() || known && reflect.DeepEqual(before, grants) {
		return false
	}
	p.declared[namespace] = grants
	return true
}

// Forget removes what Declare recorded for a Namespace, which then counts as not declared. It returns false if
// nothing was recorded.
func (p *Policy) Forget(namespace string) (changed bool) {
	_, known := p.declared[namespace]
	delete(p.declared, namespace)
	return known
}

// Violation is the reason why a file must not define an object, and what to do. The zero Violation means that
// the file may define it.
type Violation struct{ Message, Hint string }

// CheckNamespace returns a Violation if a file must not define objects of a namespace, and the zero Violation
// otherwise. The namespace "" means cluster-scoped objects.
func (p *Policy) CheckNamespace(file, namespace string) Violation {
	switch {
	case !p.InForce():
		return Violation{}
	case namespace == "":
		return p.checkCluster(file)
	}
	grants, known := p.declared[namespace]
	if !known {
		return Violation{
			Message: fmt.Sprintf("namespace %s is not declared: with --cluster-paths, gatefold serves objects of declared namespaces only", namespace),
			Hint:    fmt.Sprintf("correct metadata.namespace, or add Namespace %s to a file of --cluster-paths (%s)", namespace, p.cluster),
		}
	}
	for _, grant := range grants {
		if grant.Paths != nil && !grant.Paths.Match(file) {
			return Violation{
				Message: fmt.Sprintf("this file may not define objects of namespace %s, which belongs to %s", namespace, grant.Paths),
				Hint:    fmt.Sprintf("move the object there, correct metadata.namespace, or add this file to the annotation %s of Namespace %s", AnnotationPaths, namespace),
			}
		}
	}
	return Violation{}
}

// CheckPort returns a Violation if a Gateway or ListenerSet in a namespace must not open a port, and the zero
// Violation otherwise. The parameter file is the file of the object; files of the cluster paths may open every
// port. For port 0, CheckPort checks whether the namespace may have Gateways and ListenerSets at all. It returns
// the zero Violation for a namespace that is not declared, because CheckNamespace rejects its objects.
func (p *Policy) CheckPort(file, namespace string, port int32) Violation {
	if !p.InForce() || p.Cluster(file) {
		return Violation{}
	}
	for _, grant := range p.declared[namespace] {
		switch {
		case grant.Ports == nil:
			return Violation{
				Message: fmt.Sprintf("this file may not open ports: Gateways and ListenerSets come from --cluster-paths (%s), or from namespaces with the annotation %s", p.cluster, AnnotationPorts),
				Hint:    fmt.Sprintf("attach routes to a Gateway of the platform, or give Namespace %s the annotation %s with the ports that it may use", namespace, AnnotationPorts),
			}
		case port != 0 && !grant.Ports.Has(port):
			return Violation{
				Message: fmt.Sprintf("namespace %s may not open port %d: its ports are %s", namespace, port, grant.Ports),
				Hint:    fmt.Sprintf("use one of those ports, or add this one to the annotation %s of Namespace %s", AnnotationPorts, namespace),
			}
		}
	}
	return Violation{}
}

// CheckSharedPort returns a Violation if a port that the namespace may open (CheckPort) belongs to another
// namespace, and the zero Violation otherwise. If the annotations of several namespaces allow a port, it belongs
// to the first of them by name. Which Gateways exist does not matter, so no team can take a port from another
// team. Files of the cluster paths may open every port.
func (p *Policy) CheckSharedPort(file, namespace string, port int32) Violation {
	if !p.InForce() || p.Cluster(file) {
		return Violation{}
	}
	for other := range p.declared {
		if other < namespace && p.mayOpen(other, port) {
			return Violation{
				Message: fmt.Sprintf("port %d belongs to namespace %s, which has it by its annotation %s as well", port, other, AnnotationPorts),
				Hint:    "use another port, or give this one to one namespace alone",
			}
		}
	}
	return Violation{}
}

// mayOpen reports whether all definitions of a Namespace allow a port.
func (p *Policy) mayOpen(namespace string, port int32) bool {
	return !slices.ContainsFunc(p.declared[namespace], func(g Grant) bool { return !g.Ports.Has(port) })
}

// Overlaps finds each namespace whose annotations allow a port that belongs to another namespace (see
// CheckSharedPort). The keys of the result are the names of the namespaces found. The value for a key is the first
// namespace, in alphabetical order, that has a port in common with the namespace of the key. If a Namespace has
// several definitions, only the first one counts.
func (p *Policy) Overlaps() map[string]string {
	out := map[string]string{}
	var before []string
	for _, namespace := range slices.Sorted(maps.Keys(p.declared)) {
		for _, other := range before {
			if out[namespace] == "" && overlap(p.declared[namespace], p.declared[other]) {
				out[namespace] = other
			}
		}
		if p.declared[namespace][0].Ports != nil {
			before = append(before, namespace)
		}
	}
	return out
}

// overlap reports whether two Namespaces have a port in common. The parameters a and b have one Grant for each
// definition of the two Namespaces. Only the first definitions count, which are a[0] and b[0].
func overlap(a, b []Grant) bool {
	for _, r := range a[0].Ports {
		if slices.ContainsFunc(b[0].Ports, func(s PortRange) bool { return r.First <= s.Last && s.First <= r.Last }) {
			return true
		}
	}
	return false
}

// checkCluster returns a Violation if a file must not define cluster-scoped objects. Otherwise it returns the
// zero Violation.
func (p *Policy) checkCluster(file string) Violation {
	if p.Cluster(file) {
		return Violation{}
	}
	return Violation{
		Message: "this file may not define objects that belong to no namespace: they come from --cluster-paths alone",
		Hint:    fmt.Sprintf("move it to a file of %s, or start gatefold with this file in --cluster-paths", p.cluster),
	}
}
