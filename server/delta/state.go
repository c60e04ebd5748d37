package delta

import (
	"iter"

	"github.com/gatefold/gatefold/translate/xds"
)

// State is the part of a stream's state that decides whether its Gateway is programmed.
type State struct {
	// Idle is true if clusters and listeners were asked for and nothing is
	// to be sent or answered.
	Idle bool
	// Rejections counts what the Envoy rejected, and is not its object's fault.
	Rejections int
}

// State returns what is asked for, due and unanswered.
func (p *Plan) State() State {
	now := State{Idle: p.ledgers[xds.ClusterType] != nil && p.ledgers[xds.ListenerType] != nil}
	for _, l := range p.ledgers {
		now.Idle = now.Idle && l.idle()
		now.Rejections += len(l.rejected.of)
	}
	now.Rejections += p.countRejected()
	return now
}

// countRejected counts the rejected parts of the current target that are not in quarantine.
func (rp *rejectedParts) countRejected() (count int) {
	for name := range rp.withRejected {
		count += rp.states[name].notQuarantined
	}
	return count
}

// Stamp is equal to an earlier one of the same plan if Rejections, RejectedTables and Unbound return the
// same, and the target is the same.
type Stamp struct {
	target, rejections, findings uint64
	parts                        int
}

// Stamp returns the stamp of the rejections.
func (p *Plan) Stamp() Stamp {
	now := Stamp{target: p.target.edits, findings: p.findings, parts: p.countRejected()}
	for _, l := range p.ledgers {
		now.rejections += l.rejected.edits
	}
	return now
}

// Rejection is a resource that Envoy rejected, in the form that the target has, or had when it was sent.
type Rejection struct {
	Type, Name, Version string
	Words               string // of Envoy, without the content of secrets
}

// Rejections returns what the Envoy rejected as a whole, in no order.
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

// RejectedTables returns the types and names of the route tables and filters with rejected parts
// that are not the fault of their objects, in no order.
func (rp *rejectedParts) RejectedTables() iter.Seq2[string, string] {
	return func(yield func(typ, name string) bool) {
		for name := range rp.withRejected {
			if t := rp.states[name]; t.notQuarantined > 0 && !yield(t.typ, name) {
				return
			}
		}
	}
}

// Asks reports whether the stream asks for a name.
func (s *stream) Asks(typ, name string) bool {
	l := s.ledgers[typ]
	return l != nil && l.wants(name)
}

// AsksForAll reports whether the stream asks for all names of a type.
func (s *stream) AsksForAll(typ string) bool {
	l := s.ledgers[typ]
	return l != nil && l.wildcard
}

// Held returns the version of a resource that the Envoy accepted last; ok is false when it has none.
func (s *stream) Held(typ, name string) (version string, ok bool) {
	l := s.ledgers[typ]
	if l == nil {
		return "", false
	}
	return l.held.get(name)
}

// Unknown returns the number of names that the client asks for or has and that the target never
// had, each counted by its Weight.
func (s *stream) Unknown() (weight int) {
	for _, l := range s.ledgers {
		weight += l.strangers
	}
	return weight
}

// Progress counts the names of a type.
type Progress struct {
	Accepted int // held by the Envoy
	Pending  int // to be looked at, or unanswered
	Removing int // held, and to be removed last
}

// Progress returns the progress of each type that was asked for.
func (s *stream) Progress() map[string]Progress {
	all := make(map[string]Progress, len(s.ledgers))
	for typ, l := range s.ledgers {
		all[typ] = Progress{Accepted: l.held.size, Pending: l.due.size() + len(l.unfiltered) + len(l.unmoved) + l.awaited, Removing: len(l.gone.in)}
	}
	return all
}
