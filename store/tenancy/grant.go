package tenancy

import (
	"fmt"
	"strings"
	"unicode"
)

// The annotations of a Namespace that Read knows.
const (
	// AnnotationPaths is the annotation with the files that may define objects of the namespace.
	AnnotationPaths = "gatefold.io/paths"
	// AnnotationPorts is the annotation with the ports that Gateways and ListenerSets of the namespace may
	// open. It does not limit objects in files that match the flag --cluster-paths.
	AnnotationPorts = "gatefold.io/gateway-ports"
	// AnnotationHosts is the annotation with the hostnames that routes and listeners of the namespace may
	// serve. It applies even if gatefold runs without the flag --cluster-paths.
	AnnotationHosts = "gatefold.io/hostnames"
	// AnnotationDelegation is the annotation with the namespaces whose HTTPRoutes may delegate to routes of the
	// namespace that have no parentRefs. Routes of cluster paths and of the namespace itself always may. It applies
	// only if gatefold runs with the flag --cluster-paths.
	AnnotationDelegation = "gatefold.io/delegation-from"
	// AnnotationBackends is the annotation with the endpoints to which objects of the namespace may have requests sent.
	// It does not limit objects in files that match the flag --cluster-paths.
	AnnotationBackends = "gatefold.io/backends"
)

// AnnotationUsers is the annotation of a GatewayExtension with the namespaces whose policies may use it. It applies
// only if gatefold runs with the flag --cluster-paths.
const AnnotationUsers = "gatefold.io/used-by"

// Annotations returns the names of all annotations that Read knows.
func Annotations() []string {
	return []string{AnnotationPaths, AnnotationPorts, AnnotationHosts, AnnotationDelegation, AnnotationBackends}
}

// Grant is what the annotations of a Namespace allow.
type Grant struct {
	// Paths are the files that may define objects of the namespace. nil means any file.
	Paths Globs
	// Ports are the ports that Gateways and ListenerSets of the namespace may open. nil means none.
	Ports Ports
	// Hosts are the hostnames that routes and listeners of the namespace may serve. nil means every hostname.
	Hosts []string
	// Delegators are the namespaces whose routes may delegate to routes of the namespace without parentRefs.
	Delegators Namespaces
	// Backends are the endpoints that objects of the namespace may have. nil means every endpoint.
	Backends Backends
}

// Asks reports whether the Namespace has at least one of the annotations AnnotationPaths, AnnotationPorts and
// AnnotationBackends. These apply only if gatefold runs with the flag --cluster-paths. AnnotationHosts always applies.
func (g Grant) Asks() bool { return g.Paths != nil || g.Ports != nil || g.Backends != nil }

// Restricts reports whether the Namespace has the annotation AnnotationPaths, which limits the files that may define
// objects of the namespace, or AnnotationBackends, which limits their endpoints. The limits are enforced only if
// gatefold runs with the flag --cluster-paths.
func (g Grant) Restricts() bool { return g.Paths != nil || g.Backends != nil }

// Fault is an invalid value of an annotation.
type Fault struct{ Annotation, Message string }

// Read returns what the annotations of a Namespace allow, and the invalid annotations. It ignores other
// annotations.
func Read(annotations map[string]string) (g Grant, faults []Fault) {
	for _, name := range Annotations() {
		text, written := annotations[name]
		if !written {
			continue
		}
		if err := g.set(name, text); err != nil {
			faults = append(faults, Fault{name, err.Error()})
		}
	}
	return g, faults
}

func (g *Grant) set(annotation, text string) (err error) {
	switch annotation {
	case AnnotationPaths:
		g.Paths, err = Parse(text)
	case AnnotationPorts:
		g.Ports, err = ParsePorts(text)
	case AnnotationHosts:
		g.Hosts, err = ParseHosts(text)
	case AnnotationDelegation:
		g.Delegators, err = ParseNamespaces(text)
	case AnnotationBackends:
		g.Backends, err = ParseBackends(text)
	}
	return err
}

// entries splits the value of an annotation at commas, spaces and line breaks. It returns an error if the value
// has nothing else. The parameter wanted is the end of the error's text, and says what to write.
func entries(text, wanted string) ([]string, error) {
	all := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if len(all) == 0 {
		return nil, fmt.Errorf("the value is empty: write %s", wanted)
	}
	return all, nil
}
