package delta

import (
	"iter"

	"github.com/gatefold/gatefold/translate/xds"
)

// State is the part of a stream's state that decides whether its Gateway is programmed.
type State struct {
	// Idle is true if clusters and listeners were requested, nothing is due, and no answer is pending. Removals that
	// are sent last do not count as due.
	Idle bool
	// Rejections counts the resources and parts that the Envoy rejected. Quarantined parts do not count.
	Rejections int
}

// State returns the current State of the stream.
func (p *Plan) State() State {
	now := State{Idle: p.ledgers[xds.ClusterType] != nil && p.ledgers[xds.ListenerType] != nil}
	for _, l := range p.ledgers {
		now.Idle = now.Idle && l.idle()
		now.Rejections += len(l.rejected.of)
	}
	now.Rejections += p.countRejected()
	return now
}

// countRejected returns the number of rejected parts that are not in quarantine.
func (rp *rejectedParts) countRejected() (count int) {
	for name := range rp.withRejected {
		count += rp.states[name].notQuarantined
	}
	return count
}

// Stamp shows without much work whether a plan changed. Two Stamps of the same plan are equal if neither the
// target nor a result of Rejections, RejectedTables or Unbound has changed between them. Stamps of different
// plans must not be compared.
type Stamp struct {
	target, rejections, findings uint64
	parts                        int
}

// Stamp returns the current Stamp.
func (p *Plan) Stamp() Stamp {
	now := Stamp{target: p.target.edits, findings: p.findings, parts: p.countRejected()}
	for _, l := range p.ledgers {
		now.rejections += l.rejected.edits
	}
	return now
}

// Rejection is a resource that Envoy rejected.
type Rejection struct {
	Type, Name, Version string
	Words               string // Envoy's error, without the content of secrets
}

// Rejections yields the resources that the Envoy rejected as a whole, in no order.
func (s *stream) Rejections() iter.Seq[Rejection] {
	return func(yield func(Rejection) bool) {
		for typ, l := range s.ledgers {
			for name, r := range l.rejected.of {
				if !yield(Rejection{typ, name, r.version, r.words}) {
					return
				}
			}
		}
	}
}

// RejectedTables yields the types and names of the route tables and filters that have rejected parts, in no
// order. It skips a table if all of its rejected parts are in quarantine.
func (rp *rejectedParts) RejectedTables() iter.Seq2[string, string] {
	return func(yield func(typ, name string) bool) {
		for name := range rp.withRejected {
			if t := rp.states[name]; t.notQuarantined > 0 && !yield(t.typ, name) {
				return
			}
		}
	}
}

// Asks reports whether the stream subscribes to a name.
func (s *stream) Asks(typ, name string) bool {
	l := s.ledgers[typ]
	return l != nil && l.wants(name)
}

// AsksForAll reports whether the stream subscribes to all names of a type.
func (s *stream) AsksForAll(typ string) bool {
	l := s.ledgers[typ]
	return l != nil && l.wildcard
}

// Held returns the version of a resource that the Envoy accepted last. ok is false if the Envoy does not have
// the resource.
func (s *stream) Held(typ, name string) (version string, ok bool) {
	l := s.ledgers[typ]
	if l == nil {
		return "", false
	}
	if e := l.held.get(name); e != nil {
		return e.Version, true
	}
	return "", false
}

// Unknown returns how many unknown names the stream has. A name is unknown if the target had no resource with this
// name when the client requested it, or when the client reported that it already has such a resource. A long name
// counts more than once (see Weight).
func (s *stream) Unknown() (weight int) {
	for _, l := range s.ledgers {
		weight += l.unknownWeight
	}
	return weight
}

// Progress counts the names of one resource type on a stream, for the admin pages.
type Progress struct {
	Accepted int // resources that the Envoy has
	// Pending counts names that must still be compared with the target, resources that wait to be sent, and resources
	// that were sent but that the Envoy has not answered yet.
	Pending int
	// Removing counts resources that the Envoy still has, but that are removed as soon as no other resource can use
	// them.
	Removing int
}

// Progress returns the Progress of each type that the client requested.
func (s *stream) Progress() map[string]Progress {
	all := make(map[string]Progress, len(s.ledgers))
	for typ, l := range s.ledgers {
		all[typ] = Progress{Accepted: l.held.Len(), Pending: l.countDue() + l.awaited, Removing: len(l.gone.in) + len(l.waiting.in)}
	}
	return all
}
