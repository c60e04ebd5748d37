package page

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/store/manifest"
)

// objectRow is an object with its status. The status has parts, for example a part for each parent of a route.
type objectRow struct {
	Key   manifest.Key
	Wrong bool
	// State is the word for the object (board.Object.State).
	State string
	Stale *board.Stale
	// StalePolicies are the stale policies for this object: their last valid version applies.
	StalePolicies []manifest.Key
	Parts         []board.Part
}

// objectRows returns a row for each object of a list, in the order of the list.
func objectRows(list board.List[board.Object[any]]) []objectRow {
	rows := make([]objectRow, len(list.Items))
	for i, o := range list.Items {
		status := board.StatusOf(o.Status)
		rows[i] = objectRow{Key: o.Key(), State: o.State, Stale: o.Stale, StalePolicies: o.StalePolicies, Parts: status.Parts()}
		rows[i].Wrong = o.Stale != nil || status.Wrong()
	}
	return rows
}

// maxWrongShown is how many conditions of one object a list shows.
const maxWrongShown = 3

// rank returns the position of an object with a problem in a list, the lowest first. It is 0 for a
// GatewayClass, Gateway or ListenerSet with a wrong condition, as all routes of its listeners may depend on it. It is 1
// for any other object with a wrong condition, and 2 for an object that is only stale.
func (o objectRow) rank() int {
	rank := 2
	for _, part := range o.Parts {
		if len(part.Wrong()) > 0 {
			rank = 1
		}
	}
	if rank == 1 && slices.Contains([]string{"GatewayClass", "Gateway", "ListenerSet"}, o.Key.Kind) {
		return 0
	}
	return rank
}

// MoreConditions returns the number of conditions that report a problem and are not in WrongOnes.
func (o objectRow) MoreConditions() int {
	count := 0
	for _, part := range o.Parts {
		count += len(part.Wrong())
	}
	return count - len(o.WrongOnes())
}

// WrongOnes returns the first maxWrongShown conditions of the object that report a problem. Each has the name of
// the part of the status that contains it, such as a parent of a route.
func (o objectRow) WrongOnes() (out []wrongRow) {
	for _, part := range o.Parts {
		for _, c := range part.Wrong() {
			if len(out) < maxWrongShown {
				out = append(out, wrongRow{part.Name, c})
			}
		}
	}
	return out
}

// wrongRow is a condition that reports a problem, and the name of the part of the status that it is in.
type wrongRow struct {
	Part string
	metav1.Condition
}
