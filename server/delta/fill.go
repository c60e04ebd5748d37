package delta

import (
	"cmp"

	"github.com/gatefold/gatefold/translate/xds"
)

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
		l.gone.drop(name)
		if r.Removed = append(r.Removed, name); alone {
			break
		}
	}
	return r.orNil()
}

// fill returns a response with names of l's type that are due: new and changed resources, and removals that
// need not wait. It returns nil if there is nothing to send. If l.waits is true, fill returns a response even if it
// is empty: without a first response, an Envoy without clusters waits 15 s before it requests listeners. fill stops
// after it settled fillSteps names. If it found nothing to send among these names, it returns nil and sets p.tired.
func (p *Plan) fill(l *ledger) *Response {
	r := &Response{Type: l.typ}
	var looked settled
	size := 0
	for was, is := range l.differs {
		if size >= batchBytes || r.Names() >= batchNames {
			break
		}
		if looked.count() == fillSteps {
			p.tired = r.Names() == 0
			break
		}
		name := cmp.Or(is, was).Name
		e, does := p.judge(l, name)
		alone := (does == set || does == remove) && l.goesAlone(name)
		if does == later || alone && r.Names() > 0 {
			continue
		}
		looked.add(name, is)
		switch does {
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
		if alone {
			break
		}
	}
	l.settleAll(looked)
	if l.waits && !p.tired {
		return r
	}
	return r.orNil()
}

// fillSteps bounds how many names one call of fill settles, so that it does not delay other streams for long.
const fillSteps = 4096

// judge decides what to send for a name that is due, and in which form.
func (p *Plan) judge(l *ledger, name string) (e *Entry, does action) {
	switch {
	case !l.wants(name):
		return nil, nothing
	case l.heldBack(name):
		return nil, later
	}
	e, wait := p.shape(l.typ, name, p.entry(l.typ, name))
	switch {
	case wait && l.waiting.has(name): // closeTables sends it
		return nil, nothing
	case wait, p.awaitsFilter(l, e):
		return nil, later
	}
	if e == nil && l.typ == xds.ClusterType {
		delete(p.gate.barrier, name)
	}
	if does = l.decide(name, e); does == nothing {
		p.holds(l, e)
	}
	return e, does
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
		endpoints.look(name)
	}
}
