package delta

import (
	"iter"

	"github.com/gatefold/gatefold/translate/xds"
)

// rejectedParts has the states of a stream's route tables and JWT filters, with an index of the parts that the
// Envoy rejects.
type rejectedParts struct {
	states       map[string]*tableState // by name
	withRejected map[string]struct{}    // the names of the states that have rejected parts
	findings     uint64                 // how often a search for bad parts ended, or Quarantine changed a part
	// newRejected and cleared are the next results of TakeRejected: newRejected has the parts that were rejected
	// since its last call, and cleared has the parts that no longer count as rejected since then.
	newRejected, cleared []*RejectedPart
}

// newRejectedParts returns rejectedParts that have no state of a route table or filter yet.
func newRejectedParts() rejectedParts {
	return rejectedParts{states: map[string]*tableState{}, withRejected: map[string]struct{}{}}
}

// RejectedPart is a part of a route table or filter, such as a route, that this stream's Envoy is not sent: the
// Envoy rejected this version of the part, or is too old for it.
type RejectedPart struct {
	Table string
	xds.Part
	xds.Fault
	Words string // Envoy's error or, if Lack is not nil, what the part needs
	// Lack is the feature that the part needs, if the Envoy is too old for the part. Lack is nil if the Envoy was
	// sent the part and rejected it. Lack.Sum is the hash of the part as newer Envoys get it (see Snapshot).
	Lack *xds.Lack
	in   *tableState
	// quarantined is true if the part counts as a fault of its object, and not of this Envoy.
	quarantined bool
}

// Quarantined returns what Plan.Quarantine recorded: true if the part counts as a fault of its Gateway API
// object, and not as a rejection by this Envoy.
func (r *RejectedPart) Quarantined() bool { return r.quarantined }

// Quarantine records whether a rejected part is in quarantine, which means that no connected Envoy accepts the
// part. A part in quarantine counts as a fault of its Gateway API object, and not as a rejection by this stream
// (State, RejectedTables). A part that the Envoy is too old for always counts as a fault of its object.
func (rp *rejectedParts) Quarantine(part *RejectedPart, quarantined bool) {
	if part.quarantined == quarantined || part.Lack != nil {
		return
	}
	part.quarantined = quarantined
	rp.findings++
	if quarantined {
		part.in.notQuarantined--
	} else {
		part.in.notQuarantined++
	}
}

// TakeRejected returns what changed since the last call. rejected are the parts that the Envoy newly rejects or is
// too old for. cleared are the earlier RejectedParts that no longer count, because the part changed, a newer
// RejectedPart replaced it, or the state of the route table or filter was forgotten.
func (rp *rejectedParts) TakeRejected() (rejected, cleared []*RejectedPart) {
	rejected, cleared = rp.newRejected, rp.cleared
	rp.newRejected, rp.cleared = nil, nil
	return rejected, cleared
}

// RejectedParts yields the parts that this Envoy is not sent, because it rejected them or is too old for them, in
// no order.
func (rp *rejectedParts) RejectedParts() iter.Seq[*RejectedPart] {
	return func(yield func(*RejectedPart) bool) {
		for name := range rp.withRejected {
			for _, part := range rp.states[name].rejected {
				if !yield(part) {
					return
				}
			}
		}
	}
}

// forgetTable removes the state of a route table or filter, if there is one.
func (rp *rejectedParts) forgetTable(name string) {
	if t := rp.states[name]; t != nil {
		for part := range t.rejected {
			rp.clearRejected(name, part)
		}
		delete(rp.states, name)
	}
}

// clearRejected records that a part of a route table or filter no longer counts as rejected. It adds the part to
// rp.cleared, for TakeRejected.
func (rp *rejectedParts) clearRejected(name string, part xds.Part) {
	t := rp.states[name]
	was := t.rejected[part]
	if !was.quarantined {
		t.notQuarantined--
	}
	rp.cleared = append(rp.cleared, was)
	if delete(t.rejected, part); len(t.rejected) == 0 {
		delete(rp.withRejected, name)
	}
}

// noteRejected records a rejected part in the state of the route table or filter that has the part (part.in). An
// earlier record of the same part is replaced.
func (rp *rejectedParts) noteRejected(part *RejectedPart) {
	if part.in.rejected[part.Part] != nil {
		rp.clearRejected(part.Table, part.Part)
	}
	part.in.rejected[part.Part] = part
	if !part.quarantined {
		part.in.notQuarantined++
	}
	rp.withRejected[part.Table] = struct{}{}
	rp.newRejected = append(rp.newRejected, part)
}
