package listen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// Route contains what decides where a route attaches: the fields of its spec, and the labels of its namespace.
type Route struct {
	route.Common
	// NamespaceLabels are the labels of the route's namespace, including kubernetes.io/metadata.name.
	NamespaceLabels map[string]string
}

// own returns the route's own hostname for a domain of a listener: of those that cover the domain, the most specific one
// (see route.Specific). It is "" for a route without hostnames. A route of the platform team counts as if it had the
// hostname of the listener, so that no team's route comes before it.
func (r Route) own(at string) (own string) {
	if r.Platform {
		return hostname(at)
	}
	for _, name := range r.Hosts.Names() {
		if scope.CoversHost(name, hostname(at)) && route.Specific(name) > route.Specific(own) {
			own = name
		}
	}
	return own
}

// hostnames returns spec.hostnames as text, for messages. If spec.hostnames is empty, it returns the hosts that
// the namespace of the route may serve.
func (r Route) hostnames() string {
	if len(r.Hostnames) == 0 {
		return r.Hosts.String()
	}
	return strings.Join(r.Hostnames, ", ")
}

// groupKind returns the group and kind of the route, as they are written in allowedRoutes.kinds of a listener.
func (r Route) groupKind() gwv1.RouteGroupKind {
	group := gwv1.Group(r.Key.Group)
	return gwv1.RouteGroupKind{Group: &group, Kind: gwv1.Kind(r.Key.Kind)}
}

// Place is one position in Envoy's configuration that rules of a route are added to. For HTTP it is a virtual
// host of a chain on a port. For TCP, TLS and UDP it is a hostname of a listener's ir.Stream, or "*".
type Place struct {
	Port int32
	UDP  bool
	// Granted is that of the route's route.Rank for the place.
	Granted bool
	// Own is the hostname of the route that is for the place (see Route.own).
	Own    string
	Chain  string // ir.Chain.Name of the chain
	Domain string // a hostname or wildcard; "*" for every host
	// Listener is the ID of the listener that the place belongs to. It may be "", for example in a map key.
	Listener string
	// Raw is true if the listener forwards TLS to the backends without termination.
	Raw bool
}

// Wider returns the hostname that a route has for the place, if it is wider than Domain (ir.Rule.Wider). Otherwise it
// returns "".
func (p Place) Wider() string {
	if own := domain(p.Own); own != p.Domain {
		return own
	}
	return ""
}

// Attachment says to which listeners a route is attached by one of its parentRefs, or why it is not attached.
type Attachment struct {
	// Accepted is zero if the route attached. Otherwise it is the reason why not, and Hint is what to do.
	Accepted manifest.Verdict[gwv1.RouteConditionReason]
	Hint     string
	// Listeners are the IDs of the listeners that the route is attached to. A listener that is not served is
	// listed, but has no Place.
	Listeners []string
	Places    []Place
	// Shadowed is a message for a route that attached but has no Place, because other listeners serve its hosts.
	// It names these listeners. Otherwise it is "".
	Shadowed string
}

// notAttached returns the Attachment of a route that attaches to no listener. reason and message are those of
// the condition Accepted. hint says what to do.
func notAttached(reason gwv1.RouteConditionReason, message, hint string) Attachment {
	return Attachment{Accepted: manifest.Because(reason, message), Hint: hint}
}

// NoParent returns the Attachment to a Gateway or ListenerSet that does not exist or is not valid. The message says which
// of them, and hint says what to do.
func NoParent(message, hint string) Attachment {
	return notAttached(gwv1.RouteReasonNoMatchingParent, message, hint)
}

// AttachNothing returns the Attachment to a ListenerSet that its Gateway does not accept.
func (s *Set) AttachNothing() Attachment {
	return notAttached(gwv1.RouteReasonNoMatchingParent, fmt.Sprintf("%s is not accepted: %s", s.Origin.Key, s.Accepted.Message), "fix the ListenerSet first")
}

// maxOwned is the largest number of hosts, or of other listeners, that a message lists by name. For more, the
// message ends with "and others".
const maxOwned = 4

// Attach returns to which listeners the route r attaches by one of its parentRefs (ref), and the places for the rules
// of the route, such as virtual hosts. If the route attaches to no listener, the result has the reason. The parameter
// parent is the object that ref names, and p has the listeners of that object. A listener must be selected by
// sectionName and port of ref, and admit the route by kind, namespace and hostname (Envoy Gateway's translator
// design, Outline 2).
//
// The function owner returns the ID of the listener that serves a domain of a port. The route gets no place for a
// domain that another listener serves. Attach calls owner only for a listener whose entry in p.Shared is true:
// another listener of the port serves some of the listener's hosts.
func (p *Part) Attach(parent manifest.Key, ref gwv1.ParentReference, r Route, owner func(Socket, string) string) Attachment {
	named := namedBy(ref, p.Listeners)
	if len(named) == 0 {
		return notAttached(gwv1.RouteReasonNoMatchingParent,
			fmt.Sprintf("%s has no listener%s", parent, wanted(ref)), meantListener(ref, p.Listeners)+"its listeners are: "+listenerNames(p.Listeners))
	}
	admitting := slices.DeleteFunc(slices.Clone(named), func(l *Listener) bool { return !l.admits(r) })
	if len(admitting) == 0 {
		return notAllowed(parent, named, r)
	}
	out := Attachment{}
	var owned []string
	for _, l := range admitting {
		domains := intersect(l.Hostname, r.Hosts)
		if len(domains) > 0 {
			out.Listeners = append(out.Listeners, l.ID())
		}
		for _, domain := range domains {
			if !l.Serves() {
				continue
			}
			if by := p.ownerOf(l, domain, owner); by != l.ID() {
				owned = append(owned, fmt.Sprintf("%s is the host of listener %s", domain, by))
				continue
			}
			place := l.place(domain)
			place.Own, place.Granted = r.own(domain), r.Granted
			out.Places = append(out.Places, place)
		}
	}
	if len(out.Listeners) == 0 {
		return notAttached(gwv1.RouteReasonNoMatchingListenerHostname,
			fmt.Sprintf("none of the hostnames %s lies within the listeners of %s", r.hostnames(), parent),
			"correct spec.hostnames, or the listener's hostname")
	}
	if len(out.Places) == 0 && len(owned) > 0 {
		if len(owned) > maxOwned {
			owned = append(owned[:maxOwned], "and others")
		}
		out.Shadowed = fmt.Sprintf("the route serves nothing on %s: %s", parent, strings.Join(owned, ", "))
	}
	return out
}

// ownerOf returns the ID of the listener that serves a domain of the listener l. If another listener on the port
// has a more specific hostname for the domain, that listener serves the domain instead of l. The function owner
// finds the listener, as in Attach.
func (p *Part) ownerOf(l *Listener, domain string, owner func(Socket, string) string) string {
	if !p.Shared[slices.Index(p.Listeners, l)] {
		return l.ID()
	}
	return owner(l.Socket(), domain)
}

// notAllowed returns the Attachment for listeners that do not admit the route. If none of the listeners has a
// protocol for the route, the message is about the protocols. Otherwise, if none allows the kind of the route, the
// message is about the kind. In all other cases it is about the namespace.
func notAllowed(parent manifest.Key, named []*Listener, r Route) Attachment {
	reason := gwv1.RouteReasonNotAllowedByListeners
	kind := func(l *Listener) bool { return l.admitsKind(r) }
	if !slices.ContainsFunc(named, func(l *Listener) bool { return l.speaks(r.Kind) }) {
		var protocols []string
		for _, l := range named {
			protocols = append(protocols, fmt.Sprintf("%s is of protocol %s", l.Name, l.Protocol))
		}
		return notAttached(reason, fmt.Sprintf("no listener of %s serves %s: %s", parent, r.Key.Kind, route.Several(protocols)),
			"attach the route to a listener of protocol "+protocolWords(r.Kind))
	}
	if !slices.ContainsFunc(named, kind) {
		return notAttached(reason, fmt.Sprintf("no listener of %s allows kind %s", parent, r.Key.Kind),
			fmt.Sprintf("add %s to allowedRoutes.kinds of a listener of protocol %s, or leave kinds out", r.Key.Kind, protocolWords(r.Kind)))
	}
	return notAttached(reason, fmt.Sprintf("no listener of %s allows %s of namespace %s", parent, r.Key.Kind, r.Key.Namespace),
		openTo(named, r)+"set allowedRoutes.namespaces of a listener, or move the route")
}

// maxOpenTo is how many listeners the hint of openTo describes, at most.
const maxOpenTo = 3

// openTo returns a hint with the namespaces whose routes the listeners accept, for at most maxOpenTo listeners.
// It returns "" if no listener accepts the kind of the route.
func openTo(named []*Listener, r Route) string {
	var words []string
	labelled := false
	for _, l := range named {
		if !l.admitsKind(r) || !l.speaks(r.Kind) {
			continue
		}
		if len(words) == maxOpenTo {
			words = append(words, "others take other routes")
			break
		}
		words = append(words, "listener "+l.Name+" takes routes of "+l.namespaces())
		labelled = labelled || l.From == gwv1.NamespacesFromSelector && l.Selector != nil
	}
	if len(words) == 0 {
		return ""
	}
	text := strings.Join(words, ", ") + ": "
	if labelled {
		text += "give Namespace " + r.Key.Namespace + " the labels, "
	}
	return text
}

// namespaces returns, as text, the namespaces whose routes may attach to the listener. It must not be called if
// routes of all namespaces may attach.
func (l *Listener) namespaces() string {
	switch {
	case l.From == gwv1.NamespacesFromSame:
		return "namespace " + l.Owner.Namespace + " (Same)"
	case l.From == gwv1.NamespacesFromSelector && l.Selector != nil:
		return "namespaces with " + metav1.FormatLabelSelector(l.Selector)
	}
	return "no namespace"
}

// speaks reports whether routes of a kind may attach to a listener with the protocol of l. For example, a
// TCPRoute may attach to a TCP listener, but not to an HTTP listener.
func (l *Listener) speaks(kind route.Kind) bool { return slices.Contains(kind.Protocols, l.Protocol) }

// protocolWords returns, as text, the protocols of listeners that routes of a kind may attach to.
func protocolWords(kind route.Kind) string {
	var names []string
	for _, protocol := range kind.Protocols {
		names = append(names, string(protocol))
	}
	return strings.Join(names, " or ")
}

// namedBy returns the listeners that a parentRef (ref) selects by sectionName and port. The parameter own has all
// listeners of the object that ref names. If ref has neither sectionName nor port, namedBy returns all of these
// listeners.
func namedBy(ref gwv1.ParentReference, own []*Listener) []*Listener {
	var out []*Listener
	for _, l := range own {
		section := ref.SectionName == nil || *ref.SectionName == "" || string(*ref.SectionName) == l.Name
		if section && (ref.Port == nil || *ref.Port == l.Port) {
			out = append(out, l)
		}
	}
	return out
}

// wanted returns the sectionName and port of a parentRef as text, for messages. It returns "" if both are
// unset.
func wanted(ref gwv1.ParentReference) string {
	var out string
	if ref.SectionName != nil {
		out += fmt.Sprintf(" named %s", *ref.SectionName)
	}
	if ref.Port != nil {
		out += fmt.Sprintf(" on port %d", *ref.Port)
	}
	return out
}

// meantListener returns the beginning of a hint for a sectionName that names no listener. The hint suggests the
// listener (in the list own) with the most similar name. meantListener returns "" if no name is similar, if a
// listener has exactly that name, or if ref has no sectionName.
func meantListener(ref gwv1.ParentReference, own []*Listener) string {
	if ref.SectionName == nil {
		return ""
	}
	var names []string
	for _, l := range own {
		names = append(names, l.Name)
	}
	if like := manifest.Nearest(string(*ref.SectionName), names); like != "" && like != string(*ref.SectionName) {
		return fmt.Sprintf("did you mean %q? ", like)
	}
	return ""
}

// listenerNames returns the names and ports of listeners as text.
func listenerNames(own []*Listener) string {
	var names []string
	for _, l := range own {
		names = append(names, fmt.Sprintf("%s (port %d)", l.Name, l.Port))
	}
	return cmp.Or(route.Several(names), "none")
}

// admits reports whether the listener admits the route by kind and namespace.
func (l *Listener) admits(r Route) bool {
	return l.admitsKind(r) && l.admitsNamespace(r)
}

// admitsKind reports whether the listener admits routes of the kind of r.
func (l *Listener) admitsKind(r Route) bool {
	return slices.ContainsFunc(l.Kinds, func(k gwv1.RouteGroupKind) bool { return sameKind(k, r.groupKind()) })
}

// admitsNamespace reports whether the listener admits routes of the namespace of r.
func (l *Listener) admitsNamespace(r Route) bool {
	return scope.AllowsNamespace(l.From, l.Selector, r.Key.Namespace == l.Owner.Namespace, func() map[string]string { return r.NamespaceLabels })
}

// intersect returns the hosts that a listener and a route have in common, sorted and unique. listener is the
// hostname of the listener, "" for every host. Of each pair of names that match, the result has the more
// specific one. The names are written as in Place.Domain. It returns nil if there is no common host.
func intersect(listener string, hosts ir.Hosts) []string {
	if hosts.Every() {
		return []string{domain(listener)}
	}
	var out []string
	for _, hostname := range hosts.Names() {
		if both, ok := scope.Intersect(listener, hostname); ok {
			out = append(out, domain(both))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// domain returns the Place.Domain for a hostname of a listener: "*" for "".
func domain(hostname string) string {
	if hostname == "" {
		return "*"
	}
	return hostname
}

// place returns the Place of a domain at the listener.
func (l *Listener) place(domain string) Place {
	return Place{Port: l.Port, UDP: l.Socket().UDP, Chain: l.chain(), Domain: domain, Listener: l.ID(), Raw: l.Passthrough}
}

// Places returns one Place for each HTTP and HTTPS listener that serves. The virtual host of such a Place
// exists even without routes and then answers 404, so that routes of other listeners do not get its requests.
func (g *Gateway) Places() []Place {
	var out []Place
	for _, l := range g.Listeners {
		if l.Serves() && l.SpeaksHTTP() {
			out = append(out, l.place(domain(l.Hostname)))
		}
	}
	return out
}
