package tenancy

import (
	"fmt"
	"strings"
	"unicode"
)

// The annotations of a Namespace. Read knows what each of them means.
const (
	// AnnotationPaths names the files that may define objects of the namespace.
	AnnotationPaths = "gatefold.io/paths"
	// AnnotationPorts names the ports that Gateways and ListenerSets of the namespace may
	// open from files outside of the cluster paths.
	AnnotationPorts = "gatefold.io/gateway-ports"
	// AnnotationHosts names the hostnames that routes and listeners of the namespace may serve.
	// It applies with or without cluster paths.
	AnnotationHosts = "gatefold.io/hostnames"
)

// Annotations returns the names of all annotations that Read knows.
func Annotations() []string { return []string{AnnotationPaths, AnnotationPorts, AnnotationHosts} }

// Grant is what the annotations of a Namespace allow.
type Grant struct {
	// Paths are the files that may define objects of the namespace; nil is any file.
	Paths Globs
	// Ports are those that Gateways and ListenerSets of the namespace may open; nil is none.
	Ports Ports
	// Hosts are those that routes and listeners of the namespace may serve; nil is every host.
	Hosts []string
}

// Asks reports whether a Namespace has annotations that only path policies enforce. Hosts are
// enforced without them, too.
func (g Grant) Asks() bool { return g.Paths != nil || g.Ports != nil }

// Restricts reports whether a Namespace has an annotation that restricts something. If it is
// not enforced, more is allowed than its author means.
func (g Grant) Restricts() bool { return g.Paths != nil }

// Fault is an invalid value of an annotation.
type Fault struct{ Annotation, Message string }

// Read returns what the annotations of a Namespace allow, and the invalid ones. It ignores
// annotations that it does not know.
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
	}
	return err
}

// entries splits a value at commas, spaces and line breaks; it is an error when nothing
// is left. wanted says what to write.
func entries(text, wanted string) ([]string, error) {
	all := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if len(all) == 0 {
		return nil, fmt.Errorf("the value is empty: write %s", wanted)
	}
	return all, nil
}
