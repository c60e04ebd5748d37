package server

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/server/board"
	envoyhost "github.com/gatefold/gatefold/server/host"
)

// verdicts are what the Envoys of each Gateway answered. Each is joined with the status of
// objects by the board. It is guarded by lock.
type verdicts struct {
	*gateways
	board *board.Board
	given map[string]board.Verdict // by Gateway
	// open are the Gateways that are not programmed. Of those in outdated, or of all
	// that are open, the verdict is the same and its message may be another by now.
	open, outdated map[string]struct{}
	openOutdated   bool
	// suspended are those that stay programmed while an edit is on its way.
	suspended map[string]struct{}
	// touched are the scopes, or the union, whose tallies changed since they were judged;
	// looks counts the streams that verdicts looked at, for tests.
	touched   map[*scope]struct{}
	looks     int
	announced *announcements
	// canaries is called after each answer of a canary.
	canaries func()
	// What the Envoys that run on this machine are doing, by Gateway and as told.
	supervised     map[string]envoyhost.State
	supervisedList []envoyhost.State
}

func newVerdicts(all *gateways, shown *board.Board, announced *announcements) *verdicts {
	return &verdicts{
		gateways: all, board: shown, announced: announced, touched: map[*scope]struct{}{}, given: map[string]board.Verdict{},
		canaries: func() {}, open: map[string]struct{}{}, outdated: map[string]struct{}{}, suspended: map[string]struct{}{},
	}
}

// set makes v the verdict on a Gateway.
func (v *verdicts) set(gateway string, verdict board.Verdict) {
	v.given[gateway] = verdict
	delete(v.outdated, gateway)
	if delete(v.open, gateway); verdict.Status != metav1.ConditionTrue {
		v.open[gateway] = struct{}{}
	}
	v.board.Judge(gateway, verdict)
}

// forget forgets the verdict on a Gateway.
func (v *verdicts) forget(gateway string) {
	for _, of := range []map[string]struct{}{v.open, v.outdated, v.suspended} {
		delete(of, gateway)
	}
	delete(v.given, gateway)
	v.board.Forget(gateway)
}

// outdate notes that the message of a verdict may be another by now.
func (v *verdicts) outdate(gateway string) {
	v.outdated[gateway] = struct{}{}
	v.board.Outdate(gateway)
}

// outdateOpen is outdate for all Gateways that are not programmed.
func (v *verdicts) outdateOpen() {
	if v.openOutdated = len(v.open) > 0; v.openOutdated {
		v.board.OutdateAny()
	}
}

// inQuestion returns the Gateways whose message may be another by now.
func (v *verdicts) inQuestion() map[string]struct{} {
	if v.openOutdated {
		maps.Copy(v.outdated, v.open)
		v.openOutdated = false
	}
	return v.outdated
}

// absent says why the Envoy of a Gateway that this machine should run is not there; ""
// when it is, or is none of this machine.
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

// restate has the words of verdicts made anew that speak of streams of c.
func (v *verdicts) restate(c *scope) {
	if c != v.union {
		v.outdate(c.name)
		return
	}
	for gateway := range v.scopes {
		v.outdate(gateway)
	}
}
