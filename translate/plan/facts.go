package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

func (c *comparison) addPolicies() {
	for _, key := range slices.Sorted(maps.Keys(c.policies)) {
		c.report.Policies = append(c.report.Policies, *c.policies[key])
	}
}

// problems compares the problems without their places: lines move without anything being wrong
// otherwise.
func (c *comparison) problems() {
	c.report.Introduced = without(c.after.Problems, c.before.Problems)
	c.report.Fixed = without(c.before.Problems, c.after.Problems)
}

func without(list, others []manifest.Problem) (out []manifest.Problem) {
	known := map[manifest.Problem]int{}
	for _, p := range others {
		known[unplaced(p)]++
	}
	for _, p := range list {
		if known[unplaced(p)]--; known[unplaced(p)] < 0 {
			out = append(out, p)
		}
	}
	return out
}

func unplaced(p manifest.Problem) manifest.Problem {
	if p.Object.IsZero() {
		return manifest.Problem{Code: p.Code, Severity: p.Severity, File: p.File, Message: p.Message}
	}
	return manifest.Problem{Code: p.Code, Severity: p.Severity, Object: p.Object, Field: p.Field}
}

// certificates compares what listeners show to clients.
func (c *comparison) certificates() {
	byKey := func(view *ir.View) map[manifest.Key]ir.Certificate {
		out := map[manifest.Key]ir.Certificate{}
		for _, one := range view.Certificates {
			out[one.Secret] = one
		}
		return out
	}
	before, after := byKey(c.before.View), byKey(c.after.View)
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.SortedFunc(maps.Keys(keys), manifest.CompareKeys) {
		x, had := before[key]
		y, has := after[key]
		if had && has && x.Sum == y.Sum {
			continue
		}
		one := CertificateChange{Kind: kindOf(had, has), Object: key, Before: x.Sum, After: y.Sum, Names: y.Names, NotAfter: y.NotAfter.UTC().Format(time.DateOnly)}
		if !has {
			one.Names, one.NotAfter = x.Names, x.NotAfter.UTC().Format(time.DateOnly)
		}
		c.report.Certificates = append(c.report.Certificates, one)
	}
}

func kindOf(had, has bool) Kind {
	switch {
	case !had:
		return Added
	case !has:
		return Removed
	}
	return Changed
}

// listener compares the Envoy listener of a port.
func (p *portPair) listener() {
	before, after := p.ports[0], p.ports[1]
	one := ListenerChange{Kind: kindOf(before != nil, after != nil), Gateway: p.key.gateway, Port: p.key.port, Scheme: p.key.scheme}
	switch {
	case after == nil:
		one.Envoy, one.Drains = before.Port.Name, true
	case before == nil:
		one.Envoy = after.Port.Name
	default:
		one.Envoy = after.Port.Name
		name := p.listenerVersion(1, after.Port)
		if p.listenerVersion(0, before.Port) == name {
			return
		}
		one.Drains = true
		one.What = p.listenerWords(before.Port, after.Port)
	}
	p.report.Listeners = append(p.report.Listeners, one)
}

// listenerVersion returns the content hash of a port's Envoy listener, "" if it is not known.
func (p *portPair) listenerVersion(side int, port *ir.Port) string {
	for _, r := range [2]Side{p.before, p.after}[side].Resources {
		if r.Type == xds.ListenerType && r.Name == port.Name && r.Gateway == port.Gateway && r.Resource != nil {
			return r.Resource.Version
		}
	}
	return ""
}

// listenerWords says what differs about a listener.
func (p *portPair) listenerWords(before, after *ir.Port) string {
	var words []string
	add := func(differs bool, text string) {
		if differs {
			words = append(words, text)
		}
	}
	add(!slices.Equal(before.Addresses, after.Addresses), "addresses "+orNone(after.Addresses)+"; before: "+orNone(before.Addresses))
	names := func(port *ir.Port) (out []string) {
		for _, chain := range port.Chains {
			out = append(out, cmp.Or(chain.Name, "*"))
		}
		return out
	}
	x, y := names(before), names(after)
	add(!slices.Equal(x, y), "hostnames "+orNone(y)+"; before: "+orNone(x))
	add(p.effects[0].of(before.Settings) != p.effects[1].of(after.Settings), "access log, PROXY protocol or trusted hops")
	add(slices.Equal(x, y) && p.effects[0].of(before.Chains) != p.effects[1].of(after.Chains), "TLS settings or certificates")
	add(p.effects[0].of(before.Streams) != p.effects[1].of(after.Streams), "connections without HTTP")
	return strings.Join(words, ", ")
}

// streams compares what happens to connections and datagrams.
func (p *portPair) streams() {
	byName := [2]map[string]*ir.Stream{{}, {}}
	names := map[string]bool{}
	for side, port := range p.ports {
		if port == nil {
			continue
		}
		for i := range port.Port.Streams {
			s := &port.Port.Streams[i]
			domains := s.Domains
			if domains == nil {
				domains = []string{"*"}
			}
			for _, domain := range domains {
				byName[side][domain], names[domain] = s, true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		p.stream(name, byName[0][name], byName[1][name])
	}
}

// stream reports the connections for a name, if they are handled otherwise.
func (p *portPair) stream(name string, before, after *ir.Stream) {
	if before != nil && after != nil && p.effects[0].of(streamEffect(before)) == p.effects[1].of(streamEffect(after)) {
		return
	}
	scheme := "tcp"
	for _, port := range p.ports {
		for _, s := range []*ir.Stream{before, after} {
			if port != nil && s != nil && port.Port.UDP {
				scheme = "udp"
			} else if s != nil && s.Domains != nil {
				scheme = "tls"
			}
		}
	}
	h := &hostPair{portPair: p, named: name}
	region := h.region(pair{}, "every connection")
	region.Scheme = scheme
	url := fmt.Sprintf("%s://%s:%d", scheme, memberOf(name, among(nil)), p.key.port)
	one := Change{Regions: []Region{region}, Example: Example{URL: url}, Before: p.streamAnswer(0, before), After: p.streamAnswer(1, after)}
	reason := Reason{Text: fmt.Sprintf("%s; before: %s", streamWords(after), streamWords(before))}
	for side, s := range []*ir.Stream{before, after} {
		if s != nil && s.Route != nil {
			reason.At = append(reason.At, Place{Source: explain.Source{Object: s.Route.Origin.Key}, Before: side == 0})
		}
	}
	reason.At = currentFirst(reason.At)
	one.Reasons = []Reason{reason}
	if one.Before.Words() != one.After.Words() {
		h.group(&one, &p.comparison.requests)
	} else {
		h.group(&one, &p.comparison.other)
	}
}

// streamEffect returns what of a stream says what happens to connections.
func streamEffect(s *ir.Stream) any {
	if s.Route == nil {
		return [2]any{s.TLS, s.Access}
	}
	return [5]any{s.TLS, s.Access, s.Route.Backends, s.Route.Cluster, s.Route.Access}
}

func streamWords(s *ir.Stream) string {
	switch {
	case s == nil:
		return "nothing listens"
	case s.Route == nil:
		return "no route has the connections"
	}
	var backends []string
	for _, b := range s.Route.Backends {
		backends = append(backends, fmt.Sprintf("%s (weight %d)", cmp.Or(b.Cluster, "a reference that is not resolved"), b.Weight))
	}
	words := s.Route.Origin.Key.String() + " sends to " + orNone(backends)
	if s.Access != nil || s.Route.Access != nil {
		words += ", for some clients"
	}
	return words
}

func (p *portPair) streamAnswer(side int, s *ir.Stream) Answer {
	switch {
	case s == nil:
		return Answer{Outcome: explain.NoListener}
	case s.Route == nil || s.Access != nil && s.Access.Closed != "":
		return Answer{Outcome: explain.Closed}
	}
	out := Answer{Outcome: explain.Forwarded}
	total := 0.0
	for _, b := range s.Route.Backends {
		total += float64(b.Weight)
	}
	clusters := [2]Side{p.before, p.after}[side].View.Clusters
	for _, b := range s.Route.Backends {
		share := Share{Cluster: b.Cluster, Percent: 100 * float64(b.Weight) / max(1, total)}
		if cluster := clusters[b.Cluster]; cluster != nil {
			share.Endpoints = explain.Endpoints(cluster)
		}
		out.Backends = append(out.Backends, share)
	}
	return out
}

// objects reports the objects that differ.
func (c *comparison) objects() {
	kinds := c.objectKinds()
	for _, key := range slices.SortedFunc(maps.Keys(kinds), manifest.CompareKeys) {
		c.report.Objects = append(c.report.Objects, ObjectChange{Kind: kinds[key], Object: key})
	}
}

// objectKinds returns how the objects themselves differ; those that are equal are left out.
func (c *comparison) objectKinds() map[manifest.Key]Kind {
	if c.changedObjects != nil {
		return c.changedObjects
	}
	byKey := func(list []*manifest.Object) map[manifest.Key]*manifest.Object {
		out := make(map[manifest.Key]*manifest.Object, len(list))
		for _, o := range list {
			out[o.Key] = o
		}
		return out
	}
	before, after := byKey(c.before.Objects), byKey(c.after.Objects)
	c.changedObjects = map[manifest.Key]Kind{}
	for key, x := range before {
		if y := after[key]; y == nil || x.Hash != y.Hash {
			c.changedObjects[key] = kindOf(true, y != nil)
		}
	}
	for key := range after {
		if before[key] == nil {
			c.changedObjects[key] = Added
		}
	}
	return c.changedObjects
}

// resources counts the Envoy resources.
func (c *comparison) resources() {
	type resource struct{ gateway, kind, name string }
	versions := [2]map[resource]string{{}, {}}
	all := map[resource]bool{}
	for side, updates := range [][]xds.Update{c.before.Resources, c.after.Resources} {
		for _, u := range updates {
			if u.Resource != nil {
				key := resource{u.Gateway, u.Type[strings.LastIndexByte(u.Type, '.')+1:], u.Name}
				versions[side][key], all[key] = u.Resource.Version, true
			}
		}
	}
	counts := map[string]*ResourceChange{}
	for key := range all {
		x, had := versions[0][key]
		y, has := versions[1][key]
		if x == y {
			continue
		}
		if counts[key.kind] == nil {
			counts[key.kind] = &ResourceChange{Type: key.kind}
		}
		switch one := counts[key.kind]; kindOf(had, has) {
		case Added:
			one.Added++
		case Removed:
			one.Removed++
		default:
			one.Changed++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		c.report.Resources = append(c.report.Resources, *counts[kind])
	}
}
