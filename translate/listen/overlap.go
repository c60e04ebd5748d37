package listen

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/scope"
)

// Overlaps returns, by the ID of the listener, why the TLS configuration of served listeners overlaps with that of other
// listeners on their port (Gateway API, ListenerConditionOverlappingTLSConfig). The reason is OverlappingCertificates if
// a certificate of both is for the same name, which goes first, or OverlappingHostnames if one hostname includes the
// other. Listeners without TLS do not count, and listeners that pass TLS through have no certificate here. The
// function names returns the names in a certificate. The result is nil if there is no overlap.
func (g *Gateway) Overlaps(names func(secret manifest.Key) []string) map[string]manifest.Verdict[gwv1.ListenerConditionReason] {
	hostnames, certificates := namesakes{}, namesakes{}
	issued := map[*Listener][]string{}
	for l := range g.Serving() {
		if l.chain() == "" {
			continue
		}
		hostnames.add(l, l.chain(), slices.Collect(scope.Wildcards(l.chain())))
		for _, secret := range l.Certificates {
			issued[l] = append(issued[l], hostsIn(names(secret))...)
		}
		slices.Sort(issued[l])
		issued[l] = slices.Compact(issued[l])
		for _, name := range issued[l] {
			certificates.add(l, name, wildcardOf(name))
		}
	}
	var out map[string]manifest.Verdict[gwv1.ListenerConditionReason]
	for l := range g.Serving() {
		if l.chain() == "" {
			continue
		}
		reason, what := gwv1.ListenerReasonOverlappingCertificates, "a certificate of the listener is for a name in a certificate of "
		others := []*Listener(nil)
		for _, name := range issued[l] {
			others = certificates.others(others, l, name, wildcardOf(name))
		}
		if len(others) == 0 {
			reason, what = gwv1.ListenerReasonOverlappingHostnames, "the hostname overlaps with that of "
			others = hostnames.others(nil, l, l.chain(), slices.Collect(scope.Wildcards(l.chain())))
		}
		if len(others) > 0 {
			if out == nil {
				out = map[string]manifest.Verdict[gwv1.ListenerConditionReason]{}
			}
			out[l.ID()] = manifest.Because(reason, what+l.listOf(others))
		}
	}
	return out
}

// hostsIn returns the DNS names among the names in a certificate, in lower case.
func hostsIn(names []string) (hosts []string) {
	for _, name := range names {
		if _, err := netip.ParseAddr(name); err != nil {
			hosts = append(hosts, strings.ToLower(name))
		}
	}
	return hosts
}

// wildcardOf returns the wildcard that includes a name in a certificate: it stands for the first label (RFC 9525,
// section 6.3). The result is nil for a wildcard.
func wildcardOf(name string) []string {
	_, parent, dotted := strings.Cut(name, ".")
	if !dotted || strings.HasPrefix(name, "*") {
		return nil
	}
	return []string{"*." + parent}
}

// namesakes has the listeners with a name on a port, and those with a name that a wildcard includes: the first
// maxNamesakes of each in the order of the Gateway.
type namesakes map[namesake][]*Listener

type namesake struct {
	port   int32
	name   string
	within bool // the name is a wildcard, and the listeners have names that it includes
}

// maxOverlaps is how many overlapping listeners a message names. Of one more it is known that there are others, and the
// listener itself may be in a list, too.
const (
	maxOverlaps  = 3
	maxNamesakes = maxOverlaps + 2
)

// add adds a listener with a name. The parameter wider has the wildcards that include the name.
func (n namesakes) add(l *Listener, name string, wider []string) {
	n.append(namesake{l.Port, name, false}, l)
	for _, wildcard := range wider {
		n.append(namesake{l.Port, wildcard, true}, l)
	}
}

func (n namesakes) append(at namesake, l *Listener) {
	if known := n[at]; len(known) < maxNamesakes && !slices.Contains(known, l) {
		n[at] = append(known, l)
	}
}

// others adds to a list the other listeners whose name is equal to the given one, includes it, or is included in it.
// The list has each once, and at most maxOverlaps + 1.
func (n namesakes) others(list []*Listener, l *Listener, name string, wider []string) []*Listener {
	found := slices.Concat(n[namesake{l.Port, name, false}], n[namesake{l.Port, name, true}])
	for _, wildcard := range wider {
		found = append(found, n[namesake{l.Port, wildcard, false}]...)
	}
	for _, other := range found {
		if other != l && len(list) <= maxOverlaps && !slices.Contains(list, other) {
			list = append(list, other)
		}
	}
	return list
}

// listOf returns the names of other listeners as text, with their hostnames. After maxOverlaps it ends with "others".
func (l *Listener) listOf(others []*Listener) string {
	var names []string
	for _, other := range others[:min(len(others), maxOverlaps)] {
		names = append(names, fmt.Sprintf("%s (%s)", l.nameOf(other), domain(other.Hostname)))
	}
	if len(others) > maxOverlaps {
		names = append(names, "and others")
	}
	return strings.Join(names, ", ")
}

// nameOf returns the name of another listener as text, with its object if that is another one.
func (l *Listener) nameOf(other *Listener) string {
	if l.Owner != other.Owner {
		return fmt.Sprintf("listener %s of %s", other.Name, other.Owner)
	}
	return "listener " + other.Name
}
