package delta

import "github.com/gatefold/gatefold/translate/xds"

// The bounds of one response: the number of names, and the bytes of its resources (docs/design/xds.md).
const (
	batchNames = 500
	batchBytes = 1 << 20
)

// drain returns a response with the next removals from l.gone, or nil if there are none. Removals in l.gone wait
// until nothing else is to be sent. If Envoy rejected a response with a removal and other names, drain sends this
// removal alone.
//
// For a JWT filter that the Envoy should still have, the entry in l.gone has another meaning: only old requirements
// of the filter are to be removed. Then drain returns a response that sets the filter without these requirements (see
// trim), or nil if the Envoy already has the filter in this form.
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

// fill returns a response with names of l's type that are due (l.due): new and changed resources, and removals that
// need not wait. It returns nil if there is nothing to send. If l.waits is true, fill returns a response even if it
// is empty: without a first response, an Envoy without clusters waits 15 s before it requests listeners. fill stops
// after fillSteps names. If it found nothing to send among these names, it returns nil and sets p.tired.
func (p *Plan) fill(l *ledger) *Response {
	r := &Response{Type: l.typ}
	spoken := map[string]struct{}{} // names that were processed: a shared list may repeat a name
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
		does := l.decide(name, e)
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

// fillSteps bounds how many names one call of fill compares, so that it does not delay other streams for long.
const fillSteps = 4096

// passes reports whether fill must skip a due name now. It returns true if the stream does not subscribe to the
// name, or if Envoy has not answered an earlier response with the name. After that answer, fill looks at the
// name again.
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

// follow marks the endpoints of an updated cluster to be sent after the cluster, even if the Envoy has these
// endpoints. Envoy warms an updated cluster only with endpoints that arrive after the cluster, and does not
// request them again (docs/design/envoy.md#changes-without-lost-requests, "Warming rules seen"). follow does
// nothing for other types, for a cluster that the Envoy does not have yet, or if the stream does not subscribe
// to the endpoints.
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
