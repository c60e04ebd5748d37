package server

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/server/board"
	envoyhost "github.com/gatefold/gatefold/server/host"
)

// verdicts has a verdict for each Gateway: whether the Gateway is programmed, because its Envoys accepted the
// configuration. The board shows each verdict in the statuses of objects. verdicts is guarded by lock.
type verdicts struct {
	*gateways
	board *board.Board
	given map[string]board.Verdict // by Gateway
	// open has the Gateways that are not programmed. outdated has the Gateways whose message may be wrong; their
	// status and reason are right. If openOutdated is true, the Gateways in open count as outdated, too.
	open, outdated map[string]struct{}
	openOutdated   bool
	// suspended has the Gateways that stay programmed while Envoys have not yet answered an edit.
	suspended map[string]struct{}
	// touched has scopes whose Envoys changed, for example because an Envoy rejected a resource. For each of these
	// scopes, judgeTouched decides again whether its Gateway is programmed. touched may also have v.union, the scope
	// of the Envoys that serve all Gateways.
	touched map[*scope]struct{}
	// looks is for tests. It counts the streams that the method verdict read.
	looks     int
	announced *announcements
	// canaries is called after each answer of a canary.
	canaries func()
	// supervised has the states of the Envoys that this machine should run, by Gateway. supervisedList has the same
	// states, sorted by Gateway.
	supervised     map[string]envoyhost.State
	supervisedList []envoyhost.State
}

// newVerdicts returns verdicts in which no Gateway has a verdict yet.
func newVerdicts(all *gateways, shown *board.Board, announced *announcements) *verdicts {
	return &verdicts{
		gateways: all, board: shown, announced: announced, touched: map[*scope]struct{}{}, given: map[string]board.Verdict{},
		canaries: func() {}, open: map[string]struct{}{}, outdated: map[string]struct{}{}, suspended: map[string]struct{}{},
	}
}

// set stores the verdict on a Gateway, and passes it to the board.
func (v *verdicts) set(gateway string, verdict board.Verdict) {
	v.given[gateway] = verdict
	delete(v.outdated, gateway)
	if delete(v.open, gateway); verdict.Status != metav1.ConditionTrue {
		v.open[gateway] = struct{}{}
	}
	v.board.Judge(gateway, verdict)
}

// forget removes the verdict on a Gateway.
func (v *verdicts) forget(gateway string) {
	for _, of := range []map[string]struct{}{v.open, v.outdated, v.suspended} {
		delete(of, gateway)
	}
	delete(v.given, gateway)
	v.board.Forget(gateway)
}

// outdate records that the message of the verdict on a Gateway may be wrong, so that the message is made again
// before it is shown.
func (v *verdicts) outdate(gateway string) {
	v.outdated[gateway] = struct{}{}
	v.board.Outdate(gateway)
}

// outdateOpen records that the messages of all Gateways that are not programmed may be wrong. Its cost does not
// depend on the number of these Gateways.
func (v *verdicts) outdateOpen() {
	if v.openOutdated = len(v.open) > 0; v.openOutdated {
		v.board.OutdateAny()
	}
}

// inQuestion returns the Gateways for which the message of the verdict may be outdated, because Envoys have changed
// since (see outdate and outdateOpen). It returns them as a set of "namespace/name".
func (v *verdicts) inQuestion() map[string]struct{} {
	if v.openOutdated {
		maps.Copy(v.outdated, v.open)
		v.openOutdated = false
	}
	return v.outdated
}

// absent returns why the Envoy that gatefold runs on this machine for a Gateway does not serve. It returns "" if
// that Envoy runs, or if gatefold runs none for the Gateway.
func (v *verdicts) absent(gateway string) string {
	state, ok := v.supervised[gateway]
	if !ok || state.Phase == envoyhost.Running {
		return ""
	}
	if state.Message == "" {
		return fmt.Sprintf("Its Envoy on this machine is %v.", state.Phase)
	}
	return state.Message
}

// restate records that the message of the verdict on a Gateway must be made again before it is shown. The parameter
// c is the scope of the Gateway's Envoys. If c is v.union, the scope of the Envoys that serve all Gateways, restate
// does this for every Gateway. restate is called after a change that such a message mentions, for example after an
// Envoy of an old release connected.
func (v *verdicts) restate(c *scope) {
	if c != v.union {
		v.outdate(c.name)
		return
	}
	for gateway := range v.scopes {
		v.outdate(gateway)
	}
}
