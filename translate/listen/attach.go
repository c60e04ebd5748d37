package listen

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/route"
)

// Route has the parts of a route that decide where it attaches.
type Route struct {
	route.Common
	// NamespaceLabels are the labels of its namespace, with
	// kubernetes.io/metadata.name among them.
	NamespaceLabels map[string]string
}

// hostnames returns the route's hostnames in words.
func (r Route) hostnames() string {
	if len(r.Hostnames) == 0 {
		return r.Hosts.String()
	}
	return strings.Join(r.Hostnames, ", ")
}

// groupKind returns the route's kind in the form of listeners.
func (r Route) groupKind() gwv1.RouteGroupKind {
	group := gwv1.Group(r.Key.Group)
	return gwv1.RouteGroupKind{Group: &group, Kind: gwv1.Kind(r.Key.Kind)}
}

// Place is where rules of a route serve: a virtual host of a chain on a port, or a server name of a
// stream.
type Place struct {
	Port   int32
	UDP    bool
	Chain  string // as ir.Chain.Name
	Domain string // "*" is every host
	// Listener is the ID of the listener with the place, "" if it is not set.
	Listener string
	// Raw is true if TLS is forwarded to the backends.
	Raw bool
}

// Attachment is the result for one parentRef to a Gateway.
type Attachment struct {
	// Accepted is zero if the route attached, and else says why it did not.
	Accepted manifest.Verdict[gwv1.RouteConditionReason]
	Hint     string
	// Listeners are the IDs of those the route is attached to.
	Listeners []string
	Places    []Place
	// Shadowed, for a route that attached and has no place, says which listeners have its
	// hosts.
	Shadowed string
}

func notAttached(reason gwv1.RouteConditionReason, message, hint string) Attachment {
	return Attachment{Accepted: manifest.Because(reason, message), Hint: hint}
}

// NoParent returns the attachment to a Gateway or ListenerSet that does not exist. hint is what to
// do.
func NoParent(key manifest.Key, hint string) Attachment {
	return notAttached(gwv1.RouteReasonNoMatchingParent, key.String()+" does not exist", hint)
}

// InvalidParent returns the attachment to an invalid Gateway or ListenerSet.
func InvalidParent(key manifest.Key) Attachment {
	return notAttached(gwv1.RouteReasonNoMatchingParent, key.String()+" is not valid, and not served", "fix it first; its status says what is wrong with it")
}

// AttachNothing returns the attachment to a ListenerSet that its Gateway does not accept.
func (s *Set) AttachNothing() Attachment {
	return notAttached(gwv1.RouteReasonNoMatchingParent, fmt.Sprintf("%s is not accepted: %s", s.Origin.Key, s.Accepted.Message), "fix the ListenerSet first")
}

// maxOwned bounds how many hosts of other listeners a message names.
const maxOwned = 4

// Attach returns the listeners that ref names and that admit the route (Envoy Gateway's
// translator design, Outline 2: section name, allowed kinds and namespaces, hostnames). parent
// is the object of ref, the Gateway or one of its ListenerSets; only its listeners are
// considered. owner returns the ID of the listener that serves a domain of a port; it is called
// if listeners share hosts.
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
			out.Places = append(out.Places, l.place(domain))
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

// ownerOf returns the ID of the listener that serves a domain of a listener.
func (p *Part) ownerOf(l *Listener, domain string, owner func(Socket, string) string) string {
	if !p.Shared[slices.Index(p.Listeners, l)] {
		return l.ID()
	}
	return owner(l.socket(), domain)
}

// notAllowed returns the attachment to listeners that reject the route. The message names the
// condition that none of them meets: protocol, kind or namespace.
func notAllowed(parent manifest.Key, named []*Listener, r Route) Attachment {
	reason := gwv1.RouteReasonNotAllowedByListeners
	kind := func(l *Listener) bool { return l.admitsKind(r) }
	if !slices.ContainsFunc(named, func(l *Listener) bool { return l.speaks(r.Kind) }) {
		var protocols []string
		for _, l := range named {
			protocols = append(protocols, fmt.Sprintf("%s is of protocol %s", l.Name, l.Protocol))
		}
		return notAttached(reason, fmt.Sprintf("no listener of %s serves %s: %s", parent, r.Key.Kind, strings.Join(protocols, ", ")),
			"attach the route to a listener of protocol "+protocolWords(r.Kind))
	}
	if !slices.ContainsFunc(named, kind) {
		return notAttached(reason, fmt.Sprintf("no listener of %s allows kind %s", parent, r.Key.Kind),
			fmt.Sprintf("add %s to allowedRoutes.kinds of a listener of protocol %s, or leave kinds out", r.Key.Kind, protocolWords(r.Kind)))
	}
	return notAttached(reason, fmt.Sprintf("no listener of %s allows %s of namespace %s", parent, r.Key.Kind, r.Key.Namespace),
		openTo(named, r)+"set allowedRoutes.namespaces of a listener, or move the route")
}

// maxOpenTo is how many listeners a hint describes.
const maxOpenTo = 3

// openTo returns a hint with the namespaces whose routes the listeners accept.
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

// namespaces returns the namespaces whose routes may attach, in words.
func (l *Listener) namespaces() string {
	switch {
	case l.From == gwv1.NamespacesFromSame:
		return "namespace " + l.Owner.Namespace + " (Same)"
	case l.From == gwv1.NamespacesFromSelector && l.Selector != nil:
		return "namespaces with " + metav1.FormatLabelSelector(l.Selector)
	}
	return "no namespace"
}

// speaks reports whether routes of a kind may attach to listeners of the protocol.
func (l *Listener) speaks(kind route.Kind) bool { return slices.Contains(kind.Protocols, l.Protocol) }

// protocolWords returns the protocols of listeners that a kind may attach to.
func protocolWords(kind route.Kind) string {
	var names []string
	for _, protocol := range kind.Protocols {
		names = append(names, string(protocol))
	}
	return strings.Join(names, " or ")
}

// namedBy returns the listeners of an object that a parentRef selects: all, or those with its
// sectionName and port.
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

// meantListener returns the listener name that is most similar to the sectionName.
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

func listenerNames(own []*Listener) string {
	var names []string
	for _, l := range own {
		names = append(names, fmt.Sprintf("%s (port %d)", l.Name, l.Port))
	}
	return strings.Join(names, ", ")
}

func (l *Listener) admits(r Route) bool {
	return l.admitsKind(r) && l.admitsNamespace(r)
}

func (l *Listener) admitsKind(r Route) bool {
	return slices.ContainsFunc(l.Kinds, func(k gwv1.RouteGroupKind) bool { return sameKind(k, r.groupKind()) })
}

func (l *Listener) admitsNamespace(r Route) bool {
	switch l.From {
	case gwv1.NamespacesFromAll:
		return true
	case gwv1.NamespacesFromSame:
		return r.Key.Namespace == l.Owner.Namespace
	case gwv1.NamespacesFromSelector:
		selector, err := metav1.LabelSelectorAsSelector(l.Selector)
		return err == nil && selector.Matches(labels.Set(r.NamespaceLabels))
	}
	return false
}

// intersect returns the hosts that a listener and a route share: the more specific one of each
// pair, sorted and unique.
func intersect(listener string, hosts ir.Hosts) []string {
	if hosts.Every() {
		return []string{domain(listener)}
	}
	var out []string
	for _, hostname := range hosts.Names() {
		switch {
		case covers(listener, hostname):
			out = append(out, domain(hostname))
		case covers(hostname, listener):
			out = append(out, domain(listener))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func domain(hostname string) string {
	if hostname == "" {
		return "*"
	}
	return hostname
}

// covers reports whether every host of b is a host of a. A wildcard covers one
// label or more before its suffix (Gateway API, Listener.hostname).
func covers(a, b string) bool {
	suffix, wild := strings.CutPrefix(a, "*")
	return a == "" || a == b || wild && strings.HasSuffix(strings.TrimPrefix(b, "*"), suffix) && b != ""
}

// place returns the Place of a domain at the listener.
func (l *Listener) place(domain string) Place {
	return Place{Port: l.Port, UDP: l.socket().UDP, Chain: l.chain(), Domain: domain, Listener: l.ID(), Raw: l.Passthrough}
}

// Places returns the virtual hosts that exist even without routes. A host of a listener answers 404
// then, so that routes of other listeners do not get its requests.
func (g *Gateway) Places() []Place {
	var out []Place
	for _, l := range g.Listeners {
		if l.Serves() && l.SpeaksHTTP() {
			out = append(out, l.place(domain(l.Hostname)))
		}
	}
	return out
}
