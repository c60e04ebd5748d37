package delta

import "github.com/gatefold/gatefold/translate/xds"

// Forgive forgets some of what the Envoy rejected, so that it is sent again. It does this for route tables and
// filters with rejected parts, for rejected route tables in which no bad part was found, and for listeners that
// could not move to another address (forgiveBinds). Other rejections stay. Forgive reports whether it marked any
// resource to be sent again.
func (p *Plan) Forgive() (forgiven bool) {
	forgiven = p.moves.forgiveBinds()
	for name, t := range p.states {
		if t.unsearchable == "" && len(t.rejected) == 0 {
			continue
		}
		p.forgetTable(name)
		p.states[name] = &tableState{typ: t.typ, accepted: t.accepted, rejected: map[xds.Part]*RejectedPart{}}
		if l := p.ledgers[t.typ]; l != nil {
			l.rejected.remove(name)
			l.look(name)
			forgiven = true
		}
	}
	return forgiven
}

// forgiveBinds marks listeners to be sent again. It does this for each listener that could not move to another
// address, and whose older form Envoy therefore serves (see cameBack). It reports whether there are such listeners.
func (m *moves) forgiveBinds() (forgiven bool) {
	l := m.ledgers[xds.ListenerType]
	for name, w := range m.ways {
		if l == nil || w.phase != cameBack {
			continue
		}
		delete(m.ways, name)
		l.rejected.remove(name)
		l.look(name)
		forgiven = true
	}
	return forgiven
}
