package delta

import "github.com/gatefold/gatefold/translate/xds"

// The bounds of one response whose resources are new to the stream (docs/design/xds.md).
const (
	batchNames = 500
	batchBytes = 1 << 20
)

// drain returns a response with the pending removals. A removal that was rejected among others goes
// alone. Names that came back are not among them, because decide removed these. If the target still
// has a filter, the removal is a part of the filter.
func (p *Plan) drain(l *ledger) *Response {
	if r, part := p.trim(l); part {
		return r
	}
	r := &Response{Type: l.typ}
	for len(r.Removed) < batchNames {
		name, ok := l.gone.peek()
		_, alone := l.alone[name]
		if !ok || alone && r.Names() > 0 {
			break
		}
		l.gone.pop()
		if r.Removed = append(r.Removed, name); alone {
			break
		}
	}
	return r.orNil()
}

// fill returns a response with what is due. If a stream asks for all names of a type and there is
// none, it gets an empty response: an Envoy without clusters would wait 15 s for them before it
// asks for listeners.
func (p *Plan) fill(l *ledger) *Response {
	r := &Response{Type: l.typ}
	spoken := map[string]struct{}{} // which a queue may name twice
	waiting := len(p.waiting)
	defer func() {
		for _, name := range p.waiting[waiting:] {
			l.due.push(name)
		}
	}()
	for size, steps := 0, 0; size < batchBytes && r.Names() < batchNames; steps++ {
		name, ok := l.due.peek()
		if !ok {
			break
		}
		if steps == fillSteps {
			p.tired = r.Names() == 0
			break
		}
		if _, twice := spoken[name]; twice || l.passes(name) {
			l.due.pop()
			continue
		}
		e, wait := p.shape(l.typ, name, p.entry(l.typ, name))
		if wait || p.awaitsFilter(l, name, e) {
			l.due.pop()
			spoken[name] = struct{}{}
			continue
		}
		does := l.decide(name, e, !p.options.Unordered)
		alone := (does == set || does == remove) && l.goesAlone(name)
		if alone && r.Names() > 0 {
			return r
		}
		l.due.pop()
		spoken[name] = struct{}{}
		switch does {
		case nothing:
			p.holds(l, e)
		case set:
			r.Probe = p.probes(l.typ, name)
			r.Again = r.Again || l.rejected.of[name].again
			r.Set = append(r.Set, e)
			size += e.size()
			p.follow(l, name)
		case remove:
			r.Removed = append(r.Removed, name)
		case removeLast:
			l.gone.push(name)
		}
		if e != nil && e.grown {
			l.gone.push(name)
		}
		if e == nil && l.typ == xds.ClusterType {
			delete(p.gate.barrier, name)
		}
		if alone {
			return r
		}
	}
	if l.waits && !p.tired {
		return r
	}
	return r.orNil()
}

// fillSteps bounds how many names fill looks at in one call.
const fillSteps = 4096

// passes reports whether a due name must not be processed now: the stream does not ask for it, or
// its answer is pending.
func (l *ledger) passes(name string) bool {
	if !l.wants(name) {
		return true
	}
	if l.inFlight(name) == nil {
		return false
	}
	l.again[name] = struct{}{}
	return true
}

// follow marks the endpoints of a cluster that is sent, even if the Envoy has them. An updated
// cluster becomes warm only with endpoints that come after it, and Envoy does not ask for them
// (docs/design/envoy.md#changes-without-lost-requests, "Warming rules seen").
func (s *stream) follow(l *ledger, name string) {
	if l.typ != xds.ClusterType {
		return
	}
	endpoints := s.ledgers[xds.EndpointType]
	if l.held.has(name) && endpoints != nil && endpoints.wants(name) {
		endpoints.force[name] = struct{}{}
		endpoints.mark(name)
	}
}
