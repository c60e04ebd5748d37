package store

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/tenancy"
)

// Which definitions may serve is a matter of their files (package tenancy). One
// that the path policies refuse is read, and reported as a problem, but never stands
// beside those that may serve: it takes nothing over, and hinders nothing.

const (
	kindNamespace = "Namespace"
	kindGateway   = "Gateway"
)

// isNamespace reports whether the key is that of a Namespace.
func isNamespace(k manifest.Key) bool { return k.Group == "" && k.Kind == kindNamespace }

// grantOf returns what a Namespace gives to its namespace; nothing for another object. The
// schema has seen that it can be read.
func grantOf(o *manifest.Object) tenancy.Grant {
	namespace, ok := manifest.As[*corev1.Namespace](o)
	if !ok {
		return tenancy.Grant{}
	}
	grant, _ := tenancy.Read(namespace.Annotations)
	return grant
}

// sourceOf reports whether objects of a file come from cluster paths.
func (s *Store) sourceOf(file string) manifest.Source {
	switch {
	case !s.policy.InForce():
		return manifest.AnyFile
	case s.policy.Cluster(file):
		return manifest.ClusterPaths
	}
	return manifest.OtherFile
}

// outside is why a definition may not serve.
type outside struct {
	tenancy.Refusal
	code  string
	field string
}

// The codes of the problems of definitions that may not serve.
const (
	outsideFence        = "OutsideFence"
	portNotAllowed      = "PortNotAllowed"
	clusterPathsMissing = "ClusterPathsMissing"
)

// judge says why a file must not define an object; ok is true where it may.
func (s *Store) judge(file string, o *manifest.Object) (why outside, ok bool) {
	if !s.policy.InForce() {
		return judgeWithout(o)
	}
	if refusal := s.policy.Refuse(file, o.Key.Namespace); refusal != (tenancy.Refusal{}) {
		return outside{refusal, outsideFence, "metadata.name"}, false
	}
	for _, port := range opens(o) {
		refusal := s.policy.RefusePort(file, o.Key.Namespace, port.number)
		if refusal == (tenancy.Refusal{}) && o.Key.Kind == kindGateway && port.number != 0 {
			refusal = s.policy.RefuseShared(file, o.Key.Namespace, port.number)
		}
		if refusal != (tenancy.Refusal{}) {
			return outside{refusal, portNotAllowed, port.field}, false
		}
	}
	return outside{}, true
}

// judgeWithout refuses a Namespace that asks for path policies where none is in force: any
// file could define one.
func judgeWithout(o *manifest.Object) (why outside, ok bool) {
	if !grantOf(o).Asks() {
		return outside{}, true
	}
	return outside{tenancy.Refusal{
		Message: "the Namespace has annotations of path policies, which are not in force: gatefold runs without --cluster-paths, and any file may define Namespaces",
		Hint:    "start gatefold with --cluster-paths, the files that may define Namespaces and GatewayClasses; or remove the annotations",
	}, clusterPathsMissing, "metadata.annotations"}, false
}

// opened is a port that an object opens, and where that is written.
type opened struct {
	number int32
	field  string
}

// opens returns the ports that a Gateway or ListenerSet opens; first 0, for any. It
// returns none for other kinds.
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

// permits reports whether a file may define an object.
func (s *Store) permits(file string, o *manifest.Object) bool {
	_, ok := s.judge(file, o)
	return ok
}

// admits reports whether a file may define objects of the key's namespace.
func (s *Store) admits(file string, key manifest.Key) bool {
	return s.policy.Refuse(file, key.Namespace) == tenancy.Refusal{}
}

// inside returns the definitions that the path policies let serve, and notes whether
// there are others.
func (s *Store) inside(key manifest.Key, definitions []*definition) []*definition {
	delete(s.outside, key)
	if !slices.ContainsFunc(definitions, s.refused) {
		return definitions
	}
	s.outside[key] = struct{}{}
	return slices.DeleteFunc(slices.Clone(definitions), s.refused)
}

// refused reports whether the path policies keep a definition from serving.
func (s *Store) refused(d *definition) bool { return !s.permits(d.file.path, d.object) }

// declare brings the path policies up to the Namespaces that serve now, and adds the keys
// on which they judge anew to touched. Namespaces among touched are settled.
func (s *Store) declare(touched map[manifest.Key]struct{}) {
	clear(s.trespassing)
	changed := map[string]bool{}
	for key := range touched {
		if !isNamespace(key) {
			continue
		}
		at, serves := s.served[key]
		if serves && s.policy.Declare(key.Name, s.grants(key, at)) || !serves && s.policy.Forget(key.Name) {
			changed[key.Name] = true
		}
	}
	if len(changed) == 0 {
		return
	}
	s.standing.sure = false
	judge := func(key manifest.Key) {
		if key.Namespace != "" && (changed[key.Namespace] || key.Kind == kindGateway) {
			touched[key] = struct{}{}
		}
	}
	for key := range s.found {
		judge(key)
	}
	for key := range s.refusals {
		judge(key)
	}
	for _, keys := range s.kept {
		for key := range keys {
			judge(key)
		}
	}
}

// grants returns what all definitions of a Namespace give that may serve, or else the one
// that is kept.
func (s *Store) grants(key manifest.Key, at served) (all []tenancy.Grant) {
	for _, d := range s.found[key] {
		if !s.refused(d) {
			all = append(all, grantOf(d.object))
		}
	}
	if len(all) == 0 {
		all = append(all, grantOf(at.object))
	}
	return all
}

// holdsOutside reports whether a file defines something that the path policies refuse:
// as a broken file does, it keeps what it gave before.
func (s *Store) holdsOutside(f *file) bool {
	holds, known := s.trespassing[f]
	if !known {
		holds = slices.ContainsFunc(f.definitions, s.refused)
		s.trespassing[f] = holds
	}
	return holds
}

// sharedPorts tells of Namespaces with a port that belongs to another.
func (s *Store) sharedPorts() (all []manifest.Problem) {
	for namespace, other := range s.policy.Overlaps() {
		key := manifest.Key{Kind: kindNamespace, Name: namespace}
		p := manifest.Problem{
			Code: "PortShared", Severity: manifest.Warning, File: s.served[key].path(), Object: key, Field: "metadata.annotations[" + tenancy.AnnotationPorts + "]",
			Message: fmt.Sprintf("namespace %s has a port that namespace %s has as well: it belongs to %s, and Gateways of %s cannot open it", namespace, other, other, namespace),
			Hint:    "give each port to one namespace",
		}
		if d := s.served[key].definition; d != nil {
			where := d.find(d.document.root(), p.Field)
			p.Line, p.Column, p.Excerpt = where.line+d.document.line-1, where.column, excerpt(d.document.text, where)
		}
		all = append(all, p)
	}
	return all
}

// maxOutside bounds what is listed of one file's objects outside the fence.
const maxOutside = 50

// outsideProblems tells of the definitions that the path policies refuse.
func (s *Store) outsideProblems() []manifest.Problem {
	byFile := map[*file][]*definition{}
	for key := range s.outside {
		for _, d := range s.found[key] {
			if s.refused(d) {
				byFile[d.file] = append(byFile[d.file], d)
			}
		}
	}
	var all []manifest.Problem
	for f, refused := range byFile {
		slices.SortFunc(refused, func(a, b *definition) int { return cmp.Compare(a.order, b.order) })
		for _, d := range refused[:min(len(refused), maxOutside)] {
			all = append(all, s.outsideProblem(d))
		}
		if more := len(refused) - maxOutside; more > 0 {
			all = append(all, manifest.Problem{
				Code: "MoreProblems", Severity: manifest.Error, File: f.path,
				Message: fmt.Sprintf("the file has %d objects more that it may not define, which are not listed", more),
			})
		}
	}
	return all
}

func (s *Store) outsideProblem(d *definition) manifest.Problem {
	why, _ := s.judge(d.file.path, d.object)
	p := manifest.Problem{
		Code: why.code, Severity: manifest.Error, File: d.file.path, Line: d.line(), Column: d.place.column,
		Object: d.object.Key, Field: why.field, Message: why.Message, Hint: why.Hint,
	}
	where := d.place
	if why.field != "metadata.name" {
		where = d.find(d.document.root(), why.field)
		p.Line, p.Column = where.line+d.document.line-1, where.column
	}
	if at, serves := s.served[d.object.Key]; serves {
		p.Message += fmt.Sprintf("; the one of %s is still served", path.Join(s.options.PathPrefix, at.path()))
	}
	if d.shows() {
		p.Excerpt = excerpt(d.document.text, where)
	}
	return p
}
