package importer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
)

// nginxController is the controller of the IngressClasses of ingress-nginx.
const nginxController = "k8s.io/ingress-nginx"

// ingressClasses are the classes of Ingresses that are imported.
type ingressClasses struct {
	objects  *collection
	imported []string // Options.IngressClasses; if it is empty, the class nginx is imported
}

// otherClass returns the class because of which an Ingress is not imported. An Ingress can name a class in
// spec.ingressClassName and in the annotation kubernetes.io/ingress.class. The Ingress is imported if each class that
// it names is an imported class, or if it names no class. otherClass then returns "".
func (c *ingressClasses) otherClass(ingress *item) string {
	var other []string
	for _, value := range []any{at(ingress.fields, "spec", "ingressClassName"), at(ingress.fields, "metadata", "annotations", "kubernetes.io/ingress.class")} {
		if class, isText := value.(string); value != nil && (!isText || class != "" && !c.importsClass(class)) {
			other = append(other, cmp.Or(fmt.Sprint(value), "?"))
		}
	}
	if len(other) == 0 {
		return ""
	}
	return slices.Min(other)
}

// importsClass reports whether Ingresses of a class are imported. If Options.IngressClasses is not empty, the
// class must be in that list. Otherwise the class must be nginx, and its controller must be ingress-nginx or
// unknown.
func (c *ingressClasses) importsClass(class string) bool {
	if len(c.imported) > 0 {
		return slices.Contains(c.imported, class)
	}
	return class == "nginx" && cmp.Or(c.controllerOf(class), nginxController) == nginxController
}

// controllerOf returns the controller of an IngressClass (spec.controller). It returns "" if the IngressClass
// is not in the input.
func (c *ingressClasses) controllerOf(class string) string {
	object := c.objects.find(manifest.Key{Group: "networking.k8s.io", Kind: "IngressClass", Namespace: "default", Name: class})
	if object == nil {
		return ""
	}
	return text(object.spec()["controller"])
}

// ofOtherController reports whether the controller of a class differs from the controllers of all imported classes
// and of the class nginx. The result is false if the input has no IngressClass for the parameter class, because its
// controller is then unknown. An imported class without an IngressClass in the input is compared as if its controller
// were ingress-nginx.
func (c *ingressClasses) ofOtherController(class string) bool {
	controller := c.controllerOf(class)
	return controller != "" && !slices.ContainsFunc(append([]string{"nginx"}, c.imported...), func(imported string) bool {
		return cmp.Or(c.controllerOf(imported), nginxController) == controller
	})
}

// leaveOther leaves out an Ingress of a class that is not imported. If the class is known to have another
// controller, nothing else changes: that controller usually listens on other addresses. If not, one controller may
// have served this Ingress and the imported ones on the same addresses. So the paths of the left-out Ingress
// answer 500 on imported hosts (see closeOther).
func (n *nginx) leaveOther(ingress *item) {
	class := n.classes.otherClass(ingress)
	if n.classes.ofOtherController(class) || !n.closeOther(ingress) {
		n.add(Refused, ingress.place, ingress.name(), fmt.Sprintf("left out: it is of the class %q, of another controller with addresses of its own", class)).
			Hint = "if ingress-nginx serves that class on the addresses of this Gateway, import it with --ingress-class " + class
		return
	}
	hint := "import it with --ingress-class " + class + "; or leave it out with --accept " + ingress.name() + " if another controller serves it on addresses of its own"
	if n.classes.controllerOf(class) == "" {
		hint = "export ingressclasses, too; or " + hint
	}
	n.protecting(ingress.place, ingress.name(), fmt.Sprintf("left out: it is of the class %q; its paths answer 500 on the hosts that are imported, as the controller of those may have served them", class),
		hint)
}

// closeOther handles an Ingress of a class that is not imported. On hosts that are imported, it makes the paths of
// this Ingress answer 500 (see closeOtherPath). If the Ingress has an annotation that closes whole hosts (see
// ofHost), the whole host answers 500. The result closed is true if at least one path or host answers 500 because of
// this Ingress. A canary Ingress closes nothing, and the result is false.
func (n *nginx) closeOther(ingress *item) (closed bool) {
	told := len(n.verdicts)
	s := n.settings(ingress)
	paths := n.paths(ingress, s)
	n.verdicts = n.verdicts[:told] // leaveOther adds one verdict for the whole Ingress
	if s.canary {
		return false // it protects nothing
	}
	for _, name := range slices.DeleteFunc(slices.Clone(s.hosts), func(name string) bool { return !n.hosts.serves(name) }) {
		host := n.hosts.get(name)
		host.regex = host.regex || s.regex || s.rewrite != ""
		host.closed = cmp.Or(host.closed, s.closedHost)
		closed = closed || s.closedHost != ""
		for _, path := range paths {
			if path.host == name && n.closeOtherPath(host, path) {
				closed = true
			}
		}
	}
	s.closed = "the class"
	s.closedWhy = fmt.Sprintf("it is of the class %q, which is not imported, and the controller of the imported ones may have served it here", n.classes.otherClass(ingress))
	return closed
}

// closeOtherPath makes a host answer 500 to requests for a path. The path belongs to an Ingress that is not imported
// (see closeOther). There are three cases:
//   - The host does not have the path yet. closeOtherPath adds it.
//   - The host has the path from another Ingress. shadow then decides whether the host's path answers 500 from now
//     on. But if the parameter path comes from spec.defaultBackend, the host's path stays unchanged.
//   - The host has the path from the same Ingress. The host's path stays unchanged.
//
// The result closed is true if closeOtherPath added the path, now or in an earlier call, or if shadow made the host's
// path answer 500.
func (n *nginx) closeOtherPath(host *ingressHost, path *ingressPath) (closed bool) {
	if slices.Contains(host.paths, path) {
		return true // two rules of the Ingress have the same host
	}
	same := slices.IndexFunc(host.paths, path.matchesAs)
	switch {
	case same < 0:
		host.paths = append(host.paths, path)
		return true
	case path.field == "spec.defaultBackend" || host.paths[same].ingress == path.ingress:
		return false
	}
	return shadow(n.report, path, host.paths[same])
}

// shadow compares an imported path (the parameter path) with the same path of an Ingress that is not imported (the
// parameter other). It makes the imported path answer 500 and returns true if both of these conditions are met:
//   - The two paths are protected in different ways.
//   - The imported path's Ingress is not known to be at least as old as the other Ingress. Then nginx may have served
//     the other path.
//
// Otherwise shadow changes nothing and returns false.
func shadow(r *report, other, path *ingressPath) bool {
	newer := path.created() != "" && path.created() <= other.created()
	if newer || guard(&location{ingressPath: other}) == guard(&location{ingressPath: path}) {
		return false
	}
	path.closed = other.ingress.name() + ", of another class, has the path, too, and protects it in another way"
	r.protecting(path.ingress.place, path.ingress.name(), "answers 500: "+path.closed, "leave that one out with --accept "+other.ingress.name()+" if it is served on addresses of its own", path.field)
	return true
}
