package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/translate/xds"
)

// state is what matters of a stream to Programmed.
type state struct {
	// idle is true if clusters and listeners were asked for and that nothing is
	// to be sent or answered.
	idle       bool
	rejections int
}

// settle finds the stream's state and judges its Gateways when it matters: that
// a stream has something to do never changes a verdict by itself.
func (v *verdicts) settle(st *stream) {
	was, now := st.state, st.current()
	st.setIdle(now.idle)
	st.state = now
	v.object(st)
	if now.idle && !was.idle || now.rejections != was.rejections {
		v.touched[st.scope] = struct{}{}
	}
	v.judgeTouched()
}

// current looks at what is asked for, due and unanswered.
func (p *plan) current() state {
	now := state{idle: p.ledgers[xds.ClusterType] != nil && p.ledgers[xds.ListenerType] != nil}
	for _, l := range p.ledgers {
		now.idle = now.idle && l.idle()
		now.rejections += len(l.rejected.of)
	}
	now.rejections += p.refusedParts()
	return now
}

// verdict says how things stand with a Gateway. Its words are those of all of its Envoys.
func (v *verdicts) verdict(gateway string) board.Verdict {
	c, streams := v.scopeOf(gateway), v.audience(gateway)
	counted, before := v.standing(c), v.given[gateway]
	now := board.Verdict{Status: counted.status, Reason: counted.reason}
	if why := v.absent(gateway); why != "" || len(streams) == 0 {
		now.Message = cmp.Or(why, "No Envoy is connected for this Gateway.")
		return now
	}
	waiting, refusals, unbound := 0, []string(nil), unbound{}
	for _, st := range streams {
		v.looks++
		if _, refuses := st.refuses[c]; refuses {
			refusals = append(refusals, st.refusals(gateway, unbound)...)
		}
		if !st.state.idle || st.lacks[c] > 0 {
			waiting++
		}
	}
	now.Unbound = unbound.words(counted.unbound, before.Unbound)
	switch now.Reason {
	case string(gwv1.GatewayReasonInvalid):
		// What Envoys said stands until they have answered to something newer.
		now.Message = cmp.Or(sumUp(append(refusals, unbound.all()...)), before.Message)
	case string(gwv1.GatewayReasonPending):
		now.Message = fmt.Sprintf("%d of %d connected Envoys have not accepted the configuration yet.", waiting, len(streams))
	default:
		now.Message = "Every connected Envoy accepted the configuration." + oldOnes(streams)
	}
	return now
}

// oldOnes names the Envoys that are older than those that gatefold is tested with.
func oldOnes(streams []*stream) string {
	var old []string
	for _, st := range streams {
		if testedEnvoy().after(st.version) {
			old = append(old, fmt.Sprintf("%q (%s)", cmp.Or(st.node, st.peer), st.version))
		}
	}
	if len(old) == 0 {
		return ""
	}
	slices.Sort(old)
	return fmt.Sprintf(" Older than Envoy %s, which gatefold is tested with: %s.", testedEnvoy(), strings.Join(slices.Compact(old), ", "))
}

// refusals says what of gateway this stream rejected; listeners that it could not bind
// go to unbound.
func (st *stream) refusals(gateway string, unbound unbound) []string {
	var said []string
	for typ, l := range st.ledgers {
		for name, r := range l.rejected.of {
			if !st.scope.owns(gateway, typ, name) {
				continue
			}
			node := cmp.Or(st.node, st.peer)
			if bindFailed(r.words) {
				unbound[name] = append(unbound[name], board.BindWords(node, r.words))
			} else {
				said = append(said, fmt.Sprintf("Envoy %q rejected %s %q: %s", node, xds.ShortType(typ), name, r.words))
			}
		}
	}
	return append(said, st.refusedRoutes(gateway)...)
}

// maxRefusals bounds how many rejections a condition tells; its message is
// limited to 32,768 bytes by the Kubernetes API.
const maxRefusals = 5

// sumUp joins rejections into one message, in an order that stays.
func sumUp(refusals []string) string {
	slices.Sort(refusals)
	more := len(refusals) - maxRefusals
	if more > 0 {
		refusals = append(refusals[:maxRefusals:maxRefusals], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(refusals, "; ")
}
