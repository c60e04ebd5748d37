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
	findings     uint64                 // counts the ended searches and the changes by Quarantine
	// newRejected are the parts that were rejected since the last call of TakeRejected, and cleared
	// those that are no longer rejected.
	newRejected, cleared []*RejectedPart
}

// newRejectedParts returns rejectedParts without a state.
func newRejectedParts() rejectedParts {
	return rejectedParts{states: map[string]*tableState{}, withRejected: map[string]struct{}{}}
}

// RejectedPart is a part of a route table or filter that is not sent to this stream's Envoy, because the Envoy
// rejected it in this form or is too old for it.
type RejectedPart struct {
	Table string
	xds.Part
	xds.Fault
	Words string // Envoy's error
	// Lack is the missing feature if the Envoy is too old for the part; its hash is that of the target's part. It
	// is nil if the Envoy was sent the part and rejected it.
	Lack *xds.Lack
	in   *tableState
	// quarantined is true if the part counts as a fault of its object, and not of this Envoy.
	quarantined bool
}

// Quarantined returns what Plan.Quarantine recorded: whether the part counts as a fault of its object, and not
// of this Envoy.
func (r *RejectedPart) Quarantined() bool { return r.quarantined }

// Quarantine records whether a rejected part is in quarantine, because no connected Envoy accepts it. Then it
// counts as a fault of its object, and is not a rejection of this stream (State, RejectedTables). A part that
// the Envoy is too old for always counts as a fault of its object.
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

// TakeRejected returns the parts that the Envoy has rejected since the last call. cleared are the parts that
// are not rejected any more since then, because they changed, or because their route table or filter was
// forgotten.
func (rp *rejectedParts) TakeRejected() (rejected, cleared []*RejectedPart) {
	rejected, cleared = rp.newRejected, rp.cleared
	rp.newRejected, rp.cleared = nil, nil
	return rejected, cleared
}

// RejectedParts yields the parts that are left out because the Envoy rejected them or is too old for them, in
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

// clearRejected removes a rejected part from the state of its table or filter, and adds it to rp.cleared.
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

// noteRejected records a rejected part in the state of its table or filter (part.in). It replaces an earlier
// record of the same part.
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
